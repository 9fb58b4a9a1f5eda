"""Words for the OpenAPI document: what a route takes, answers and refuses."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from dagflow.api.problems import MEDIA_TYPE
from dagflow.api.schemas.table import COMPONENTS
from dagflow.api.wire import CheckBody

_REASONS: Final = {
    400: "the body is not what it says it is",
    403: "a page of another origin sent it",
    404: "it does not exist",
    405: "the path does not take this method",
    408: "the body was too slow",
    409: "its state does not allow it",
    413: "the body is too large",
    415: "the body has a type that is not read",
    421: "the server does not serve this host",
    422: "a field does not fit, or the workflow does not compile",
    500: "a bug in dagflow",
    503: "the database can't be used; try again",
}
_ALWAYS: Final = (400, 403, 405, 415, 421, 500, 503)
_WITH_BODY: Final = (408, 413, 422)

Responses = dict[int | str, dict[str, Any]]


def answers(status: int, name: str, *also: int, headers: str = "") -> Responses:
    """Return the answers of a route: one body by its name in the schemas, and the problems."""
    content = {"application/json": {"schema": {"$ref": COMPONENTS + name}}}
    return {status: _answer(content, headers), **refusals(*also)}


def answers_body(status: int, name: str, *also: int, headers: str = "") -> Responses:
    """Return the answers of a route that reads a body."""
    return answers(status, name, *_WITH_BODY, *also, headers=headers)


def refusals(*also: int) -> Responses:
    """Return the problems that any route may answer with, and these."""
    schema = {"schema": {"$ref": f"{COMPONENTS}Problem"}}
    found = sorted({*_ALWAYS, *also})
    return {
        code: {"description": _REASONS[code], "content": {MEDIA_TYPE: schema}} for code in found
    }


def _answer(content: dict[str, Any], headers: str) -> dict[str, Any]:
    made: dict[str, Any] = {"description": "done", "content": content}
    if headers:
        text = {"schema": {"type": "string"}}
        made["headers"] = dict.fromkeys(headers.split(), text)
    return made


def json_body(model: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """Describe a JSON body that the route reads itself, strictly."""
    content = {"application/json": {"schema": model.model_json_schema()}}
    return {"requestBody": {"required": required, "content": content}}


def workflow_body() -> dict[str, Any]:
    """Describe the body of a workflow."""
    itself = {
        "type": "object",
        "required": ["dagflow"],
        "description": "the workflow itself; what is wrong in it, the report says",
    }
    either = {"anyOf": [CheckBody.model_json_schema(), itself]}
    content = {
        "application/yaml": {"schema": {"description": "the workflow, as its text"}},
        "application/json": {"schema": either},
    }
    return {"requestBody": {"required": True, "content": content}}
