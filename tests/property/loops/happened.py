"""What happens to a run from outside, and how a step stands after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from dagflow.core.values import JsonValue
from tests.property.joins import FINAL


@dataclass(frozen=True)
class Report:
    """How an attempt at the step at `path` ended: `ok`, `lost`, or a class."""

    path: str
    ending: str
    output: JsonValue = None


@dataclass(frozen=True)
class TimeOut:
    """The time of the loop at `path` was over."""

    path: str


@dataclass(frozen=True)
class Stop:
    """The run was cancelled."""


History: TypeAlias = list[Report | TimeOut | Stop]


@dataclass
class Seen:
    """How a step stands. `at` is when it ended; `open` is every state of one at work.

    `compensated` tells whether it is undone if the run does not succeed.
    """

    state: str = "pending"
    output: JsonValue = None
    branch: int | None = None
    error: str = ""
    errors: list[int] = field(default_factory=list)
    goto: str = ""
    given: list[JsonValue] = field(default_factory=list)
    at: int = 0
    compensated: bool = False

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    @property
    def is_unhandled(self) -> bool:
        return self.state in {"failed", "timed_out"} and not self.goto


@dataclass(frozen=True)
class End:
    """What an item or a turn came to: a value, or the class of its failure.

    `is_last` tells of a turn that no other follows.
    """

    at: int
    value: JsonValue = None
    error: str = ""
    is_last: bool = False


class AmbiguousError(Exception):
    """Items ended at one moment, and which one is looked at first would show."""
