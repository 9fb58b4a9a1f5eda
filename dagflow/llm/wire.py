"""OpenAI's chat-completions JSON, written and read by the client and by the server alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from dagflow.core.errors import UsageError
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.llm.grammar import ANY_OBJECT
from dagflow.llm.protocol import ChatChunk, ChatRequest, FinishReason, Message, Role, Usage

_OUR_ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "developer": "system",
}
_READ_REASON: Final[Mapping[str, FinishReason]] = {
    "length": "length",
    "content_filter": "refused",
    "refusal": "refused",
}
_WRITTEN_REASON: Final[Mapping[FinishReason, str]] = {
    "stop": "stop",
    "length": "length",
    "refused": "content_filter",
}
MAX_STOPS: Final = 16


# ── the client's side ─────────────────────────────────────────────────────────────────────────


def request_body(request: ChatRequest) -> JsonObject:
    """Return the body of a streaming request."""
    body: JsonObject = {
        "messages": [
            {"role": message.role, "content": message.content} for message in request.messages
        ],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.model:
        body["model"] = request.model
    if request.top_p != 1.0:
        body["top_p"] = request.top_p
    if request.seed is not None:
        body["seed"] = request.seed
    if request.stop:
        body["stop"] = list(request.stop)
    if request.schema is not None:
        body["response_format"] = response_format(request.schema, request.schema_name)
    return body


def response_format(schema: Schema, name: str) -> JsonObject:
    """Return what holds a server to a schema."""
    described: JsonObject = {"name": name, "schema": schema, "strict": True}
    return {"type": "json_schema", "json_schema": described}


def read_chunk(value: JsonObject) -> ChatChunk:
    """Read one event of a stream, or a whole answer; what we have no use for is passed over."""
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    found: JsonObject = choice if isinstance(choice, dict) else {}
    part = found.get("delta") or found.get("message")
    text = part.get("content") if isinstance(part, dict) else None
    return ChatChunk(
        text if isinstance(text, str) else "",
        _reason(found.get("finish_reason")),
        _usage(value.get("usage")),
    )


def _reason(value: JsonValue) -> FinishReason | None:
    return _READ_REASON.get(value, "stop") if isinstance(value, str) else None


def _usage(value: JsonValue) -> Usage | None:
    if not isinstance(value, dict):
        return None
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(_count(value.get("prompt_tokens")), _count(value.get("completion_tokens")),
                 _count(cached))  # fmt: skip


def _count(value: JsonValue) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def error_message(value: JsonValue) -> str | None:
    """Return what an error object of any common form says, or None when `value` is none."""
    if not isinstance(value, dict) or not value.get("error"):
        return None
    error = value["error"]
    if isinstance(error, dict):
        message = error.get("message")
        return str(message) if message else "the server gave no reason"
    return str(error)


# ── the server's side ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived: what to generate, and how to answer."""

    chat: ChatRequest
    stream: bool
    include_usage: bool


def read_request(value: JsonValue) -> Asked:
    """Read a request's body. Raises `UsageError` naming the field that is wrong.

    What would change the answer and isn't done here (`n` over 1, `tools`, `logprobs`,
    penalties) is refused rather than passed over.
    """
    if not isinstance(value, dict):
        raise UsageError("the body must be a JSON object")
    _refuse_undone(value)
    chat = ChatRequest(
        messages=_messages(value.get("messages")),
        model=_text(value, "model"),
        max_tokens=_max_tokens(value),
        temperature=_number(value, "temperature", 0.0, 0, 2),
        top_p=_number(value, "top_p", 1.0, 0, 1),
        seed=_seed(value),
        stop=_stop(value.get("stop")),
        schema=_schema(value.get("response_format")),
    )
    options = value.get("stream_options")
    usage = isinstance(options, dict) and options.get("include_usage") is True
    return Asked(chat, _flag(value, "stream"), usage)


def _refuse_undone(value: JsonObject) -> None:
    undone = {
        "n": value.get("n") not in {None, 1} if not _is_compound(value.get("n")) else True,
        "tools": bool(value.get("tools")),
        "functions": bool(value.get("functions")),
        "logprobs": bool(value.get("logprobs")),
        "logit_bias": bool(value.get("logit_bias")),
        "frequency_penalty": bool(value.get("frequency_penalty")),
        "presence_penalty": bool(value.get("presence_penalty")),
    }
    name = next((name for name, asked in undone.items() if asked), None)
    if name:
        raise UsageError(f"{name!r} is not supported by this server", remedy=f"leave out {name!r}")


def _is_compound(value: JsonValue) -> bool:
    return isinstance(value, (list, dict))


def _messages(value: JsonValue) -> tuple[Message, ...]:
    if not isinstance(value, list) or not value:
        raise UsageError("'messages' must be a list of at least one message")
    return tuple(_message(item, index) for index, item in enumerate(value))


