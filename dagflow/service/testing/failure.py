"""What is wrong with a case: at one place of the test file, in words, with what was expected."""

from __future__ import annotations

from dagflow.core.records import dataclass
from dagflow.core.source import Span


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that went otherwise than its case says. `expected` and `got` go together."""

    message: str
    span: Span
    expected: str = ""
    got: str = ""
    help: str = ""


class FailedError(Exception):
    """A case can't go on."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure
