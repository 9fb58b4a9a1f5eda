"""Which named things an expression speaks of, read off its text before any type is known."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dagflow.core.records import dataclass

_TEXT = re.compile(
    r'//[^\n]*|[bB]?[rR]?(?:"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
)
_WORD = re.compile(r"(?<![\w.?`])[A-Za-z_]\w*")
_MEMBER = re.compile(r"\s*\.\s*\??\s*(?:`([^`\n]+)`|([A-Za-z_]\w*+))(?!\s*\()")
_INDEX = re.compile(r"""\s*\[\s*\??\s*(?:"([^"\\\n]*)"|'([^'\\\n]*)')\s*\]""")


@dataclass(frozen=True, slots=True)
class Mention:
    """`root.name` at `offset` (of the name, in code points); `name` is None for a bare root."""

    root: str
    name: str | None
    offset: int
    length: int


def mentions(text: str, roots: frozenset[str]) -> Iterator[Mention]:
    """Yield every use of one of the `roots`, with the name taken from it, in order."""
    clear = _TEXT.sub(_blank, text)
    for word in _WORD.finditer(clear):
        if word.group() not in roots or _is_field(clear, word.start()):
            continue
        yield _mention(text, clear, word)


def _mention(text: str, clear: str, word: re.Match[str]) -> Mention:
    found = _MEMBER.match(clear, word.end()) or _INDEX.match(text, word.end())
    if found is None:
        return Mention(word.group(), None, word.start(), word.end() - word.start())
    group = 1 if found.group(1) is not None else 2
    return Mention(word.group(), found.group(group), found.start(group), len(found.group(group)))


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())


def _is_field(clear: str, start: int) -> bool:
    before = clear[:start].rstrip()
    return before.endswith((".", ".?")) or (before.endswith("?") and before[:-1].endswith("."))
