"""`/health`: whether the process lives, and whether it can do its work."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from dagflow.api.described import answers
from dagflow.api.services import services

router = APIRouter(prefix="/health", tags=["health"])


@router.get("/live", responses=answers(200, "Health"))
async def live() -> JSONResponse:
    """Tell that the process answers."""
    return JSONResponse({"status": "ok"})


@router.get("/ready", responses=answers(200, "Health"))
async def ready(request: Request) -> JSONResponse:
    """Tell that the database can be used; 503 when not."""
    services(request).runs.engine.store.next_wake()
    return JSONResponse({"status": "ok"})
