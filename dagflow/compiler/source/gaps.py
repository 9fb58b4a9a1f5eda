"""What stands between the values of a YAML text: what may, and where a value itself begins."""

from __future__ import annotations

import re

from dagflow.core.source import Span

COMMON = frozenset({"", " ", ": ", ", ", "- ", ":\n", "\n"})
GAP = re.compile(
    r"(?:[ \t]+|\r?\n|(?:(?<=[ \t\n])|\A)#[^\n]*|(?:---|\.\.\.|[-?])(?=[ \t\r\n]|\Z)"
    r"|%(?:YAML|TAG)[^\n]*|[][{},:])*"
)
"""All that may stand between two values, anchors or tags."""
PROPERTY = re.compile(
    r"(?P<word>!<[^>]*>|[&!][^ \t\r\n,\[\]{}]*)(?:[ \t]+(?:#[^\n]*)?|\r?\n(?:[ \t]*#[^\n]*)?)*"
)
"""An anchor or tag, with what stands between it and its node."""
TAIL = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n|\.\.\.[ \t\r]*(?:#[^\n]*)?\n)*+")
"""What may follow a document: blank lines, comments and the mark of its end."""


def stranger(text: str, begin: int, end: int) -> int | None:
    """Return the offset of the first character between two values that can't stand there.

    libyaml passes over some that YAML 1.2 reads otherwise, as in `[a,#b]` and `[?x]`.
    """
    match = GAP.match(text, begin, end)
    stop = match.end() if match else begin
    if stop < end:
        return stop
    # `-` and `?` are indicators only when a blank follows
    glued = stop > begin and text[stop - 1] in "-?" and text[stop : stop + 1].strip()
    return stop - 1 if glued else None


def behind(text: str, start: int, anchor: str | None, tag: str | None) -> tuple[int, str]:
    """Return where a node begins behind its anchor and tag, and the anchor as written."""
    left = {"&": anchor, "!": tag}
    written = ""
    while left.pop(text[start : start + 1], None) is not None:
        match = PROPERTY.match(text, start)
        assert match is not None
        written = match["word"][1:] if match["word"][0] == "&" else written
        start = match.end()
    return start, written


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return the 1-based place of an offset."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def block_span(raw: str, line: int, column: int, file: str) -> Span:
    """Return the span of a block scalar: to the end of its last line that isn't blank."""
    text = raw.rstrip()
    lines = text.count("\n")
    width = len(text) - (text.rfind("\n") + 1)
    return Span(line, column, line + lines, width + 1 if lines else column + width, file)
