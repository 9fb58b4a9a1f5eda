"""What is still to come in a case, and a store that leaves scripted child runs out."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from dagflow.core.errors import ConflictError
from dagflow.core.plan import Plan
from dagflow.core.run import Event, Fail, Succeed
from dagflow.service.testing.failure import Failure
from dagflow.store.memory import MemoryRunStore
from dagflow.store.rows import Batch, Header, IdempotencyKey, MessageKey


@dataclass(order=True, slots=True)
class Due:
    """An event that comes at a time. `said` is what to say where it is refused and must not be."""

    at: datetime
    number: int
    run_id: str = field(compare=False)
    event: Event = field(compare=False)
    said: Failure | None = field(compare=False, default=None)


class Agenda:
    """Events by their time; those of one time in the order in which they were added."""

    def __init__(self) -> None:
        self._heap: list[Due] = []
        self._numbers = count()

    def add(self, at: datetime, run_id: str, event: Event, said: Failure | None = None) -> None:
        """Have an event come at a time."""
        heapq.heappush(self._heap, Due(at, next(self._numbers), run_id, event, said))

    def next(self) -> datetime | None:
        """Return the earliest time."""
        return self._heap[0].at if self._heap else None

    def take(self, now: datetime) -> Due | None:
        """Take the first event whose time has come."""
        return heapq.heappop(self._heap) if self._heap and self._heap[0].at <= now else None

    def forget(self, run_id: str, path: str, token: int) -> None:
        """Drop the ends of the attempts of a step that were stopped."""
        self._heap = [it for it in self._heap if not _is_end(it, run_id, path, token)]
        heapq.heapify(self._heap)


def _is_end(due: Due, run_id: str, path: str, token: int) -> bool:
    event = due.event
    if not isinstance(event, Succeed | Fail) or due.run_id != run_id:
        return False
    return event.path == path and event.token <= token


class ScriptedStore(MemoryRunStore):
    """A store that does not start the child runs for which something `stands_in`."""

    def __init__(self, stands_in: Callable[[Header], bool]) -> None:
        super().__init__()
        self._stands_in = stands_in

    def create(
        self,
        header: Header,
        batch: Batch,
        *,
        plan: Plan | None = None,
        key: IdempotencyKey | None = None,
        answers: MessageKey | None = None,
    ) -> str:
        """Create a run, or refuse it as one that need not be started any more."""
        if header.parent and self._stands_in(header):
            raise ConflictError(f"the script answers for run {header.id}")
        return super().create(header, batch, plan=plan, key=key, answers=answers)
