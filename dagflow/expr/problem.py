"""What is wrong with an expression, in words for its author."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from dagflow.core.records import dataclass

ProblemKind: TypeAlias = Literal[
    "unknown-name", "expression-type", "expression-cost", "partial-operation", "maybe-null"
]


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. `offset` and `length` are code points of the expression's (or template's) text.

    `fix` is `(offset, length, replacement)` where replacing the text would mend it.
    """

    kind: ProblemKind
    message: str
    offset: int
    length: int
    help: str = ""
    fix: tuple[int, int, str] | None = None


class Refused(Exception):  # noqa: N818  # carries a problem out of a pass; never leaves the package
    """Stops a pass at its first problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the known name nearest to `name`, or ""."""
    found = closest(name, known)
    return f"; did you mean {found!r}?" if found else ""


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to `name`, whatever its case, or None."""
    from difflib import get_close_matches  # a file without mistakes needs none

    by_fold = {candidate.casefold(): candidate for candidate in sorted(known)}
    found = get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.6)
    return by_fold[found[0]] if found else None


def listed(words: Iterable[str], *, last: str = "or", limit: int = 6) -> str:
    """Return "a, b or c"; past `limit` words, how many more there are."""
    every = list(words)
    if len(every) > limit:
        every = [*every[:limit], f"{len(every) - limit} more"]
        last = "and"
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} {last} {every[-1]}"
