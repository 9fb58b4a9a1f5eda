"""`/health`: whether the process lives, and whether it can do its work."""

from __future__ import annotations

from fastapi import APIRouter, Request

from dagflow.api.services import services

router = APIRouter(prefix="/health", tags=["health"])


@router.get("/live")
async def live() -> dict[str, str]:
    """Tell that the process answers."""
    return {"status": "ok"}


@router.get("/ready")
async def ready(request: Request) -> dict[str, str]:
    """Tell that the database can be used; 503 when not."""
    services(request).runs.engine.store.next_wake()
    return {"status": "ok"}
