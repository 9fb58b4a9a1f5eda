"""`/v1/runs`: submit, look at, steer."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import JSONResponse

from dagflow.api.described import answers, answers_body, json_body
from dagflow.api.problems import FieldsError, RefusedRequestError
from dagflow.api.reading import read_model
from dagflow.api.services import services
from dagflow.api.wire import CancelBody, RunStatus, SettleBody, SignalBody, SubmitBody
from dagflow.core.errors import ConflictError, UsageError, ValueRefusedError
from dagflow.core.plan import Plan
from dagflow.core.values import JsonObject, canonical
from dagflow.service.views import run_row_view, steps_view
from dagflow.store.rows import IdempotencyKey, RunQuery

router = APIRouter(prefix="/v1/runs", tags=["runs"])
MAX_WAIT = 60.0


@router.post(
    "",
    status_code=202,
    responses=answers_body(202, "Run", 404, headers="Location"),
    openapi_extra=json_body(SubmitBody),
)
async def submit_run(
    request: Request,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=255)] = None,
    prefer: Annotated[str | None, Header(max_length=100)] = None,
) -> JSONResponse:
    """Start a run of a registered workflow.

    The same Idempotency-Key with the same body starts it once. `Prefer: wait=N` answers when the
    run is over, or after N seconds (60 at most).
    """
    asked = await read_model(request, SubmitBody)
    run_id = _submitted(request, asked, idempotency_key)
    headers = {"Location": f"/v1/runs/{run_id}"}
    if wait := _wait(prefer):
        await _until_over(request, run_id, wait)
        headers["Preference-Applied"] = f"wait={wait:.0f}"
    return JSONResponse(services(request).runs.show(run_id), 202, headers=headers)


def _submitted(request: Request, asked: SubmitBody, key: str | None) -> str:
    found = services(request)
    plan = found.workflows.plan(asked.workflow, asked.version)
    deadline = timedelta(seconds=asked.deadline) if asked.deadline else None
    try:
        return found.runs.submit(plan, asked.inputs, key=_key(key, asked), deadline=deadline)
    except UsageError as error:
        raise FieldsError(_misfits(plan, asked.inputs, error), remedy=error.remedy) from error
    except ConflictError as error:
        raise RefusedRequestError(422, "key-reused", error.message, remedy=error.remedy) from error


def _misfits(plan: Plan, inputs: JsonObject, error: UsageError) -> list[tuple[str, str]]:
    """Return where the inputs don't fit, and why."""
    from dagflow.expr.schema import fill_defaults, validate

    if isinstance(error.__cause__, ValueRefusedError):
        refused = error.__cause__
        return [(f"/inputs{refused.at.rstrip('/')}", refused.reason)]
    violation = validate(plan.inputs_schema, fill_defaults(plan.inputs_schema, inputs))
    if violation is None:
        return [("/inputs", error.message)]
    return [(f"/inputs{violation.pointer}", violation.message)]


def _key(given: str | None, asked: SubmitBody) -> IdempotencyKey | None:
    if given is None:
        return None
    fingerprint = hashlib.sha256(canonical(asked.model_dump())).hexdigest()
    return IdempotencyKey(scope="POST /v1/runs", key=given, fingerprint=fingerprint)


def _wait(prefer: str | None) -> float:
    for word in (prefer or "").split(","):
        name, _, value = word.strip().partition("=")
        if name.lower() == "wait" and value.isascii() and value.isdigit():
            return min(float(value), MAX_WAIT)
    return 0.0


async def _until_over(request: Request, run_id: str, seconds: float) -> None:
    found = services(request)
    over = asyncio.ensure_future(found.runs.engine.wait(run_id))
    closing = asyncio.ensure_future(found.closing.wait())
    try:
        await asyncio.wait({over, closing}, timeout=seconds, return_when="FIRST_COMPLETED")
        if over.done():
            over.result()
    finally:
        over.cancel()
        closing.cancel()


@router.get("", responses=answers(200, "RunList", 422))
async def list_runs(
    request: Request,
    status: Annotated[list[RunStatus] | None, Query(max_length=20)] = None,
    workflow: Annotated[str, Query(max_length=63)] = "",
    cursor: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> JSONResponse:
    """List runs, newest first. Runs that begin meanwhile don't shift the pages."""
    query = RunQuery(states=tuple(status or ()), workflow=workflow, cursor=cursor, limit=limit)
    page = services(request).runs.list(query)
    rows = [run_row_view(row) for row in page.runs]
    headers = {"Link": _next(request, page.next)} if page.next else None
    return JSONResponse({"runs": rows, "next_cursor": page.next or None}, headers=headers)


def _next(request: Request, cursor: str) -> str:
    url = request.url.include_query_params(cursor=cursor)
    return f'<{url.path}?{url.query}>; rel="next"'


@router.get("/{run_id}", responses=answers(200, "Run", 404, 422))
async def get_run(run_id: str, request: Request) -> JSONResponse:
    """Return a run with its steps."""
    return JSONResponse(services(request).runs.show(run_id))


@router.get("/{run_id}/steps", responses=answers(200, "StepList", 404, 422))
async def get_steps(run_id: str, request: Request) -> JSONResponse:
    """Return the steps of a run."""
    runs = services(request).runs
    return JSONResponse({"steps": steps_view(runs.get(run_id), runs.plan_of(run_id))})


@router.post(
    "/{run_id}/cancel",
    status_code=202,
    responses=answers_body(202, "Run", 404, 409),
    openapi_extra=json_body(CancelBody, required=False),
)
async def cancel_run(run_id: str, request: Request) -> JSONResponse:
    """Cancel a run: nothing starts any more but compensation and `finally`."""
    asked = await read_model(request, CancelBody)
    runs = services(request).runs
    runs.cancel(run_id, by=asked.by, reason=asked.reason)
    return JSONResponse(runs.show(run_id), 202)


@router.post("/{run_id}/pause", status_code=202, responses=answers(202, "Run", 404, 409, 422))
async def pause_run(run_id: str, request: Request) -> JSONResponse:
    """Start no more steps until resumed."""
    runs = services(request).runs
    runs.pause(run_id)
    return JSONResponse(runs.show(run_id), 202)


@router.post("/{run_id}/resume", status_code=202, responses=answers(202, "Run", 404, 409, 422))
async def resume_run(run_id: str, request: Request) -> JSONResponse:
    """End a pause."""
    runs = services(request).runs
    runs.resume(run_id)
    return JSONResponse(runs.show(run_id), 202)


@router.post(
    "/{run_id}/signals/{name}",
    status_code=202,
    responses=answers_body(202, "Run", 404, 409),
    openapi_extra=json_body(SignalBody, required=False),
)
async def send_signal(run_id: str, name: str, request: Request) -> JSONResponse:
    """Send a signal; 409 when no step can still take it, 422 when its payload does not fit."""
    asked = await read_model(request, SignalBody)
    runs = services(request).runs
    runs.signal(run_id, name, asked.payload)
    return JSONResponse(runs.show(run_id), 202)


@router.post(
    "/{run_id}/steps/{step}/settle",
    status_code=202,
    responses=answers_body(202, "Run", 404, 409),
    openapi_extra=json_body(SettleBody),
)
async def settle_step(run_id: str, step: str, request: Request) -> JSONResponse:
    """Say what came of a step whose outcome is unknown; 409 for any other step."""
    asked = await read_model(request, SettleBody)
    runs = services(request).runs
    runs.settle(run_id, step, succeeded=asked.succeeded, output=asked.output, by=asked.by)
    return JSONResponse(runs.show(run_id), 202)
