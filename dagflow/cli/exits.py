"""Exit codes, and how an error becomes one."""

from __future__ import annotations

from typing import Final

from dagflow.core.errors import (
    BugError,
    ConflictError,
    DagflowError,
    DamagedError,
    NotAllowedError,
    NotFoundError,
    StepError,
    UnavailableError,
    UsageError,
    ValueRefusedError,
)

OK: Final = 0
FINDINGS: Final = 1
RUN_FAILED: Final = 1
USAGE: Final = 2
RUN_STOPPED: Final = 3
NOT_ALLOWED: Final = 4
NOT_FOUND: Final = 5
UNAVAILABLE: Final = 6
BUG: Final = 70

BY_ERROR: Final[tuple[tuple[type[DagflowError], int], ...]] = (
    (BugError, BUG),
    (UsageError, USAGE),
    (ValueRefusedError, USAGE),
    (NotAllowedError, NOT_ALLOWED),
    (NotFoundError, NOT_FOUND),
    (ConflictError, NOT_FOUND),
    (UnavailableError, UNAVAILABLE),
    (DamagedError, UNAVAILABLE),
    (StepError, RUN_FAILED),
)

BY_RUN: Final = {
    "succeeded": OK,
    "failed": RUN_FAILED,
    "cancelled": RUN_STOPPED,
    "timed_out": RUN_STOPPED,
}


def code_of(error: Exception) -> int:
    """Return the exit code of an error."""
    return next((code for kind, code in BY_ERROR if isinstance(error, kind)), BUG)
