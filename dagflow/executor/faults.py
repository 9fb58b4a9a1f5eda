"""Named points of the engine and the worker, at which a crash test ends the process.

In production `reach` does nothing. With `DAGFLOW_FAULT=<point>` or `<point>:<n>` in the
environment the process kills itself, without any clean-up, the n-th time it gets there.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Final, TypeAlias

from dagflow.core.errors import UsageError

VARIABLE: Final = "DAGFLOW_FAULT"
POINTS: Final = (
    "before-append",  # decided, nothing written
    "in-append",  # inside the transaction, between two statements
    "after-append",  # committed, nothing done about it
    "before-dispatch",  # about to ring for ready steps
    "after-dispatch",
    "after-claim",  # the lease is ours, the work hasn't begun
    "before-work",
    "after-work",  # the effect is out in the world, nobody was told
    "before-report",
    "after-report",
    "before-child",  # a child run is to be started
    "after-child",  # it exists, its start isn't settled
    "before-child-ended",  # a child run is over, its parent doesn't know
    "in-recovery",
)

Reach: TypeAlias = Callable[[str], None]


def nothing(_point: str) -> None:
    """Pass by."""


def from_environment() -> Reach:
    """Return what `DAGFLOW_FAULT` asks for. Raises `UsageError` when there is no such point."""
    wanted = os.environ.get(VARIABLE, "")
    if not wanted:
        return nothing
    point, _, count = wanted.partition(":")
    if point not in POINTS or not (count or "1").isdecimal():
        raise UsageError(
            f"{VARIABLE}={wanted!r} names no fault point",
            remedy=f"use one of {', '.join(POINTS)}, with :n for its n-th time",
        )
    return Killer(point, int(count or 1)).reach


class Killer:
    """Ends this process the `nth` time it reaches `point`."""

    def __init__(self, point: str, nth: int) -> None:
        self._point = point
        self._left = nth

    def reach(self, point: str) -> None:
        """Count, and die when it is time."""
        if point != self._point:
            return
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
