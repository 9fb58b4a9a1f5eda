"""Stand-ins for the network, the model and a grammar."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from dagflow.core.values import JsonObject
from dagflow.llm.engine.sequence import Sequence
from dagflow.llm.protocol import ChatChunk, ChatRequest, HttpReply


class FakeHttp:
    """An `HttpStream` that answers with fixed chunks; a chunk of None waits for ever."""

    def __init__(
        self,
        chunks: list[bytes | None],
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._reply = (status, {"content-type": "text/event-stream", **(headers or {})})
        self._chunks = chunks
        self.url = ""
        self.headers: Mapping[str, str] = {}
        self.body: JsonObject = {}
        self.closed = False

    @asynccontextmanager
    async def post(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout: float | None,  # noqa: ASYNC109  # as in the protocol
    ) -> AsyncIterator[HttpReply]:
        self.url, self.headers, self.body = url, headers, json.loads(body)
        try:
            yield HttpReply(*self._reply, self._read())
        finally:
            self.closed = True

    async def _read(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if chunk is None:
                await asyncio.Event().wait()
            else:
                yield chunk


class FakeChat:
    """A `ChatClient` that says fixed chunks and keeps the request."""

    def __init__(self, *chunks: ChatChunk, error: Exception | None = None) -> None:
        self._chunks = chunks
        self._error = error
        self.request = ChatRequest(messages=())

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        self.request = request
        for chunk in self._chunks:
            yield chunk
        if self._error:
            raise self._error


class FakeRunner:
    """A `Runner` that takes prompts in by chunks and then chooses fixed tokens."""

    def __init__(self, tokens: list[int], *, chunk: int = 4) -> None:
        self._tokens = tokens
        self._chunk = chunk
        self.steps = 0
        self.fed: list[int] = []

    def begin(self, sequence: Sequence) -> None:
        self._left = iter(self._tokens)
        self.fed = []

    def step(self, sequence: Sequence) -> int | None:
        self.steps += 1
        end = min(sequence.done + self._chunk, len(sequence.tokens))
        self.fed += sequence.tokens[sequence.done : end]
        sequence.done = end
        return next(self._left) if end == len(sequence.tokens) else None


class FakeConstraint:
    """A `Constraint` of one text in tokens, some of which are forced by the one before."""

    def __init__(self, *groups: list[int]) -> None:
        self._groups = list(groups)

    def begin(self) -> list[int]:
        return self._groups.pop(0)

    def allowed(self) -> bytes:
        return b""

    def take(self, token: int) -> list[int]:
        chosen, *forced = self._groups.pop(0)
        assert chosen == token
        return forced

    @property
    def complete(self) -> bool:
        return not self._groups

    @property
    def may_end(self) -> bool:
        return not self._groups


async def gathered(stream: AsyncGenerator[ChatChunk, None]) -> list[ChatChunk]:
    """Return all chunks of a stream."""
    return [chunk async for chunk in stream]


def text_of(chunks: list[ChatChunk]) -> str:
    """Return the text of chunks."""
    return "".join(chunk.text for chunk in chunks)


async def until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until something that another thread or process does has come to pass."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110  # nobody there could set an event
            await asyncio.sleep(0.002)
