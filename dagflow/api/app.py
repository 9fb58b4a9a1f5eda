"""The REST API as an application; who serves it, and with what behind it, is wiring's business."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import compile_path

from dagflow.api import problems
from dagflow.api.guard import LOOPBACK, Guard
from dagflow.api.routes import approvals, events, health, runs, workflows
from dagflow.api.schemas import components
from dagflow.api.services import Services
from dagflow.core.values import JsonObject
from dagflow.version import VERSION

ROUTERS = tuple(it.router for it in (workflows, runs, events, approvals, health))


@dataclass(frozen=True, slots=True)
class Methods:
    """The methods that one route takes."""

    pattern: re.Pattern[str]
    methods: frozenset[str]


class Api(FastAPI):
    """The application, whose document has the published schemas as its components."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if not self.openapi_schema:
            document = super().openapi()
            document["components"] = {"schemas": components()}
        assert self.openapi_schema is not None
        return self.openapi_schema


def api_document() -> JsonObject:
    """Return the OpenAPI document as it is published, whatever the version of dagflow."""
    document = _app().openapi()
    document["info"]["version"] = "1"
    return cast("JsonObject", document)


def create_app(services: Services, *, hosts: Iterable[str] = LOOPBACK) -> FastAPI:
    """Return the application over these use cases, for requests to these hosts."""
    app = _app()
    app.state.services = services
    app.state.methods = _methods()
    problems.install(app)
    app.add_middleware(Guard, hosts=tuple(hosts))
    return app


def _app() -> Api:
    app = Api(
        title="dagflow",
        version=VERSION,
        description="Check, register, run and steer workflows.",
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_name,
    )
    for router in ROUTERS:
        app.include_router(router)
    return app


def _name(route: APIRoute) -> str:
    """Name an operation by its function, so that the name stays when the path changes."""
    return route.name


def _methods() -> list[Methods]:
    found = [
        Methods(compile_path(route.path)[0], frozenset(route.methods or ()))
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
    ]
    return [*found, Methods(re.compile("^/openapi.json$"), frozenset({"GET", "HEAD"}))]
