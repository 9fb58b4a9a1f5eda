"""Small OpenAPI documents for tests."""

from __future__ import annotations

import json
from typing import Any

from dagflow.core.tool import Operation, Tool
from dagflow.tools.document import load_tool


def document(paths: dict[str, Any], *, version: str = "3.1.0", **more: Any) -> str:
    root = {
        "openapi": version,
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "https://api.example.com/v2"}],
        "paths": paths,
        **more,
    }
    return json.dumps(root)


def tool(paths: dict[str, Any], *, version: str = "3.1.0", **more: Any) -> Tool:
    return load_tool("t", document(paths, version=version, **more), location="t.json")


def operation(
    declared: dict[str, Any], *, path: str = "/x", method: str = "get", **more: Any
) -> Operation:
    """Compile one operation; a refusal fails the test with its message."""
    made = tool({path: {method: {"responses": {"204": {}}, **declared}}}, **more)
    id_ = f"t.{method.upper()} {path}"
    refusal = made.refusals.get(id_)
    assert refusal is None, refusal
    return made.operations[id_]


def refusal(declared: dict[str, Any], *, path: str = "/x", method: str = "get", **more: Any) -> str:
    """Return why an operation was refused."""
    made = tool({path: {method: {"responses": {"204": {}}, **declared}}}, **more)
    return made.refusals[f"t.{method.upper()} {path}"].message


def json_body(schema: Any) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def answers(schema: Any) -> dict[str, Any]:
    return {"responses": {"200": {"content": {"application/json": {"schema": schema}}}}}
