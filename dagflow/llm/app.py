"""The HTTP side of the inference worker: OpenAI's chat completions over one engine."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from dagflow.core.errors import (
    DagflowError,
    StepError,
    UnavailableError,
    UsageError,
    ValueRefusedError,
)
from dagflow.core.values import JsonObject, read_json
from dagflow.llm.engine.engine import Engine
from dagflow.llm.protocol import ChatChunk, Usage
from dagflow.llm.wire import (
    Asked,
    Head,
    answer_json,
    chunk_json,
    error_json,
    read_request,
    usage_json,
)

LOG = logging.getLogger(__name__)
MAX_BODY: Final = 4 * 1024 * 1024
_DEFAULT_NAMES: Final = ("", "default", "local")

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


def build_app(engine: Engine, model: str, *, api_key: str = "") -> Starlette:
    """Return the ASGI application. With an `api_key`, all but `/health/*` asks for it."""
    chat = _Chat(engine, model)

    async def models(_: Request) -> Response:
        owner: JsonObject = {"id": model, "object": "model", "created": 0, "owned_by": "dagflow"}
        return JSONResponse({"object": "list", "data": [owner]})

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    def guard(handler: Handler) -> Handler:
        return _answering_errors(_with_key(handler, api_key))

    return Starlette(
        routes=[
            Route("/v1/chat/completions", guard(chat.complete), methods=["POST"]),
            Route("/v1/models", guard(models), methods=["GET"]),
            # the socket opens when the model is ready: whoever is answered may ask
            Route("/health/live", health, methods=["GET"]),
            Route("/health/ready", health, methods=["GET"]),
        ]
    )


@dataclass(frozen=True, slots=True)
class _Chat:
    engine: Engine
    model: str

    async def complete(self, request: Request) -> Response:
        """Answer one chat, whole or as a stream."""
        asked = read_request(read_json(await _body(request)))
        if asked.chat.model not in {*_DEFAULT_NAMES, self.model}:
            message = f"no model {asked.chat.model!r} here, only {self.model!r}"
            return _error(404, message, "model_not_found")
        steps = await self.engine.admit(asked.chat)
        head = Head(f"chatcmpl-{secrets.token_hex(12)}", int(time.time()), self.model)
        chunks = self.engine.run(steps)
        if asked.stream:
            return _EventStream(_event_lines(head, asked, chunks))
        whole = await _unless_gone(request.receive, _collect(head, chunks))
        return Response(status_code=499) if whole is None else JSONResponse(whole)


async def _collect(head: Head, chunks: Any) -> JsonObject:
    texts, last = [], ChatChunk()
    async with aclosing(chunks):
        async for last in chunks:
            texts.append(last.text)
    return answer_json(head, "".join(texts), last)


async def _event_lines(head: Head, asked: Asked, chunks: Any) -> AsyncIterator[bytes]:
    yield _event(chunk_json(head, ChatChunk(), first=True))
    usage = Usage()
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                usage = chunk.usage or usage
                yield _event(chunk_json(head, chunk))
    except DagflowError as error:
        LOG.warning("generation_failed id=%s error=%s", head.id, error)
        yield _event(error_json(str(error), "server_error", "generation_failed"))
        return
    if asked.include_usage:
        yield _event(usage_json(head, usage))
    yield b"data: [DONE]\n\n"


def _event(value: JsonObject) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n".encode()


class _EventStream(Response):
    """Sends events until they end or the client is gone, whichever is first."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        await _unless_gone(receive, self._send(send))

    async def _send(self, send: Send) -> None:
        async with aclosing(self._events):  # type: ignore[type-var]  # a generator, always
            async for event in self._events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _unless_gone(receive: Receive, work: Coroutine[Any, Any, Any]) -> Any:
    """Return what `work` gives, or None when the client went away first and it was stopped."""
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise _TooLargeError(f"the body has more than {MAX_BODY} bytes")
    return bytes(body)


class _TooLargeError(UsageError):
    """A request's body that is not read to its end."""


def _with_key(handler: Handler, api_key: str) -> Handler:
    if not api_key:
        return handler

    async def checked(request: Request) -> Response:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not secrets.compare_digest(given.encode(), api_key.encode()):
            return _error(401, "this server asks for its API key", "invalid_api_key")
        return await handler(request)

    return checked


_STATUS: Final[tuple[tuple[type[DagflowError], int, str], ...]] = (
    (_TooLargeError, 413, "body_too_large"),
    (UsageError, 400, "invalid_request"),
    (ValueRefusedError, 400, "invalid_json"),
    (UnavailableError, 429, "queue_full"),
    (StepError, 500, "generation_failed"),
    (DagflowError, 500, "internal"),
)


def _answering_errors(handler: Handler) -> Handler:
    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except ClientDisconnect:
            return Response(status_code=499)
        except DagflowError as error:
            _, status, code = next(row for row in _STATUS if isinstance(error, row[0]))
            text = f"{error}; {error.remedy}" if error.remedy else str(error)
            return _error(status, text, code)

    return answered


def _error(status: int, message: str, code: str) -> JSONResponse:
    kind = "server_error" if status >= 500 else "invalid_request_error"  # noqa: PLR2004
    headers = {"retry-after": "1"} if status == 429 else None  # noqa: PLR2004
    return JSONResponse(error_json(message, kind, code), status, headers)
