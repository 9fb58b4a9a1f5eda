"""`/v1/approvals`: what waits for a person, and the answer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from dagflow.api.reading import read_model
from dagflow.api.routes.runs import body
from dagflow.api.services import services
from dagflow.api.wire import DecisionBody
from dagflow.service.views import approval_view

router = APIRouter(prefix="/v1/approvals", tags=["approvals"])


@router.get("")
async def list_approvals(
    request: Request, run: Annotated[str | None, Query(max_length=100)] = None
) -> dict[str, Any]:
    """List what waits for a person, the longest waiting first."""
    found = services(request).runs.approvals(run)
    return {"approvals": [approval_view(approval) for approval in found]}


@router.get("/{approval_id}")
async def get_approval(approval_id: str, request: Request) -> dict[str, Any]:
    """Return one approval, with exactly what it releases and the hash of it."""
    return approval_view(services(request).runs.approval(approval_id))


@router.post("/{approval_id}", openapi_extra=body(DecisionBody))
async def decide_approval(approval_id: str, request: Request) -> dict[str, Any]:
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
    return approval_view(runs.approval(approval_id))
