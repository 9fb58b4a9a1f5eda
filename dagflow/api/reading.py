"""Reading request bodies: within a size and a time, strictly JSON, or YAML text."""

from __future__ import annotations

import asyncio
from typing import Final, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from dagflow.api.problems import FieldsError, RefusedRequestError
from dagflow.api.wire import CheckBody
from dagflow.core.errors import ValueRefusedError
from dagflow.core.pointers import under
from dagflow.core.values import JsonValue, read_json

MAX_BODY: Final = 8 * 1024 * 1024
MAX_WORKFLOW: Final = 1024 * 1024
PATIENCE: Final = 30.0
"""Seconds that a body may take to arrive."""
_DRAINED: Final = 64 * 1024 * 1024
Model = TypeVar("Model", bound=BaseModel)


async def body_of(request: Request, *, limit: int = MAX_BODY) -> bytes:
    """Return the body, counted as it comes.

    Raises `RefusedRequestError`: 413 when it is longer than `limit` bytes, 408 when it is slow.
    """
    try:
        async with asyncio.timeout(PATIENCE):
            return await _read(request, limit)
    except TimeoutError:
        message = f"the body did not arrive within {PATIENCE:.0f} s"
        raise RefusedRequestError(408, "slow-body", message) from None


async def _read(request: Request, limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        elif size > _DRAINED:  # a little more is read, or the client would not see the answer
            break
    if size > limit:
        raise RefusedRequestError(413, "too-large", f"the body is longer than {limit} bytes")
    return b"".join(chunks)


def media_type(request: Request) -> str:
    """Return the media type of the body, without parameters; "" where none is given."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_model(request: Request, kind: type[Model]) -> Model:
    """Read a JSON body strictly: integers exact, no duplicate keys, no unknown fields.

    No body counts as `{}`. Raises `FieldsError` naming each field that does not fit, or
    `RefusedRequestError` for what is not JSON.
    """
    given = media_type(request)
    if given not in {"", "application/json"}:
        raise RefusedRequestError(
            415, "not-json", f"the body is {given}", remedy="send Content-Type: application/json"
        )
    return _fitted(kind, _json(await body_of(request) or b"{}"))


def _json(data: bytes) -> JsonValue:
    try:
        return read_json(data)
    except ValueRefusedError as error:
        raise RefusedRequestError(400, "bad-json", f"the body: {error.message}") from error


def _fitted(kind: type[Model], value: JsonValue) -> Model:
    if not isinstance(value, dict):
        raise FieldsError([("/", "the body should be a JSON object")])
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        fields = [(under("", *it["loc"]) or "/", it["msg"].lower()) for it in error.errors()]
        raise FieldsError(fields) from error


async def read_workflow(request: Request) -> tuple[str, dict[str, str]]:
    """Read a workflow and the documents of its tools.

    JSON is `{workflow, documents}`, or the workflow itself as a JSON object; anything else is
    the workflow as YAML text.
    """
    is_json = media_type(request) == "application/json"
    data = await body_of(request, limit=MAX_BODY if is_json else MAX_WORKFLOW)
    if not data:
        raise RefusedRequestError(
            400, "no-body", "there is no body", remedy="send the workflow as the body"
        )
    if not is_json:
        return _text(data), {}
    value = _json(data)
    if isinstance(value, dict) and "dagflow" in value:
        return _text(data), {}
    body = _fitted(CheckBody, value)
    return body.workflow, body.documents


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"the body is not UTF-8 text: byte {error.start} is {data[error.start]:#04x}"
        raise RefusedRequestError(400, "not-utf8", message) from None
