"""The worker's HTTP side over an engine whose model is a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from dagflow.core.errors import StepError
from dagflow.core.values import JsonObject
from dagflow.llm.app import MAX_BODY, build_app
from dagflow.llm.engine.engine import Engine, Language
from dagflow.llm.engine.scheduler import Scheduler
from tests.unit.llm.fakes import FakeRunner, until

END = 0
HELLO = [*b"Hello", END]


class Letters:
    """Prompts of one token for each character."""

    def tokens(self, messages: Any) -> list[int]:
        return [ord(character) for message in messages for character in message.content]


class Slow(FakeRunner):
    """A runner that goes on until somebody stops it."""

    def __init__(self) -> None:
        super().__init__([ord("x")] * 100_000)


def engine(runner: FakeRunner, *, queue: int = 8) -> Engine:
    language = Language(
        context=1_000_000,
        ends=frozenset({END}),
        prompts=Letters(),
        token_bytes=lambda token: bytes([token % 128]),
        constrain=lambda _: pytest.fail("no schema was asked for"),
    )
    return Engine(language, runner, Scheduler(limit=queue))


class Client:
    """One request to an ASGI application, with a hand on the connection."""

    def __init__(self, app: Any, method: str, path: str, body: bytes = b"", key: str = "") -> None:
        headers = [(b"authorization", f"Bearer {key}".encode())] if key else []
        self.scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": b"", "headers": headers, "asgi": {"version": "3.0"},
            "http_version": "1.1", "scheme": "http", "server": ("x", 1), "client": ("y", 2),
            "root_path": "",
        }  # fmt: skip
        self.app = app
        self.status = 0
        self.headers: dict[str, str] = {}
        self.sent = b""
        self.gone = asyncio.Event()
        self.first = asyncio.Event()
        self._body = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive(self) -> dict[str, Any]:
        if self._body:
            return self._body.pop()
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            self.sent += message["body"]
            self.first.set()

    async def run(self) -> Client:
        await asyncio.wait_for(self.app(self.scope, self.receive, self.send), 20)
        return self

    @property
    def json(self) -> Any:
        return json.loads(self.sent)

    def events(self) -> Iterator[Any]:
        for line in self.sent.decode().split("\n\n"):
            data = line.removeprefix("data: ")
            if data and data != "[DONE]":
                yield json.loads(data)


def post(runner: FakeRunner, body: object, **how: Any) -> Client:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def scene() -> Client:
        app = build_app(engine(runner), "tiny", api_key=how.pop("api_key", ""))
        return await Client(app, "POST", "/v1/chat/completions", raw, **how).run()

    return asyncio.run(scene())


def asked(**more: object) -> JsonObject:
    return {"messages": [{"role": "user", "content": "hi"}], **more}


def test_a_whole_answer() -> None:
    found = post(FakeRunner(HELLO), asked())

    assert found.status == 200
    assert found.json["object"] == "chat.completion"
    assert found.json["model"] == "tiny"
    assert found.json["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    ]
    assert found.json["usage"] == {
        "prompt_tokens": 2, "completion_tokens": 5, "total_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 0},
    }  # fmt: skip


def test_a_stream_says_the_same_as_a_whole_answer() -> None:
    options = {"include_usage": True}

    found = post(FakeRunner(HELLO), asked(stream=True, stream_options=options))

    events = list(found.events())
    choices = [event["choices"][0] for event in events if event["choices"]]
    assert found.headers["content-type"].startswith("text/event-stream")
    assert "".join(choice["delta"].get("content", "") for choice in choices) == "Hello"
    assert [c["finish_reason"] for c in choices if c["finish_reason"]] == ["stop"]
    assert events[-1]["usage"]["completion_tokens"] == 5
    assert len({event["id"] for event in events}) == 1
    assert found.sent.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("body", "status", "code", "said"),
    [
        (b"{", 400, "invalid_json", "not JSON"),
        (b'{"a":1,"a":2}', 400, "invalid_json", "twice"),
        (asked(temperature=9), 400, "invalid_request", "'temperature' is 9"),
        (asked(max_tokens=2_000_000), 400, "invalid_request", "context of 1000000"),
        (asked(model="gpt-9"), 404, "model_not_found", "only 'tiny'"),
        (b" " * (MAX_BODY + 1), 413, "body_too_large", "more than"),
    ],
)
def test_what_can_not_be_answered_is_refused_with_the_reason(
    body: object, status: int, code: str, said: str
) -> None:
    found = post(FakeRunner(HELLO), body)

    assert found.status == status
    assert found.json["error"]["code"] == code
    assert said in found.json["error"]["message"]


@pytest.mark.parametrize("name", ["tiny", "default", "local", ""])
def test_the_model_may_be_left_to_the_server(name: str) -> None:
    assert post(FakeRunner(HELLO), asked(model=name)).status == 200


@pytest.mark.parametrize(("key", "status"), [("", 401), ("wrong", 401), ("ké", 401), ("s3", 200)])
def test_with_a_key_only_who_has_it_is_answered(key: str, status: int) -> None:
    assert post(FakeRunner(HELLO), asked(), api_key="s3", key=key).status == status


def test_health_and_models() -> None:
    async def scene() -> list[Client]:
        app = build_app(engine(FakeRunner(HELLO)), "tiny", api_key="s3")
        paths = ["/health/live", "/health/ready", "/v1/models"]
        return [await Client(app, "GET", path).run() for path in paths]

    live, ready, models = asyncio.run(scene())

    assert (live.status, ready.status) == (200, 200)
    assert models.status == 401


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_ends_its_generation(stream: bool) -> None:
    runner = Slow()

    async def scene() -> tuple[int, int]:
        app = build_app(engine(runner), "tiny")
        body = json.dumps(asked(stream=stream, max_tokens=90_000)).encode()
        client = Client(app, "POST", "/v1/chat/completions", body)
        answering = asyncio.ensure_future(client.run())
        await until(lambda: runner.steps >= 5)
        client.gone.set()
        await answering
        after = runner.steps
        other = Client(
            app, "POST", "/v1/chat/completions", json.dumps(asked(max_tokens=1)).encode()
        )
        await other.run()
        assert other.status == 200
        return after, runner.steps

    after, last = asyncio.run(scene())

    # one step may have been running, and the other request takes one
    assert last - after <= 2


def test_a_full_queue_is_said_with_when_to_try_again() -> None:
    runner = Slow()

    async def scene() -> Client:
        app = build_app(engine(runner, queue=0), "tiny")
        body = json.dumps(asked(stream=True, max_tokens=90_000)).encode()
        first = Client(app, "POST", "/v1/chat/completions", body)
        answering = asyncio.ensure_future(first.run())
        await until(lambda: runner.steps >= 5)
        second = await Client(app, "POST", "/v1/chat/completions", body).run()
        first.gone.set()
        await answering
        return second

    found = asyncio.run(scene())

    assert found.status == 429
    assert found.headers["retry-after"] == "1"
    assert found.json["error"]["code"] == "queue_full"


def test_an_engine_that_breaks_in_a_stream_ends_it_with_an_error_object() -> None:
    class Broken(FakeRunner):
        def step(self, sequence: Any) -> int | None:
            if self.steps == 3:
                raise StepError("model", "the model computed nothing")
            return super().step(sequence)

    found = post(Broken(HELLO), asked(stream=True))

    assert list(found.events())[-1]["error"]["message"] == "the model computed nothing"
    assert b"[DONE]" not in found.sent
