"""The attempts that a worker has under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime

from dagflow.executor.steps.base import Attempt
from dagflow.store.rows import Lease


class Underway:
    """Attempts by their task. `ended` is called with the task each time one is over."""

    def __init__(self, ended: Callable[[asyncio.Task[None]], None]) -> None:
        self._attempts: dict[asyncio.Task[None], Attempt] = {}
        self._ended = ended

    def __len__(self) -> int:
        return len(self._attempts)

    def start(self, attempt: Attempt, doing: Coroutine[None, None, None]) -> None:
        """Begin an attempt."""
        task = asyncio.get_running_loop().create_task(doing)
        self._attempts[task] = attempt
        task.add_done_callback(self._over)

    def stop(self, run_id: str, path: str, token: int) -> None:
        """Cancel the attempts of a step up to this token."""
        for task, attempt in list(self._attempts.items()):
            if (attempt.run_id, attempt.path) == (run_id, path) and attempt.token <= token:
                task.cancel()

    def stop_run(self, run_id: str) -> None:
        """Cancel every attempt of a run."""
        for task, attempt in list(self._attempts.items()):
            if attempt.run_id == run_id:
                task.cancel()

    def stop_all(self) -> list[asyncio.Task[None]]:
        """Cancel everything, and return what is still to end."""
        for task in self._attempts:
            task.cancel()
        return list(self._attempts)

    def all(self) -> dict[asyncio.Task[None], Attempt]:
        """Return the attempts by their task."""
        return dict(self._attempts)

    def becomes(self, task: asyncio.Task[None], attempt: Attempt) -> None:
        """Note that a task works on another attempt now, for all that anybody knows."""
        self._attempts[task] = attempt

    def leases(self, worker: str, until: datetime) -> list[Lease]:
        """Return their leases."""
        return [
            Lease(run_id=a.run_id, path=a.path, token=a.token, worker=worker, until=until)
            for a in self._attempts.values()
        ]

    def _over(self, task: asyncio.Task[None]) -> None:
        del self._attempts[task]
        self._ended(task)
