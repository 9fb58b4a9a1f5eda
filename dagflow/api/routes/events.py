"""`/v1/runs/{id}/events`: what was recorded, by cursor; and as it happens, by SSE."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from dagflow.api.services import services
from dagflow.core.errors import UsageError
from dagflow.executor.live.base import Emitted, Missed, Subscription
from dagflow.service.runs import Runs

router = APIRouter(prefix="/v1/runs", tags=["runs"])
PAGE = 500
HEARTBEAT = 15.0


@router.get("/{run_id}/events", response_model=None)
async def get_events(
    run_id: str,
    request: Request,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = PAGE,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
) -> dict[str, Any] | Response:
    """Return recorded events after a cursor; as a stream with `Accept: text/event-stream`.

    The stream begins after `Last-Event-ID` (or `after`), misses nothing that is recorded, and
    ends with the run. Tokens and logs come in between; they have no id and are not kept.
    """
    runs = services(request).runs
    start = _start(last_event_id, after)
    if "text/event-stream" not in request.headers.get("accept", ""):
        events = runs.events(run_id, after=start, limit=limit)
        body = [{"seq": event.seq, **event.body} for event in events]
        return {"events": body, "next": events[-1].seq if events else start}
    runs.get(run_id)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        stream(runs, run_id, start), media_type="text/event-stream", headers=headers
    )


def _start(last_event_id: str | None, after: int) -> int:
    if last_event_id is None or last_event_id == "":
        return after
    if not last_event_id.isdigit():
        raise UsageError(f"Last-Event-ID {last_event_id!r} is not a number this server gave")
    return int(last_event_id)


async def stream(runs: Runs, run_id: str, after: int) -> AsyncIterator[str]:
    """Yield server-sent events: what is stored, then what comes, until the run is over."""
    watch = runs.engine.live.subscribe(run_id)
    try:
        yield "retry: 1000\n\n"
        async for text in _events(runs, run_id, after, watch):
            yield text
    finally:
        watch.close()


async def _events(runs: Runs, run_id: str, after: int, watch: Subscription) -> AsyncIterator[str]:
    seq = after
    incoming = aiter(watch)
    while True:
        while page := runs.events(run_id, after=seq, limit=PAGE):
            for event in page:
                seq = event.seq
                yield _message("change", event.body, seq)
        if runs.get(run_id).state.is_final:
            yield _message("end", {"status": runs.get(run_id).state.value})
            return
        try:
            live = await asyncio.wait_for(anext(incoming), HEARTBEAT)
        except TimeoutError:
            incoming = aiter(watch)  # the wait that ran out ended the iterator
            yield ": still here\n\n"
            continue
        if isinstance(live, Emitted):
            yield _message(live.kind, {"step": live.path, **live.data})
        elif isinstance(live, Missed):
            yield _message("resync", {})


def _message(name: str, data: Any, seq: int | None = None) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    number = f"id: {seq}\n" if seq is not None else ""
    return f"{number}event: {name}\ndata: {text}\n\n"
