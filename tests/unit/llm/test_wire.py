"""OpenAI's JSON, read strictly: what changes an answer and isn't done is refused."""

from __future__ import annotations

import pytest

from dagflow.core.errors import UsageError
from dagflow.core.values import JsonObject
from dagflow.llm.protocol import ChatChunk, ChatRequest, Message, Usage
from dagflow.llm.wire import (
    Head,
    answer_json,
    chunk_json,
    read_chunk,
    read_request,
    request_body,
    usage_json,
)

HI: JsonObject = {"messages": [{"role": "user", "content": "hi"}]}
HEAD = Head("id", 1, "m")


def test_what_the_client_writes_the_server_reads_back() -> None:
    request = ChatRequest(
        messages=(Message("system", "s"), Message("user", "u"), Message("assistant", "a")),
        model="m", max_tokens=9, temperature=1.5, top_p=0.25, seed=-4, stop=("x", "y"),
        schema={"type": "string"},
    )  # fmt: skip

    asked = read_request(request_body(request))

    assert asked.chat == request
    assert asked.stream
    assert asked.include_usage


@pytest.mark.parametrize(
    "chunk", [ChatChunk("é"), ChatChunk("", "stop"), ChatChunk("x", "length"),
              ChatChunk("", "refused")],
)  # fmt: skip
def test_what_the_server_writes_the_client_reads_back(chunk: ChatChunk) -> None:
    assert read_chunk(chunk_json(HEAD, chunk)) == chunk


def test_a_whole_answer_and_a_usage_event_are_read_back() -> None:
    usage = Usage(5, 2, 4)

    whole = read_chunk(answer_json(HEAD, "text", ChatChunk("t", "stop", usage)))
    told = read_chunk(usage_json(HEAD, usage))

    assert whole == ChatChunk("text", "stop", usage)
    assert told == ChatChunk("", None, usage)


def test_texts_in_parts_and_a_developer_are_taken() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]

    asked = read_request({"messages": [{"role": "developer", "content": parts}]})

    assert asked.chat.messages == (Message("system", "ab"),)


def test_json_object_mode_asks_for_any_object() -> None:
    asked = read_request({**HI, "response_format": {"type": "json_object"}})

    assert asked.chat.schema == {"type": "object"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"messages": []}, "'messages'"),
        ({"messages": None}, "'messages'"),
        ({"messages": ["hi"]}, r"messages\[0\] must be"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "role is 'tool'"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, "role is"),
        ({"messages": [{"role": "user", "content": None}]}, "content must be text"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "must be text"),
        ({"max_tokens": 0}, "'max_tokens' is 0"),
        ({"max_tokens": True}, "'max_tokens' is True"),
        ({"max_completion_tokens": "9"}, "'max_completion_tokens' is '9'"),
        ({"temperature": 3}, "'temperature' is 3"),
        ({"temperature": "hot"}, "'temperature'"),
        ({"top_p": -1}, "'top_p'"),
        ({"seed": 1.5}, "'seed'"),
        ({"stop": [""]}, "'stop'"),
        ({"stop": ["x"] * 17}, "at most 16"),
        ({"stop": {}}, "'stop'"),
        ({"stream": "yes"}, "'stream'"),
        ({"stream": []}, "'stream'"),
        ({"model": 3}, "'model'"),
        ({"response_format": "json"}, "'response_format'"),
        ({"response_format": {"type": "xml"}}, "'xml'"),
        ({"response_format": {"type": "json_schema"}}, "json_schema"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": 3}}}, "Schema"),
        ({"n": 2}, "'n' is not supported"),
        ({"n": [1]}, "'n' is not supported"),
        ({"tools": [{}]}, "'tools' is not supported"),
        ({"logprobs": True}, "'logprobs' is not supported"),
        ({"presence_penalty": 1}, "'presence_penalty' is not supported"),
    ],
)
def test_a_request_that_can_not_be_answered_as_asked_is_refused(
    change: JsonObject, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        read_request({**HI, **change})


def test_a_body_that_is_no_object_is_refused() -> None:
    with pytest.raises(UsageError, match="JSON object"):
        read_request([1])
