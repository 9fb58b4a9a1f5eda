"""`/v1/runs/{id}/events`: what was recorded, by cursor; and as it happens, by SSE."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from dagflow.api.described import answers
from dagflow.api.services import services
from dagflow.api.streaming import PAGE, event_view, is_over, stream

router = APIRouter(prefix="/v1/runs", tags=["runs"])
LAST = 2**53

EVENTS = answers(200, "EventPage", 404, 422)
EVENTS[200]["content"]["text/event-stream"] = {"schema": {"type": "string"}}
EVENTS[204] = {"description": "the stream has ended: the run is over and nothing is left"}


@router.get("/{run_id}/events", responses=EVENTS, response_model=None)
async def get_events(
    run_id: str,
    request: Request,
    after: Annotated[int, Query(ge=0, le=LAST)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = PAGE,
    last_event_id: Annotated[str | None, Header(pattern="^[0-9]{0,16}$")] = None,
) -> Response:
    """Return recorded events after a cursor; as a stream with `Accept: text/event-stream`.

    The stream begins after `Last-Event-ID` (or `after`), misses nothing that is recorded, and
    ends with the run. Tokens and logs come in between; they have no id and are not kept.
    """
    found = services(request)
    start = int(last_event_id) if last_event_id else after
    events = found.runs.events(run_id, after=start, limit=limit)
    if "text/event-stream" not in request.headers.get("accept", ""):
        last = events[-1].seq if events else start
        return JSONResponse({"events": [event_view(it) for it in events], "next": last})
    if last_event_id and not events and is_over(found.runs, run_id):
        return Response(status_code=204)  # which tells a browser not to come again
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(
        stream(found.runs, run_id, start, found.closing),
        media_type="text/event-stream",
        headers=headers,
    )
