"""A run as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final, TypeAlias

from dagflow.core.run import RUN_FINAL
from dagflow.core.values import JsonObject
from dagflow.executor.live.base import Emitted, LiveEvent, Recorded, Subscription
from dagflow.service.runs import Runs
from dagflow.store.rows import StoredEvent

PAGE: Final = 500
HEARTBEAT: Final = 15.0
_OVER: Final = frozenset(state.value for state in RUN_FINAL)

Silence: TypeAlias = None


def event_view(event: StoredEvent) -> JsonObject:
    """Return a recorded event as JSON."""
    return {"seq": event.seq, **event.body}


def is_over(runs: Runs, run_id: str) -> bool:
    """Tell whether a run is over: no step of it moves any more."""
    return runs.engine.store.get_run(run_id).state in _OVER


async def stream(
    runs: Runs,
    run_id: str,
    after: int,
    closing: asyncio.Event,
    *,
    heartbeat: float = HEARTBEAT,
) -> AsyncIterator[str]:
    """Yield server-sent events: what is stored, then what comes, until the run is over.

    Ends, too, when the server is closing: the client comes back with the last id that it got.
    """
    watch = runs.engine.live.subscribe(run_id)
    ears = _Ears(watch, closing, heartbeat)
    try:
        yield "retry: 1000\n\n"
        seq = after
        live: LiveEvent | Silence = None
        while True:
            if isinstance(live, Emitted):
                yield _message(live.kind, {"step": live.path, **live.data})
            elif not (isinstance(live, Recorded) and live.seq <= seq):
                over = is_over(runs, run_id)  # asked first: what is stored after is read below
                while page := runs.events(run_id, after=seq, limit=PAGE):
                    for event in page:
                        seq = event.seq
                        yield _message("change", event_view(event), seq)
                if over:
                    yield _message("end", {"status": runs.engine.store.get_run(run_id).state})
                    return
            live = await ears.next()
            if closing.is_set():
                return
            if live is None:
                yield ": still here\n\n"
    finally:
        ears.close()
        watch.close()


class _Ears:
    """Waits for the next live event, for the server's end, or for a heartbeat's time."""

    def __init__(self, watch: Subscription, closing: asyncio.Event, heartbeat: float) -> None:
        self._incoming = aiter(watch)
        self._heartbeat = heartbeat
        self._closing = asyncio.ensure_future(closing.wait())
        self._next: asyncio.Future[LiveEvent] | None = None

    async def next(self) -> LiveEvent | Silence:
        """Return the next event, or None when there was none for a while."""
        if self._next is None:
            self._next = asyncio.ensure_future(anext(self._incoming))
        waiting: set[asyncio.Future[Any]] = {self._next, self._closing}
        await asyncio.wait(waiting, timeout=self._heartbeat, return_when="FIRST_COMPLETED")
        if not self._next.done():
            return None
        found, self._next = self._next.result(), None
        return found

    def close(self) -> None:
        """Wait no more."""
        for future in (self._closing, self._next):
            if future is not None:
                future.cancel()


def _message(name: str, data: JsonObject, seq: int | None = None) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    number = f"id: {seq}\n" if seq is not None else ""
    return f"{number}event: {name}\ndata: {text}\n\n"
