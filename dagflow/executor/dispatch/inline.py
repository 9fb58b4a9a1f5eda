"""The doorbell inside one process: a queue that the worker of the same event loop empties."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from datetime import datetime

from dagflow.executor.timers import Timers


class InlineDispatcher:
    """Keeps what was rung for until the worker takes it, by priority, then by age."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, str, str]] = []
        self._waiting: set[tuple[str, str]] = set()
        self._age = itertools.count()
        self._closed = False
        self.timers = Timers()
        self._stops: list[tuple[str, str, int]] = []
        self._abandoned: list[str] = []
        self._listener: Callable[[], None] | None = None

    def listen(self, heard: Callable[[], None] | None) -> None:
        """Call `heard` whenever something has come in; it must be quick and may be called often."""
        self._listener = heard

    def ring(self, run_id: str, path: str, queue: str, priority: int) -> bool:  # noqa: ARG002  # one worker serves all queues
        """Add a step, once."""
        if self._closed or (run_id, path) in self._waiting:
            return False
        self._waiting.add((run_id, path))
        heapq.heappush(self._heap, (-priority, next(self._age), run_id, path))
        self._heard()
        return True

    def wake(self, run_id: str, at: datetime | None) -> None:
        """Set or clear the run's timer."""
        if at is None:
            self.timers.clear(run_id)
        elif self.timers.set(run_id, at):
            self._heard()

    def stop(self, run_id: str, path: str, token: int) -> None:
        """Note an attempt to stop."""
        self._stops.append((run_id, path, token))
        self._heard()

    def abandon(self, run_id: str) -> None:
        """Note a run whose attempts are to be stopped, and clear its timer."""
        self.timers.clear(run_id)
        self._abandoned.append(run_id)
        self._heard()

    def again(self) -> bool:
        """Tell the worker, if one listens."""
        self._heard()
        return self._listener is not None

    def _heard(self) -> None:
        if self._listener is not None:
            self._listener()

    def take(self, most: int) -> list[tuple[str, str]]:
        """Take up to `most` steps (run, path), the most urgent first."""
        taken: list[tuple[str, str]] = []
        while self._heap and len(taken) < most:
            _, _, run_id, path = heapq.heappop(self._heap)
            self._waiting.discard((run_id, path))
            taken.append((run_id, path))
        return taken

    def take_stops(self) -> list[tuple[str, str, int]]:
        """Take the attempts to stop (run, path, token)."""
        stops, self._stops = self._stops, []
        return stops

    def take_abandoned(self) -> list[str]:
        """Take the runs whose attempts are all to be stopped."""
        abandoned, self._abandoned = self._abandoned, []
        return abandoned

    @property
    def is_empty(self) -> bool:
        """Tell whether no step is waiting to be taken."""
        return not self._heap

    def close(self) -> None:
        """Ring no more; what was rung for is still in the database."""
        self._closed = True
        self._heap.clear()
        self._waiting.clear()
