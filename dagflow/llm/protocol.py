"""What the rest of dagflow knows of models: a request, its answer in pieces, and who gives it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from dagflow.core.values import JsonObject, Schema

Role: TypeAlias = Literal["system", "user", "assistant"]
FinishReason: TypeAlias = Literal["stop", "length", "refused"]
"""Why an answer ended: the model was done, `max_tokens` was reached, a filter cut it."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """How many tokens a request took. `cached_tokens` of the prompt were not computed again."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Return prompt and answer together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One generation. `model` "" is the server's own; `temperature` 0 is greedy.

    With a `schema` the answer is JSON of that schema; `schema_name` is shown to the server only.
    `timeout` bounds the whole answer, in seconds.
    """

    messages: tuple[Message, ...]
    model: str = ""
    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    schema: Schema | None = None
    schema_name: str = "output"
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ChatChunk:
    """A piece of an answer: whole code points, never half of one.

    The last piece of an answer has its `finish_reason`; `usage` comes with it or after it.
    """

    text: str = ""
    finish_reason: FinishReason | None = None
    usage: Usage | None = None


class ChatClient(Protocol):
    """Something that answers chats: a server, or a fake in a test."""

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        """Yield the answer as it comes; exactly one chunk carries a `finish_reason`.

        Raises `StepError` of class network, timeout, rate_limited, http_4xx, http_5xx or model.
        Closing the generator stops the generation.
        """
        ...


class ChatModels(Protocol):
    """Finds who answers for a model route of a plan."""

    def client(
        self, name: str, route: JsonObject, api_key: str | None
    ) -> AbstractAsyncContextManager[ChatClient]:
        """Give the client for as long as the block lasts; a local model is started when needed.

        Raises `StepError(model)` when the route can't be used on this machine.
        """
        ...


@dataclass(frozen=True, slots=True)
class HttpReply:
    """The head of an HTTP answer and its body as it arrives. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]


class HttpStream(Protocol):
    """The little of HTTP that a chat needs."""

    def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, timeout: float | None
    ) -> AbstractAsyncContextManager[HttpReply]:
        """Send `body` and give the answer; leaving the block closes the connection.

        `timeout` (seconds) bounds connecting and each silence, not the whole answer. Raises
        `StepError` of class network or timeout, also while `chunks` are read.
        """
        ...
