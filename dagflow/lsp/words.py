"""What stands at a position of a text: a path such as `steps.fetch.output`, and its parts."""

from __future__ import annotations

import re
from typing import Final

from dagflow.core.records import dataclass
from dagflow.core.source import Span

_PATH: Final = re.compile(r"[A-Za-z_`][\w`-]*(?:\.\??[A-Za-z_`][\w`-]*)*(?:\.\??)?")


@dataclass(frozen=True, slots=True)
class Word:
    """A path, the part of it that a position is in, and that part's place."""

    path: tuple[str, ...]
    index: int
    span: Span

    @property
    def text(self) -> str:
        """Return the part at the position."""
        return self.path[self.index]

    @property
    def before(self) -> tuple[str, ...]:
        """Return the path up to and with the part at the position."""
        return self.path[: self.index + 1]


def word_at(text: str, line: int, column: int) -> Word | None:
    """Return the word at a position (1-based, in code points), None between words."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    for found in _PATH.finditer(lines[line - 1]):
        if found.start() < column <= found.end() + 1:
            return _part(found, line, column)
    return None


def _part(found: re.Match[str], line: int, column: int) -> Word:
    names: list[str] = []
    places: list[tuple[int, int]] = []
    begin = found.start()
    for piece in re.split(r"\.\??", found.group()):
        at = found.string.index(piece, begin) if piece else begin
        names.append(piece.strip("`"))
        places.append((at + 1, at + 1 + len(piece)))
        begin = at + len(piece) + 1
    index = next((i for i, (_, end) in enumerate(places) if column <= end), len(places) - 1)
    start, end = places[index]
    return Word(tuple(names), index, Span(line, start, line, end))


def typed_path(text: str, line: int, column: int) -> tuple[str, ...]:
    """Return the path that is being written before a position, the last part unfinished.

    `steps.fetch.ou|` is `("steps", "fetch", "ou")`, `steps.|` is `("steps", "")`.
    """
    lines = text.split("\n")
    head = lines[line - 1][: column - 1] if 0 < line <= len(lines) else ""
    found = re.search(r"[A-Za-z_`][\w`-]*(?:\.\??[\w`-]*)*$", head)
    if found is None:
        return ("",)
    return tuple(part.strip("`") for part in re.split(r"\.\??", found.group()))
