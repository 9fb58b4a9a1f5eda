"""`llm`: one generation by a model, held to the step's output schema where there is one."""

from __future__ import annotations

from contextlib import aclosing
from typing import cast

from dagflow.core.errors import StepError, ValueRefusedError
from dagflow.core.money import Price, price_in, units
from dagflow.core.values import JsonObject, JsonValue, read_json
from dagflow.executor.steps.base import Attempt, StepContext, service
from dagflow.llm.protocol import (
    ChatChunk,
    ChatClient,
    ChatModels,
    ChatRequest,
    Message,
    Role,
    Usage,
)

CHARACTERS_A_TOKEN = 4
"""What a token is taken for where a server does not count them."""


async def work(attempt: Attempt, context: StepContext) -> JsonValue:
    """Ask the step's model and return its answer; its pieces are emitted as `token` events.

    With a declared output the answer is the JSON value in it, else `{text, finish_reason}`.
    Needs the service `chat` (`ChatModels`). Counts tokens, and what they cost where the
    model has a price, however the attempt ends. Raises
    `StepError`: network, timeout, rate_limited, http_4xx, http_5xx as the server fails; `model`
    when it gave up or its answer was cut; `schema` when the answer is not JSON.
    """
    models = service(context, "chat", ChatModels)
    name = str(attempt.step.body.get("model", "default"))
    route = attempt.models.get(name, {})
    key = context.resolve_secrets(route.get("api_key"))
    request = _request(attempt)
    async with models.client(name, route, key if isinstance(key, str) else None) as client:
        text, last = await _ask(client, request, context, price_in(route))
    if request.schema is not None:
        return _value(text, last, request.max_tokens, context)
    return {"text": text, "finish_reason": last.finish_reason}


def _request(attempt: Attempt) -> ChatRequest:
    body = attempt.step.body
    seed, top_p = body.get("seed"), body.get("top_p")
    return ChatRequest(
        messages=_messages(attempt.body.get("messages")),
        max_tokens=int(cast("int", body["max_tokens"])),
        temperature=float(cast("float", body.get("temperature") or 0.0)),
        top_p=1.0 if top_p is None else float(cast("float", top_p)),
        seed=None if seed is None else int(cast("int", seed)),
        stop=tuple(map(str, cast("list[JsonValue]", body.get("stop") or []))),
        schema=attempt.step.output_schema if body.get("structured") else None,
    )


def _messages(rendered: JsonValue) -> tuple[Message, ...]:
    listed = cast("list[JsonObject]", rendered or [])
    return tuple(Message(cast("Role", m["role"]), str(m["content"])) for m in listed)


async def _ask(
    client: ChatClient, request: ChatRequest, context: StepContext, price: Price | None
) -> tuple[str, ChatChunk]:
    """Return the whole answer and the chunk that ended it, and count what it took."""
    texts: list[str] = []
    last, usage = ChatChunk(), None
    try:
        async with aclosing(client.stream(request)) as chunks:
            async for chunk in chunks:
                usage = chunk.usage or usage
                last = chunk if chunk.finish_reason else last
                if chunk.text:
                    texts.append(chunk.text)
                    context.emit("token", {"text": chunk.text})
    finally:
        used = usage or _estimated(request, texts)
        context.use(tokens=used.total_tokens, prompt_tokens=used.prompt_tokens)
        if price is not None:
            context.use(cost=units(price.of(used.prompt_tokens, used.completion_tokens)))
    return "".join(texts), last


def _estimated(request: ChatRequest, texts: list[str]) -> Usage:
    """Return a guess for a server that told no usage, or an answer that broke off."""
    if not texts:
        return Usage()
    asked = sum(len(message.content) for message in request.messages)
    answered = sum(map(len, texts))
    return Usage(-(-asked // CHARACTERS_A_TOKEN), -(-answered // CHARACTERS_A_TOKEN))


def _value(text: str, last: ChatChunk, max_tokens: int, context: StepContext) -> JsonValue:
    if last.finish_reason == "length":
        raise StepError(
            "model",
            f"the answer was cut after max_tokens ({max_tokens}), inside its JSON",
            remedy="raise `max_tokens`, or bound the output's strings and lists",
        )
    if last.finish_reason == "refused":
        raise StepError("model", "the server's filter cut the answer")
    try:
        return read_json(text)
    except ValueRefusedError as error:
        shown = str(context.mask(text))[:200]
        raise StepError(
            "schema",
            f"the answer is not the JSON that was asked for ({error.reason}): {shown!r}",
            remedy="use a server that keeps `response_format: json_schema`",
        ) from error
