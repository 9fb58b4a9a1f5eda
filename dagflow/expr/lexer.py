"""The tokens of a CEL text: enough to find where an expression, a name or a bracket ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

# a string left open runs to the end of its line, or of the text where three quotes opened it
_TOKEN = re.compile(
    r'''(?P<space>[ \t\r\n\f]+)
    |(?P<comment>//[^\n]*)
    |(?P<quoted>`[^`\n]*`)
    |(?P<string>
        (?:[rR][bB]?|[bB][rR])(?:"""(?s:.*?)(?:"""|\Z)|\'\'\'(?s:.*?)(?:\'\'\'|\Z)
            |"[^"\n]*(?:"|(?=\n)|\Z)|'[^'\n]*(?:'|(?=\n)|\Z))
        |[bB]?(?:"""(?s:\\.|.)*?(?:"""|\Z)|\'\'\'(?s:\\.|.)*?(?:\'\'\'|\Z)
            |"(?:\\.|[^"\\\n])*(?:"|(?=\n)|\\?\Z)|'(?:\\.|[^'\\\n])*(?:'|(?=\n)|\\?\Z)))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?[uU]?)
    |(?P<mark>&&|\|\||==|!=|<=|>=|\.\?|\[\?|(?s:.))''',
    re.VERBOSE,
)
_SKIPPED = frozenset({"space", "comment"})
_OPEN = {"(": ")", "[": "]", "[?": "]", "{": "}"}


class Token(NamedTuple):
    """One token. `kind` is space, comment, string, number, name, quoted or mark."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Return the offset just after the token."""
        return self.start + len(self.text)


def scan(text: str, at: int = 0) -> Iterator[Token]:
    """Yield every token from `at` on, spaces and comments too."""
    for match in _TOKEN.finditer(text, at):
        yield Token(match.lastgroup or "mark", match.group(), match.start())


@lru_cache(maxsize=1024)  # a text is read for its names first, then for its meaning
def tokens(text: str) -> tuple[Token, ...]:
    """Return the tokens of `text` without spaces and comments."""
    return tuple(
        [
            Token(match.lastgroup or "mark", match.group(), match.start())
            for match in _TOKEN.finditer(text)
            if match.lastgroup not in _SKIPPED
        ]
    )


def tidy(text: str) -> str:
    """Return the same expression without comments, with one space where there was any.

    Strings stay as they are. What is returned can be put in brackets or have something after it.
    """
    parts: list[str] = []
    for token in scan(text):
        if token.kind not in _SKIPPED:
            parts.append(token.text)
        elif parts and parts[-1] != " ":
            parts.append(" ")
    return "".join(parts).rstrip(" ")


def pairs(found: Sequence[Token]) -> dict[int, int]:
    """Return for each bracket's offset the offset of its partner, both ways."""
    open_: list[Token] = []
    partner: dict[int, int] = {}
    for token in found:
        if token.text in _OPEN:
            open_.append(token)
        elif token.text in {")", "]", "}"} and open_ and _OPEN[open_[-1].text] == token.text:
            opener = open_.pop()
            partner[opener.start], partner[token.start] = token.start, opener.start
    return partner