def _message(value: JsonValue, index: int) -> Message:
    if not isinstance(value, dict):
        raise UsageError(f"messages[{index}] must be an object")
    role = value.get("role")
    ours = _OUR_ROLES.get(role) if isinstance(role, str) else None
    if ours is None:
        raise UsageError(f"messages[{index}].role is {role!r}, not one of {', '.join(_OUR_ROLES)}")
    return Message(ours, _content(value.get("content"), index))


def _content(value: JsonValue, index: int) -> str:
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else [None]
    texts = [part.get("text") for part in parts if _is_text_part(part) and isinstance(part, dict)]
    if len(texts) != len(parts):
        raise UsageError(f"messages[{index}].content must be text", remedy="send text parts only")
    return "".join(str(text) for text in texts)


def _is_text_part(part: JsonValue) -> bool:
    return (
        isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    )


def _max_tokens(value: JsonObject) -> int:
    name = "max_completion_tokens" if "max_completion_tokens" in value else "max_tokens"
    found = value.get(name)
    if found is None:
        return 512
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise UsageError(f"{name!r} is {found!r}, not a whole number of at least 1")
    return found


def _number(value: JsonObject, name: str, default: float, low: float, high: float) -> float:
    found = value.get(name)
    if found is None:
        return default
    is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
    if not is_number or not math.isfinite(cast("float", found)) or not low <= found <= high:  # type: ignore[operator]  # a number here
        raise UsageError(f"{name!r} is {found!r}, not a number from {low:g} to {high:g}")
    return float(cast("float", found))


def _seed(value: JsonObject) -> int | None:
    found = value.get("seed")
    if found is not None and (not isinstance(found, int) or isinstance(found, bool)):
        raise UsageError(f"'seed' is {found!r}, not a whole number")
    return found


def _stop(value: JsonValue) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value if value is not None else []
    if not isinstance(listed, list) or len(listed) > MAX_STOPS:
        raise UsageError(f"'stop' must be a text or a list of at most {MAX_STOPS}")
    if not all(isinstance(item, str) and item for item in listed):
        raise UsageError("'stop' must hold texts that are not empty")
    return tuple(str(item) for item in listed)


def _schema(value: JsonValue) -> Schema | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise UsageError("'response_format' must be an object")
    kind = value.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return ANY_OBJECT
    described = value.get("json_schema")
    if kind != "json_schema" or not isinstance(described, dict):
        raise UsageError(
            f"'response_format.type' is {kind!r}, not text, json_object or json_schema with a "
            "'json_schema' object"
        )
    schema = described.get("schema", True)
    if not isinstance(schema, (dict, bool)):
        raise UsageError("'response_format.json_schema.schema' must be a JSON Schema")
    return schema


def _text(value: JsonObject, name: str) -> str:
    found = value.get(name, "")
    if not isinstance(found, str):
        raise UsageError(f"{name!r} must be a text")
    return found


def _flag(value: JsonObject, name: str) -> bool:
    found = value.get(name)
    if found not in {None, True, False} if not _is_compound(found) else True:
        raise UsageError(f"{name!r} must be true or false")
    return found is True


@dataclass(frozen=True, slots=True)
class Head:
    """What every part of one answer repeats."""

    id: str
    created: int
    model: str


def chunk_json(head: Head, chunk: ChatChunk, *, first: bool = False) -> JsonObject:
    """Write one event of a stream."""
    delta: JsonObject = {"role": "assistant"} if first else {}
    if chunk.text or first:
        delta["content"] = chunk.text
    choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": _written(chunk)}
    return _answer(head, "chat.completion.chunk", [choice])


def usage_json(head: Head, usage: Usage) -> JsonObject:
    """Write the last event of a stream that was asked to tell its usage."""
    return {**_answer(head, "chat.completion.chunk", []), "usage": _usage_json(usage)}


def answer_json(head: Head, text: str, last: ChatChunk) -> JsonObject:
    """Write a whole answer."""
    message: JsonObject = {"role": "assistant", "content": text}
    choice: JsonObject = {"index": 0, "message": message, "finish_reason": _written(last)}
    usage = _usage_json(last.usage or Usage())
    return {**_answer(head, "chat.completion", [choice]), "usage": usage}


def error_json(message: str, kind: str, code: str) -> JsonObject:
    """Write an error as OpenAI's clients expect it."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _written(chunk: ChatChunk) -> JsonValue:
    return None if chunk.finish_reason is None else _WRITTEN_REASON[chunk.finish_reason]


def _answer(head: Head, kind: str, choices: list[JsonValue]) -> JsonObject:
    return {
        "id": head.id,
        "object": kind,
        "created": head.created,
        "model": head.model,
        "choices": choices,
    }


def _usage_json(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
