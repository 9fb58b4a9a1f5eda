"""What is wrong with an expression, in words for its author."""

from __future__ import annotations

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
