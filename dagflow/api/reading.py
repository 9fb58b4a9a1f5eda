"""Reading request bodies: within a size, strictly JSON or YAML text."""

from __future__ import annotations

from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from dagflow.api.problems import TooLargeError
from dagflow.core.errors import UsageError
from dagflow.core.values import read_json

MAX_BODY = 8 * 1024 * 1024
Model = TypeVar("Model", bound=BaseModel)


async def body_of(request: Request, *, limit: int = MAX_BODY) -> bytes:
    """Return the body, counted as it comes. Raises `TooLargeError`."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise TooLargeError(f"the body is longer than {limit} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


async def read_model(request: Request, kind: type[Model]) -> Model:
    """Read a JSON body strictly: integers exact, no duplicate keys, no unknown fields.

    Raises `ValueRefusedError` or `UsageError` naming the field.
    """
    value = read_json(await body_of(request) or b"{}")
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = "/".join(str(part) for part in first["loc"])
        raise UsageError(f"the body's /{place}: {first['msg'].lower()}") from error


async def read_workflow(request: Request) -> tuple[str, dict[str, str]]:
    """Read a workflow: YAML as it stands, or JSON `{workflow, documents}`."""
    from dagflow.api.wire import CheckBody

    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        body = await read_model(request, CheckBody)
        return body.workflow, body.documents
    data = await body_of(request, limit=1_048_576)
    try:
        return data.decode(), {}
    except UnicodeDecodeError:
        raise UsageError("the body is not UTF-8 text") from None
