"""`/v1/runs`: submit, look at, steer."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response

from dagflow.api.reading import read_model
from dagflow.api.services import services
from dagflow.api.wire import CancelBody, SignalBody, SubmitBody
from dagflow.core.values import canonical
from dagflow.service.views import run_row_view, steps_view
from dagflow.store.rows import IdempotencyKey, RunQuery

router = APIRouter(prefix="/v1/runs", tags=["runs"])
MAX_WAIT = 60.0


def body(model: type[Any]) -> dict[str, Any]:
    """Describe a JSON body that the route reads itself, strictly."""
    schema = model.model_json_schema()
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}


@router.post("", status_code=202, openapi_extra=body(SubmitBody))
async def submit_run(
    request: Request,
    response: Response,
    idempotency_key: Annotated[str | None, Header(max_length=255)] = None,
    prefer: Annotated[str | None, Header(max_length=100)] = None,
) -> dict[str, Any]:
    """Start a run of a registered workflow. The same Idempotency-Key starts it once."""
    asked = await read_model(request, SubmitBody)
    found = services(request)
    plan = found.workflows.plan(asked.workflow, asked.version)
    key = _key(idempotency_key, asked)
    deadline = timedelta(seconds=asked.deadline) if asked.deadline else None
    run_id = found.runs.submit(plan, asked.inputs, key=key, deadline=deadline)
    if wait := _wait(prefer):
        await _until_over(request, run_id, wait)
    response.headers["Location"] = f"/v1/runs/{run_id}"
    return found.runs.show(run_id)


def _key(given: str | None, asked: SubmitBody) -> IdempotencyKey | None:
    if given is None:
        return None
    fingerprint = hashlib.sha256(canonical(asked.model_dump())).hexdigest()
    return IdempotencyKey(scope="POST /v1/runs", key=given, fingerprint=fingerprint)


def _wait(prefer: str | None) -> float:
    for word in (prefer or "").split(","):
        name, _, value = word.strip().partition("=")
        if name.lower() == "wait" and value.isdigit():
            return min(float(value), MAX_WAIT)
    return 0.0


async def _until_over(request: Request, run_id: str, seconds: float) -> None:
    waiting = services(request).runs.engine.wait(run_id)
    try:
        await asyncio.wait_for(waiting, seconds)
    except TimeoutError:
        return


@router.get("")
async def list_runs(
    request: Request,
    status: Annotated[list[str] | None, Query(max_length=20)] = None,
    workflow: Annotated[str, Query(max_length=63)] = "",
    cursor: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    """List runs, newest first."""
    query = RunQuery(states=tuple(status or ()), workflow=workflow, cursor=cursor, limit=limit)
    page = services(request).runs.list(query)
    return {"runs": [run_row_view(row) for row in page.runs], "next_cursor": page.next or None}


@router.get("/{run_id}")
async def get_run(run_id: str, request: Request) -> dict[str, Any]:
    """Return a run with its steps."""
    return services(request).runs.show(run_id)


@router.get("/{run_id}/steps")
async def get_steps(run_id: str, request: Request) -> dict[str, Any]:
    """Return the steps of a run."""
    runs = services(request).runs
    return {"steps": steps_view(runs.get(run_id), runs.plan_of(run_id))}


@router.post("/{run_id}/cancel", status_code=202, openapi_extra=body(CancelBody))
async def cancel_run(run_id: str, request: Request) -> dict[str, Any]:
    """Cancel a run: nothing starts any more but compensation and `finally`."""
    asked = await read_model(request, CancelBody)
    runs = services(request).runs
    runs.cancel(run_id, by=asked.by, reason=asked.reason)
    return runs.show(run_id)


@router.post("/{run_id}/pause", status_code=202)
async def pause_run(run_id: str, request: Request) -> dict[str, Any]:
    """Start no more steps until resumed."""
    runs = services(request).runs
    runs.pause(run_id)
    return runs.show(run_id)


@router.post("/{run_id}/resume", status_code=202)
async def resume_run(run_id: str, request: Request) -> dict[str, Any]:
    """End a pause."""
    runs = services(request).runs
    runs.resume(run_id)
    return runs.show(run_id)


@router.post("/{run_id}/signals/{name}", status_code=202, openapi_extra=body(SignalBody))
async def send_signal(run_id: str, name: str, request: Request) -> dict[str, Any]:
    """Send a signal; 409 when no step can still take it."""
    asked = await read_model(request, SignalBody)
    runs = services(request).runs
    runs.signal(run_id, name, asked.payload)
    return runs.show(run_id)
