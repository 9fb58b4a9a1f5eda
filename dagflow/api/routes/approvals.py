"""`/v1/approvals`: what waits for a person, and the answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from dagflow.api.described import answers, answers_body, json_body
from dagflow.api.reading import read_model
from dagflow.api.services import services
from dagflow.api.wire import DecisionBody
from dagflow.service.views import approval_view

router = APIRouter(prefix="/v1/approvals", tags=["approvals"])


@router.get("", responses=answers(200, "ApprovalList", 422))
async def list_approvals(
    request: Request, run: Annotated[str | None, Query(max_length=100)] = None
) -> JSONResponse:
    """List what waits for a person, the longest waiting first."""
    found = services(request).runs.approvals(run)
    return JSONResponse({"approvals": [approval_view(approval) for approval in found]})


@router.get("/{approval_id}", responses=answers(200, "Approval", 404, 422))
async def get_approval(approval_id: str, request: Request) -> JSONResponse:
    """Return one approval, with exactly what it releases and the hash of it."""
    return JSONResponse(approval_view(services(request).runs.approval(approval_id)))


@router.post(
    "/{approval_id}",
    responses=answers_body(200, "Approval", 404, 409),
    openapi_extra=json_body(DecisionBody),
)
async def decide_approval(approval_id: str, request: Request) -> JSONResponse:
    """Decide an approval, once: 409 when it is decided, expired, or asks for something else now."""
    asked = await read_model(request, DecisionBody)
    runs = services(request).runs
    runs.decide(
        approval_id,
        approve=asked.approve,
        by=asked.by,
        comment=asked.comment,
        arguments=asked.arguments,
    )
    return JSONResponse(approval_view(runs.approval(approval_id)))
