"""When which run must be looked at next."""

from __future__ import annotations

import heapq
from datetime import datetime

_SPARE = 64
"""How many replaced entries the heap may always hold; beyond that, as many as there are times."""


class Timers:
    """One time for each run, the earliest first. The database holds the same, as `wake_at`."""

    def __init__(self) -> None:
        self._heap: list[tuple[datetime, str]] = []
        self._times: dict[str, datetime] = {}

    def set(self, run_id: str, at: datetime) -> bool:
        """Set a run's time, instead of the one it had, and tell whether that is another one."""
        if self._times.get(run_id) == at:
            return False
        self._times[run_id] = at
        heapq.heappush(self._heap, (at, run_id))
        self._sweep()
        return True

    def clear(self, run_id: str) -> None:
        """Forget a run's time."""
        self._times.pop(run_id, None)
        self._sweep()

    def next(self) -> datetime | None:
        """Return the earliest time."""
        self._drop_replaced()
        return self._heap[0][0] if self._heap else None

    def due(self, now: datetime) -> list[str]:
        """Take the runs whose time has come, the longest overdue first."""
        found = []
        while (at := self.next()) is not None and at <= now:
            _, run_id = heapq.heappop(self._heap)
            del self._times[run_id]
            found.append(run_id)
        return found

    def _sweep(self) -> None:
        """Make the heap anew when most of it was replaced, wherever in it that stands."""
        if len(self._heap) > 2 * len(self._times) + _SPARE:
            self._heap = [(at, run_id) for run_id, at in self._times.items()]
            heapq.heapify(self._heap)

    def _drop_replaced(self) -> None:
        while self._heap and self._times.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
