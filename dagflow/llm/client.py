"""A client for any server that speaks OpenAI's chat completions with streaming."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Final

from dagflow.core.errors import ErrorClass, StepError, ValueRefusedError
from dagflow.core.values import JsonObject, JsonValue, canonical, read_json
from dagflow.llm.protocol import ChatChunk, ChatRequest, HttpReply, HttpStream
from dagflow.llm.sse import events
from dagflow.llm.wire import error_message, read_chunk, request_body

DONE: Final = "[DONE]"
MAX_ERROR_BODY: Final = 64 * 1024
MAX_MESSAGE: Final = 500
HTTP_OK: Final = 200
_CLASSES: Final[Mapping[int, ErrorClass]] = {408: "timeout", 429: "rate_limited"}


class OpenAIClient:
    """Answers chats by asking the server at `url` (with or without the closing `/v1`)."""

    def __init__(self, http: HttpStream, url: str, *, model: str = "", api_key: str = "") -> None:
        self._http = http
        self._url = endpoint(url)
        self._model = model
        self._api_key = api_key

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        """Yield the answer as it comes, as `ChatClient` promises."""
        now = asyncio.get_running_loop().time()
        deadline = None if request.timeout is None else now + request.timeout
        async with aclosing(self._stream(request)) as chunks:
            # bounding each step, not the loop: the time is never up while the reader works
            while (chunk := await self._next(chunks, deadline, request.timeout)) is not None:
                yield chunk

    async def _next(
        self, chunks: AsyncIterator[ChatChunk], deadline: float | None, seconds: float | None
    ) -> ChatChunk | None:
        try:
            async with asyncio.timeout_at(deadline):
                return await anext(chunks, None)
        except TimeoutError:
            raise StepError(
                "timeout", f"no whole answer from {self._url} within {seconds:g} s"
            ) from None

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        body = request_body(request)
        if not request.model and self._model:
            body["model"] = self._model
        posted = self._http.post(
            self._url, headers=self._headers(), body=canonical(body), timeout=request.timeout
        )
        async with posted as reply:
            if reply.status != HTTP_OK:
                raise await _refused(reply, self._url)
            async with aclosing(self._answer(reply)) as chunks:
                async for chunk in chunks:
                    yield chunk

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        if self._api_key:
            headers["authorization"] = f"Bearer {self._api_key}"
        return headers

    async def _answer(self, reply: HttpReply) -> AsyncGenerator[ChatChunk, None]:
        if reply.headers.get("content-type", "").startswith("application/json"):
            # a server that can't stream answers whole
            yield _whole(_object(await _body(reply)))
            return
        finished = False
        async for data in events(reply.chunks):
            if data.strip() == DONE:
                break
            chunk = read_chunk(_object(data))
            if finished and chunk.finish_reason:
                continue
            finished = finished or chunk.finish_reason is not None
            yield chunk
        if not finished:
            raise StepError("network", f"the answer of {self._url} broke off before its end")


def endpoint(url: str) -> str:
    """Return the chat-completions address of a base URL."""
    base = url.rstrip("/").removesuffix("/chat/completions")
    return f"{base if base.endswith('/v1') else base + '/v1'}/chat/completions"


def _object(data: str | bytes) -> JsonObject:
    try:
        value = read_json(data)
    except ValueRefusedError as error:
        raise StepError("model", f"the server sent something else than JSON: {error}") from None
    message = error_message(value)
    if message is not None:
        raise StepError("model", f"the server gave up: {_short(message)}")
    if not isinstance(value, dict):
        raise StepError("model", f"the server sent {_short(str(value))!r}, not an object")
    return value


def _whole(value: JsonObject) -> ChatChunk:
    chunk = read_chunk(value)
    return ChatChunk(chunk.text, chunk.finish_reason or "stop", chunk.usage)


async def _refused(reply: HttpReply, url: str) -> StepError:
    message = _reason(await _body(reply))
    error_class = _class_of(reply.status)
    return StepError(
        error_class,
        f"{url} answered {reply.status}: {message}",
        retry_after=_retry_after(reply.headers),
    )


def _class_of(status: int) -> ErrorClass:
    return _CLASSES.get(status, "http_5xx" if status >= 500 else "http_4xx")  # noqa: PLR2004


async def _body(reply: HttpReply) -> bytes:
    """Return an answer's body, as much of it as an error message or one answer can need."""
    body = bytearray()
    limit = MAX_ERROR_BODY if reply.status != HTTP_OK else 64 * MAX_ERROR_BODY
    async for chunk in reply.chunks:
        body += chunk
        if len(body) > limit:
            break
    return bytes(body[:limit])


def _reason(body: bytes) -> str:
    text = body.decode(errors="replace").strip()
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return _short(text) or "no reason given"
    found = error_message(value)
    if found is None and isinstance(value, dict):
        # problem+json, and what FastAPI says by itself
        found = str(value.get("detail") or value.get("message") or text)
    return _short(found or text) or "no reason given"


def _short(text: str) -> str:
    clean = " ".join(text.split())
    return clean if len(clean) <= MAX_MESSAGE else f"{clean[:MAX_MESSAGE]}…"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header; a date in it is left to the backoff."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
