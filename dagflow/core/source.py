"""Places in a source file, counted as editors count them."""

from __future__ import annotations

from typing import Generic, TypeVar

from dagflow.core.records import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of one file: 1-based lines and columns (code points), the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    file: str = ""


NOWHERE = Span(1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class At(Generic[T]):
    """A value together with the place where its author wrote it."""

    value: T
    span: Span


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """How large a file may be: its bytes, and its YAML values."""

    size: int = 1024 * 1024
    values: int = 20_000


STANDARD = SourceLimits()


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was read: its name for messages, its text, and how large it may be."""

    name: str
    text: str
    limits: SourceLimits = STANDARD

    def line(self, number: int) -> str:
        """Return line `number` (1-based) without its newline, or "" past the end."""
        lines = self.text.split("\n")
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""
