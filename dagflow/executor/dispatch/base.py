"""How the engine tells workers that there is something to do."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Dispatcher(Protocol):
    """A doorbell: it may be lost, doubled, delayed or reordered, and changes no result.

    The database is the truth: what was rung for is found there again by recovery.
    """

    def ring(self, run_id: str, path: str, queue: str, priority: int) -> bool:
        """Say that a step is ready to be claimed; 9 is the highest priority, 0 the lowest.

        Tells whether that was handed over now: not where nobody listens, or where it was before.
        """
        ...

    def wake(self, run_id: str, at: datetime | None) -> None:
        """Say when a `Tick` is due for the run, instead of what was said before; None is never."""
        ...

    def stop(self, run_id: str, path: str, token: int) -> None:
        """Say that an attempt must be stopped; its worker also finds out by its heartbeat."""
        ...

    def abandon(self, run_id: str) -> None:
        """Say that a run can't go on: its attempts must be stopped, and it has no `Tick` due."""
        ...

    def again(self) -> bool:
        """Have `Engine.go_on` called soon, after what else is due; false where nobody would."""
        ...

    def close(self) -> None:
        """Ring no more."""
        ...


class SilentDispatcher:
    """For a process that works on no steps: whoever owns the run finds them in the database."""

    def ring(self, run_id: str, path: str, queue: str, priority: int) -> bool:  # noqa: ARG002  # it does nothing
        """Leave it to others."""
        return False

    def wake(self, run_id: str, at: datetime | None) -> None:
        """Leave it to others."""

    def stop(self, run_id: str, path: str, token: int) -> None:
        """Leave it to others."""

    def abandon(self, run_id: str) -> None:
        """Leave it to others."""

    def again(self) -> bool:
        """Leave nothing for later: there is nobody to do it."""
        return False

    def close(self) -> None:
        """Do nothing."""
