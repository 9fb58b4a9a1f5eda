"""The REST API as an application; who serves it, and with what behind it, is wiring's business."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable

from fastapi import FastAPI, Request, Response

from dagflow.api import problems
from dagflow.api.routes import approvals, events, health, runs, workflows
from dagflow.api.services import Services
from dagflow.api.wire import Problem
from dagflow.version import VERSION

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


def create_app(services: Services) -> FastAPI:
    """Return the application over these use cases."""
    app = FastAPI(
        title="dagflow",
        version=VERSION,
        description="Check, register, run and steer workflows.",
        responses={"4XX": {"model": Problem, "description": "problem details (RFC 9457)"}},
        docs_url=None,
        redoc_url=None,
    )
    app.state.services = services
    problems.install(app)
    for routes in (workflows, runs, events, approvals, health):
        app.include_router(routes.router)
    app.middleware("http")(_mark)
    return app


async def _mark(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    """Give every request an id and every answer the headers that keep browsers careful."""
    request.state.request_id = uuid.uuid4().hex
    response = await call_next(request)
    response.headers["X-Request-ID"] = request.state.request_id
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    return response
