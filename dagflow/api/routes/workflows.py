"""`/v1/workflows`: check, register, look up."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from dagflow.api.problems import ReportError
from dagflow.api.reading import read_workflow
from dagflow.api.services import services
from dagflow.api.wire import CheckBody
from dagflow.compiler.report.json_report import to_json
from dagflow.service.workflows import RefusedError, registered_view

router = APIRouter(prefix="/v1/workflows", tags=["workflows"])

WORKFLOW_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/yaml": {"schema": {"type": "string"}},
            "application/json": {"schema": CheckBody.model_json_schema()},
        },
    }
}


@router.post("/check", openapi_extra=WORKFLOW_BODY)
async def check_workflow(request: Request) -> dict[str, Any]:
    """Check a workflow and return its report, also when it has findings. Nothing is run."""
    text, documents = await read_workflow(request)
    checked = services(request).workflows.check_text(text, "workflow.yaml", documents)
    return to_json(checked.report)


@router.put("/{name}", status_code=201, openapi_extra=WORKFLOW_BODY)
async def register_workflow(name: str, request: Request, response: Response) -> dict[str, Any]:
    """Register a version of a workflow; 422 with the report when it does not compile."""
    text, documents = await read_workflow(request)
    try:
        registered = services(request).workflows.register(text, name, documents)
    except RefusedError as error:
        raise ReportError(to_json(error.checked.report)) from error
    response.headers["Location"] = f"/v1/workflows/{name}/versions/{registered.version}"
    return registered_view(registered)


@router.get("")
async def list_workflows(request: Request) -> dict[str, Any]:
    """List the latest version of every workflow."""
    found = services(request).workflows.list()
    return {"workflows": [registered_view(it) for it in found]}


@router.get("/{name}")
async def get_workflow(name: str, request: Request) -> dict[str, Any]:
    """Return the latest version of a workflow, with its source."""
    found = services(request).workflows.get(name)
    return {**registered_view(found), "source": found.source}


@router.get("/{name}/versions")
async def list_versions(name: str, request: Request) -> dict[str, Any]:
    """List the versions of a workflow, the latest first."""
    workflows = services(request).workflows
    workflows.get(name)
    return {"versions": [registered_view(it) for it in workflows.versions(name)]}


@router.get("/{name}/versions/{version}")
async def get_version(name: str, version: str, request: Request) -> dict[str, Any]:
    """Return one version of a workflow, with its source."""
    found = services(request).workflows.get(name, version)
    return {**registered_view(found), "source": found.source}


@router.get("/{name}/report")
async def get_report(name: str, request: Request) -> dict[str, Any]:
    """Return the report of the latest version."""
    return services(request).workflows.get(name).report


@router.get("/{name}/graph")
async def get_graph(name: str, request: Request) -> Response:
    """Return the graph of the latest version as SVG."""
    from dagflow.service.drawings import draw_graph

    plan = services(request).workflows.plan(name)
    return Response(draw_graph(plan, "svg"), media_type="image/svg+xml")
