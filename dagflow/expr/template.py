"""Strings with `${{ … }}` in them: how they are read.

`${{` begins an expression and the next `}}` outside of its strings and braces ends it; `$${{`
stands for the text `${{`.
"""

from __future__ import annotations

from dagflow.core.records import dataclass
from dagflow.expr.lexer import scan
from dagflow.expr.problem import Problem

OPEN, CLOSE, ESCAPED = "${{", "}}", "$${{"


@dataclass(frozen=True, slots=True)
class Segment:
    """One `${{ … }}`: the expression's text without the spaces around it.

    `offset` is the place of the text in the template, `start` and `end` those of the braces.
    """

    text: str
    offset: int
    start: int
    end: int


def parse_template(text: str) -> tuple[str | Segment, ...] | Problem:
    """Split a template into texts and expressions; a `Problem` where one is never closed."""
    parts: list[str | Segment] = []
    written = ""
    at = 0
    while (start := text.find(OPEN, at)) >= 0:
        if start > at and text[start - 1] == "$":
            written += text[at : start - 1] + OPEN
            at = start + len(OPEN)
            continue
        end = _closing(text, start + len(OPEN))
        if end is None:
            message = "`${{` is never closed by `}}`"
            help_ = "write `$${{` for the text `${{`"
            return Problem("expression-type", message, start, len(OPEN), help_)
        written += text[at:start]
        parts += [written] if written else []
        written, at = "", end + len(CLOSE)
        parts.append(_segment(text, start, end))
    rest = written + text[at:]
    return tuple([*parts, rest] if rest or not parts else parts)


def _segment(text: str, start: int, end: int) -> Segment:
    inside = text[start + len(OPEN) : end]
    offset = start + len(OPEN) + len(inside) - len(inside.lstrip())
    return Segment(inside.strip(), offset, start, end + len(CLOSE))


def _closing(text: str, at: int) -> int | None:
    """Return where the `}}` of an expression is, outside of its strings and braces."""
    depth = 0
    for token in scan(text, at):
        if token.text == "{":
            depth += 1
        elif token.text == "}":
            if depth == 0:
                return token.start if text.startswith(CLOSE, token.start) else None
            depth -= 1
        elif token.kind == "comment" and CLOSE in token.text and not depth:
            return token.start + token.text.index(CLOSE)
    return None
