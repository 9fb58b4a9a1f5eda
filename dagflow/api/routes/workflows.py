"""`/v1/workflows`: check, register, look up."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from dagflow.api.described import answers, answers_body, refusals, workflow_body
from dagflow.api.problems import ReportError
from dagflow.api.reading import read_workflow
from dagflow.api.services import services
from dagflow.api.wire import GraphFormat
from dagflow.compiler.report.json_report import to_json
from dagflow.service.workflows import RefusedError, registered_view

router = APIRouter(prefix="/v1/workflows", tags=["workflows"])

MEDIA = {"svg": "image/svg+xml", "mermaid": "text/plain", "dot": "text/plain"}
DRAWN = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
GRAPH = {
    200: {
        "description": "the drawing",
        "content": {kind: {"schema": {"type": "string"}} for kind in sorted(set(MEDIA.values()))},
    },
    **refusals(404, 422),
}


@router.post("/check", responses=answers_body(200, "Report"), openapi_extra=workflow_body())
async def check_workflow(request: Request) -> JSONResponse:
    """Check a workflow and return its report, also when it has findings. Nothing is run.

    Nothing is fetched or read either: send the OpenAPI documents of its tools along.
    """
    text, documents = await read_workflow(request)
    found = services(request)
    check = partial(found.workflows.check_text, text, "workflow.yaml", documents)
    checked = await found.aside(check)
    return JSONResponse(to_json(checked.report))


@router.put(
    "/{name}",
    status_code=201,
    responses=answers_body(201, "Registered", 404, 409, headers="Location"),
    openapi_extra=workflow_body(),
)
async def register_workflow(name: str, request: Request) -> JSONResponse:
    """Register a version of a workflow; 422 with the report when it does not compile.

    The same source again is the same version, and the answer is the same.
    """
    text, documents = await read_workflow(request)
    found = services(request)
    try:
        register = partial(found.workflows.register, text, name, documents)
        registered = await found.aside(register)
    except RefusedError as error:
        raise ReportError(to_json(error.checked.report)) from error
    place = f"/v1/workflows/{name}/versions/{registered.version}"
    return JSONResponse(registered_view(registered), 201, headers={"Location": place})


@router.get("", responses=answers(200, "WorkflowList"))
async def list_workflows(request: Request) -> JSONResponse:
    """List the latest version of every workflow."""
    found = services(request).workflows.list()
    return JSONResponse({"workflows": [registered_view(it) for it in found]})


@router.get("/{name}", responses=answers(200, "RegisteredSource", 404, 422))
async def get_workflow(name: str, request: Request) -> JSONResponse:
    """Return the latest version of a workflow, with its source."""
    found = services(request).workflows.get(name)
    return JSONResponse({**registered_view(found), "source": found.source})


@router.get("/{name}/versions", responses=answers(200, "VersionList", 404, 422))
async def list_versions(name: str, request: Request) -> JSONResponse:
    """List the versions of a workflow, the latest first."""
    workflows = services(request).workflows
    workflows.get(name)
    return JSONResponse({"versions": [registered_view(it) for it in workflows.versions(name)]})


@router.get("/{name}/versions/{version}", responses=answers(200, "RegisteredSource", 404, 422))
async def get_version(name: str, version: str, request: Request) -> JSONResponse:
    """Return one version of a workflow, with its source."""
    found = services(request).workflows.get(name, version)
    return JSONResponse({**registered_view(found), "source": found.source})


@router.get("/{name}/report", responses=answers(200, "Report", 404, 422))
async def get_report(name: str, request: Request) -> JSONResponse:
    """Return the report of the latest version."""
    return JSONResponse(services(request).workflows.get(name).report)


@router.get("/{name}/graph", responses=GRAPH, response_class=Response)
async def get_graph(
    name: str,
    request: Request,
    format: Annotated[GraphFormat, Query()] = "svg",  # noqa: A002
) -> Response:
    """Draw the graph of the latest version."""
    from dagflow.service.drawings import draw_graph

    found = services(request)
    plan = found.workflows.plan(name)
    drawing = await found.aside(partial(draw_graph, plan, format))
    return Response(drawing, media_type=MEDIA[format], headers=DRAWN)
