"""Every error dagflow raises, as one tree.

DagflowError
├── UsageError               the caller asked for something that can't be done as asked
├── NotFoundError            the named run, workflow, file or approval does not exist
├── ConflictError            it exists, and is not in a state that allows this
│   └── VersionConflictError     another writer was first; load again and decide again
├── NotAllowedError          the caller may not do this
├── UnavailableError         a server, database or model can't be reached, is locked or full
├── DamagedError             what is stored can't be read: it was damaged, or is too new
├── ValueRefusedError        a JSON value that can't be carried exactly
├── StepError                a step's attempt failed; carries its class
└── BugError                 dagflow broke its own rules
    └── IllegalMoveError         a plan's state machine was asked for a move it does not list

An author's mistakes are findings (values); these are the caller's, the world's and our own.
Every error has a message that says what happened and a `remedy` that says what to do.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

ErrorClass: TypeAlias = Literal[
    "timeout", "network", "http_4xx", "rate_limited", "http_5xx", "schema", "guard", "expression",
    "oom", "cpu", "pids", "output_limit", "sandbox", "budget", "tool_removed", "model", "user",
    "rejected", "expired", "exhausted", "lost", "conflict", "internal",
]  # fmt: skip
ERROR_CLASSES: frozenset[str] = frozenset(get_args(ErrorClass))


class DagflowError(Exception):
    """The root: catch this to catch everything dagflow raises."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class UsageError(DagflowError):
    """The caller asked for something that can't be done as asked."""


class NotFoundError(DagflowError):
    """The named thing does not exist."""


class ConflictError(DagflowError):
    """The thing exists, and is not in a state that allows what was asked."""


class VersionConflictError(ConflictError):
    """Another writer was first; load again and decide again."""

    def __init__(self, run_id: str, expected: int, actual: int) -> None:
        super().__init__(f"run {run_id} is at version {actual}, not {expected}")


class NotAllowedError(DagflowError):
    """The caller may not do this."""


class UnavailableError(DagflowError):
    """A server, database or model can't be reached, is locked or is full."""


class DamagedError(DagflowError):
    """What is stored can't be read: it was damaged, or a newer dagflow wrote it."""


class ValueRefusedError(DagflowError):
    """A JSON value that can't be carried exactly; `at` is a JSON Pointer."""

    def __init__(self, at: str, reason: str) -> None:
        super().__init__(f"value refused at {at}: {reason}")
        self.at = at
        self.reason = reason


class StepError(DagflowError):
    """A step's attempt failed with an error class that `retry` and `on_error` can name.

    `retry_after` is the number of seconds a server asked to wait, if it did; `unsent` tells that
    nothing had left this machine, so that nothing can have happened out there.
    """

    def __init__(
        self,
        error_class: ErrorClass,
        message: str,
        *,
        remedy: str = "",
        retry_after: float | None = None,
        unsent: bool = False,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.error_class: ErrorClass = error_class
        self.retry_after = retry_after
        self.unsent = unsent


class BugError(DagflowError):
    """Dagflow broke its own rules; the message carries what a report needs."""


class IllegalMoveError(BugError):
    """A plan's state machine was asked for a move it does not list."""

    def __init__(self, step: str, before: str, after: str) -> None:
        super().__init__(f"the plan lists no move of step {step!r} from {before} to {after}")
        self.step = step
        self.before = before
        self.after = after
