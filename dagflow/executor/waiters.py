"""Those who wait for a run to be over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from dagflow.core.run import Run


class Waiters:
    """Futures by run. Runs may end in any thread; each future is settled in its own loop."""

    def __init__(self) -> None:
        self._futures: dict[str, list[asyncio.Future[Run]]] = {}

    def add(self, run_id: str) -> asyncio.Future[Run]:
        """Return a future of the running loop for the end of a run."""
        future: asyncio.Future[Run] = asyncio.get_running_loop().create_future()
        self._futures.setdefault(run_id, []).append(future)
        return future

    def drop(self, run_id: str, future: asyncio.Future[Run]) -> None:
        """Forget one that waits no longer."""
        waiting = self._futures.get(run_id, [])
        if future in waiting:
            waiting.remove(future)
        if not waiting:
            self._futures.pop(run_id, None)

    def finish(self, run: Run) -> None:
        """Give the run to everyone who waits for it."""
        for future in self._futures.pop(run.id, []):
            _settle(future, lambda waiting: waiting.set_result(run))

    def fail(self, run_id: str, error: Exception) -> None:
        """Raise an error for everyone who waits for the run."""
        for future in self._futures.pop(run_id, []):
            _settle(future, lambda waiting: waiting.set_exception(error))


def _settle(future: asyncio.Future[Run], answer: Callable[[asyncio.Future[Run]], None]) -> None:
    def settle() -> None:
        if not future.done():
            answer(future)

    with suppress(RuntimeError):  # its loop is closed: nobody waits any more
        future.get_loop().call_soon_threadsafe(settle)
