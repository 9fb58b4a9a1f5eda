"""Collects what is wrong with a source file, as findings."""

from __future__ import annotations

from collections.abc import Sequence

from dagflow.core.findings import Finding, Fix, Related, Severity
from dagflow.core.source import Span
from dagflow.core.words import listed as joined

STRICT = "DF001"
SHAPE = "DF002"
NAMES = {STRICT: "document-strict", SHAPE: "schema-shape"}


class Problems:
    """The findings of one file, in the order in which they were met."""

    def __init__(self, found: Sequence[Finding] = ()) -> None:
        self._found: list[Finding] = list(found)
        self._places = {place for item in found for place in _prefixes(item.path)}
        self.errors = sum(item.severity is Severity.ERROR for item in found)

    def add(
        self,
        code: str,
        message: str,
        span: Span,
        pointer: str,
        *,
        help: str = "",  # noqa: A002  # the finding's own word
        related: tuple[Related, ...] = (),
        fixes: tuple[Fix, ...] = (),
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Record one finding; `pointer` is the JSON Pointer of the place."""
        self.errors += severity is Severity.ERROR
        self._places.update(_prefixes(pointer))
        self._found.append(
            Finding(
                code=code,
                name=NAMES[code],
                severity=severity,
                message=message,
                span=span,
                path=pointer,
                related=related,
                help=help,
                fixes=fixes,
            )
        )

    def inside(self, pointer: str) -> bool:
        """Tell whether something at or below the place is wrong already."""
        return pointer in self._places

    def findings(self) -> tuple[Finding, ...]:
        """Return the findings sorted by place, then code."""
        return tuple(sorted(self._found, key=lambda item: (item.span, item.code, item.message)))


def _prefixes(pointer: str) -> list[str]:
    ends = [index for index, char in enumerate(pointer) if char == "/"]
    return [pointer, *(pointer[:end] for end in ends)]


def listed(words: Sequence[str], joint: str = "or") -> str:
    """Write words as people list them: `a`, `b` or `c`."""
    return joined((f"`{word}`" for word in words), last=joint, limit=None)
