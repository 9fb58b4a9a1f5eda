"""The chat client against servers of every temper."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagflow.core.errors import StepError
from dagflow.llm.client import OpenAIClient, endpoint
from dagflow.llm.protocol import ChatChunk, ChatRequest, Message, Usage
from tests.unit.llm.fakes import FakeHttp, gathered, text_of

ASKED = ChatRequest(messages=(Message("user", "hi"),))


def event(text: str = "", finish: str | None = None, **more: object) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    value = {"choices": [choice], **more}
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def ask(http: FakeHttp, request: ChatRequest = ASKED, **how: str) -> list[ChatChunk]:
    return asyncio.run(gathered(OpenAIClient(http, "http://x", **how).stream(request)))


def failed(http: FakeHttp, request: ChatRequest = ASKED) -> StepError:
    with pytest.raises(StepError) as caught:
        ask(http, request)
    assert http.closed
    return caught.value


USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
TOLD = b'data: {"choices":[],"usage":' + json.dumps(USAGE).encode() + b"}\n\n"
WHOLE = event("Hé") + b": keep-alive\n\n" + event("llo 😀") + event("", "stop") + TOLD
BODY = WHOLE + b"data: [DONE]\n\n"


@given(st.lists(st.integers(0, len(BODY))))
def test_the_answer_is_the_same_wherever_the_network_cut_it(places: list[int]) -> None:
    edges = [0, *sorted(places), len(BODY)]
    chunks = [BODY[a:b] for a, b in pairwise(edges)]

    found = ask(FakeHttp([*chunks]))

    assert text_of(found) == "Héllo 😀"
    assert [chunk.finish_reason for chunk in found if chunk.finish_reason] == ["stop"]
    assert found[-1].usage == Usage(3, 2, 1)


@pytest.mark.parametrize(
    "url", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/",
            "http://h:1/v1/chat/completions"],
)  # fmt: skip
def test_a_base_url_may_be_written_in_every_usual_way(url: str) -> None:
    assert endpoint(url) == "http://h:1/v1/chat/completions"


def test_everything_that_was_asked_is_sent() -> None:
    http = FakeHttp([BODY])
    request = ChatRequest(
        messages=(Message("system", "s"), Message("user", "u")),
        max_tokens=7, temperature=0.5, top_p=0.9, seed=3, stop=("END",),
        schema={"type": "integer"}, schema_name="grade",
    )  # fmt: skip

    ask(http, request, model="m", api_key="k")

    assert http.headers["authorization"] == "Bearer k"
    assert http.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 3,
        "stop": ["END"],
        "stream": True,
        "stream_options": {"include_usage": True},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "grade", "schema": {"type": "integer"}, "strict": True},
        },
    }


def test_a_key_is_not_sent_where_there_is_none() -> None:
    http = FakeHttp([BODY])

    ask(http)

    assert "authorization" not in http.headers
    assert "model" not in http.body


@pytest.mark.parametrize(
    ("status", "error_class"),
    [(400, "http_4xx"), (401, "http_4xx"), (404, "http_4xx"), (408, "timeout"),
     (429, "rate_limited"), (500, "http_5xx"), (503, "http_5xx"), (302, "http_4xx")],
)  # fmt: skip
def test_a_refusal_has_the_class_of_its_status(status: int, error_class: str) -> None:
    error = failed(FakeHttp([b'{"error":{"message":"no such luck"}}'], status=status))

    assert error.error_class == error_class
    assert f"answered {status}: no such luck" in str(error)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("0.5", 0.5), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-3", None),
     ("inf", None), ("nan", None)],
)  # fmt: skip
def test_the_time_that_a_server_asks_to_wait_is_kept(header: str, seconds: float | None) -> None:
    error = failed(FakeHttp([b""], status=429, headers={"retry-after": header}))

    assert error.retry_after == seconds


@pytest.mark.parametrize(
    ("body", "said"),
    [(b"", "no reason given"), (b"<html>gone\n</html>", "<html>gone </html>"),
     (b'{"error":"plain"}', "plain"), (b'{"detail":"problem"}', "problem"), (b"[1]", "[1]"),
     (b"[" * 100_000, "[[[")],
)  # fmt: skip
def test_a_refusal_says_what_the_server_said(body: bytes, said: str) -> None:
    error = failed(FakeHttp([body], status=500))

    assert said in str(error)
    assert len(str(error)) < 700


@pytest.mark.parametrize(
    ("chunks", "error_class", "said"),
    [
        ([event("a"), b'data: {"error":{"message":"out of memory"}}\n\n'], "model",
         "out of memory"),
        ([event("a"), b"data: {not json\n\n"], "model", "something else than JSON"),
        ([event("a"), b"data: [1]\n\n"], "model", "not an object"),
        ([event("a")], "network", "broke off"),
        ([event("a"), b"data: [DONE]\n\n"], "network", "broke off"),
        ([], "network", "broke off"),
    ],
)  # fmt: skip
def test_an_answer_that_ends_badly_is_a_failure(
    chunks: list[bytes | None], error_class: str, said: str
) -> None:
    error = failed(FakeHttp(chunks))

    assert error.error_class == error_class
    assert said in str(error)


def test_an_answer_that_only_lacks_its_closing_mark_is_whole() -> None:
    assert text_of(ask(FakeHttp([event("a"), event("b", "length")]))) == "ab"


def test_a_server_that_does_not_stream_is_understood() -> None:
    choice = {"message": {"role": "assistant", "content": "all"}, "finish_reason": "stop"}
    body = json.dumps({"choices": [choice], "usage": USAGE}).encode()

    found = ask(FakeHttp([body[:9], body[9:]], headers={"content-type": "application/json"}))

    assert found == [ChatChunk("all", "stop", Usage(3, 2, 1))]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "refused"), ("eos", "stop")],
)
def test_reasons_of_other_servers_are_ours(theirs: str, ours: str) -> None:
    assert ask(FakeHttp([event("a", theirs)]))[-1].finish_reason == ours


def test_a_silent_server_is_a_timeout() -> None:
    request = ChatRequest(messages=ASKED.messages, timeout=0.05)

    error = failed(FakeHttp([event("a"), None]), request)

    assert error.error_class == "timeout"
    assert "0.05 s" in str(error)


def test_time_that_the_reader_takes_never_cuts_its_own_work() -> None:
    async def slow_reader() -> str:
        request = ChatRequest(messages=ASKED.messages, timeout=0.05)
        chunks = OpenAIClient(FakeHttp([event("a"), None]), "http://x").stream(request)
        first = await anext(chunks)
        await asyncio.sleep(0.1)
        with pytest.raises(StepError, match="no whole answer"):
            await anext(chunks)
        return first.text

    assert asyncio.run(slow_reader()) == "a"


def test_closing_the_stream_closes_the_connection() -> None:
    http = FakeHttp([event("a"), None])

    async def leave() -> None:
        stream = OpenAIClient(http, "http://x").stream(ASKED)
        await anext(stream)
        assert not http.closed
        await stream.aclose()

    asyncio.run(leave())

    assert http.closed
