"""The live channel inside one process: a bounded queue for each watcher."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from dagflow.executor.live.base import LiveEvent, Missed

KEPT = 10_000
"""Events that wait for a slow watcher before it misses the oldest."""


class ProcessSubscription:
    """A watcher's queue."""

    def __init__(self, bus: ProcessBus, run_id: str) -> None:
        self._bus = bus
        self.run_id = run_id
        self._events: deque[LiveEvent] = deque()
        self._missed = False
        self._closed = False
        self._arrived = asyncio.Event()

    def put(self, event: LiveEvent) -> None:
        """Add an event; the oldest is dropped when there are too many."""
        if len(self._events) >= KEPT:
            self._events.popleft()
            self._missed = True
        self._events.append(event)
        self._arrived.set()

    async def __aiter__(self) -> AsyncIterator[LiveEvent]:
        """Yield events in order, until `close`."""
        while True:
            while self._events:
                if self._missed:
                    self._missed = False
                    yield Missed(run_id=self.run_id)
                yield self._events.popleft()
            if self._closed:
                return
            self._arrived.clear()
            await self._arrived.wait()

    def close(self) -> None:
        """Stop watching; what has arrived is still yielded."""
        self._closed = True
        self._bus.forget(self)
        self._arrived.set()


class ProcessBus:
    """A `LiveBus` for one process and its one event loop."""

    def __init__(self) -> None:
        self._watchers: dict[str, list[ProcessSubscription]] = {}

    def publish(self, event: LiveEvent) -> None:
        """Hand an event to the watchers of its run and of all runs."""
        for run_id in (event.run_id, ""):
            for watcher in self._watchers.get(run_id, ()):
                watcher.put(event)

    def is_watched(self, run_id: str) -> bool:
        """Tell whether the run, or every run, is watched."""
        return bool(self._watchers) and (run_id in self._watchers or "" in self._watchers)

    def subscribe(self, run_id: str = "") -> ProcessSubscription:
        """Watch a run, or all runs ("")."""
        watcher = ProcessSubscription(self, run_id)
        self._watchers.setdefault(run_id, []).append(watcher)
        return watcher

    def forget(self, watcher: ProcessSubscription) -> None:
        """Drop a watcher. Dropping it again is fine."""
        watchers = self._watchers.get(watcher.run_id, [])
        if watcher in watchers:
            watchers.remove(watcher)
        if not watchers:
            self._watchers.pop(watcher.run_id, None)
