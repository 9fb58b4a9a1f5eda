"""Events by cursor and as a stream."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import cast

import pytest

from dagflow.api.streaming import stream
from dagflow.executor.steps.base import Attempt, StepContext
from dagflow.service.runs import Runs
from tests.api.served import WAITS, Client, Message, eventually, served

TALKS = """\
dagflow: 1
name: talks
steps:
  go: {wait: {signal: go}}
  say:
    after: go
    python: "def main(): return 1"
    output: integer
"""


async def talking(attempt: Attempt, context: StepContext) -> int:
    for word in ("one", "two", "line\nbreak"):
        context.emit("token", {"text": word})
    context.emit("log", {"stream": "stdout", "text": "logged"})
    return 1


def seqs(messages: list[Message]) -> list[int]:
    return [int(message.id) for message in messages if message.id]


def test_events_come_by_cursor(api: Client) -> None:
    run_id = api.submit("hello", {"name": "e"}, Prefer="wait=20").json["run"]["id"]
    whole = api.get(f"/v1/runs/{run_id}/events").json
    found, after = [], 0
    while page := api.get(f"/v1/runs/{run_id}/events?after={after}&limit=2").json:
        found += page["events"]
        if page["next"] == after:
            break
        after = page["next"]

    assert found == whole["events"]
    assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
    assert found[-1]["after"] == "succeeded"


def test_a_stream_of_a_finished_run_gives_all_and_ends(api: Client) -> None:
    run_id = api.submit("hello", {"name": "s"}, Prefer="wait=20").json["run"]["id"]
    stored = api.get(f"/v1/runs/{run_id}/events").json["events"]
    with api.stream(run_id) as stream:
        messages = list(stream)

    assert stream.response.headers["content-type"].startswith("text/event-stream")
    assert [json.loads(m.data) for m in messages if m.event == "change"] == stored
    assert (messages[-1].event, json.loads(messages[-1].data)) == ("end", {"status": "succeeded"})


def test_a_stream_resumes_without_gap_or_duplicate(api: Client) -> None:
    run_id = api.start("waits")
    with api.stream(run_id) as stream:
        first = [next(iter(stream)) for _ in range(2)]
    api.post(f"/v1/runs/{run_id}/signals/go", {"payload": {"n": 1}})
    with api.stream(run_id, **{"Last-Event-ID": first[-1].id}) as stream:
        rest = list(stream)
    stored = api.get(f"/v1/runs/{run_id}/events").json["events"]

    assert seqs(first) + seqs(rest) == [event["seq"] for event in stored]
    assert rest[-1].event == "end"


def test_a_browser_that_comes_back_after_the_end_is_told_to_stop(api: Client) -> None:
    run_id = api.submit("hello", {"name": "b"}, Prefer="wait=20").json["run"]["id"]
    last = api.get(f"/v1/runs/{run_id}/events").json["next"]

    answer = api.get(
        f"/v1/runs/{run_id}/events", Accept="text/event-stream", Last_Event_ID=str(last)
    )

    assert (answer.status, answer.body) == (204, b"")


@pytest.mark.parametrize("value", ["x", "-1", "\u00b2", "9" * 20, "9" * 30])
def test_a_last_event_id_that_was_never_given_is_refused(api: Client, value: str) -> None:
    run_id = api.submit("hello", {"name": "b"}, Prefer="wait=20").json["run"]["id"]

    assert api.get(f"/v1/runs/{run_id}/events", Last_Event_ID=value).status == 422


def test_tokens_and_logs_come_between_the_changes(tmp_path: Path) -> None:
    with served(tmp_path, work={"python": talking}) as api:
        run_id = api.start(api.register(TALKS))
        with api.stream(run_id) as stream:
            messages = iter(stream)
            got = [next(messages)]
            api.post(f"/v1/runs/{run_id}/signals/go")
            got += messages

    live = [(m.event, json.loads(m.data)) for m in got if m.event in {"token", "log"}]
    assert [data["text"] for _, data in live] == ["one", "two", "line\nbreak", "logged"]
    assert {data["step"] for _, data in live} == {"say"}
    assert [m.id for m in got if m.event in {"token", "log"}] == [""] * 4
    assert seqs(got) == sorted(set(seqs(got)))
    assert got[-1].event == "end"


def test_a_client_that_goes_away_is_forgotten(api: Client) -> None:
    run_id = api.start("waits")
    assert api.engine is not None
    with api.stream(run_id) as stream:
        next(iter(stream))
        assert api.engine.live.is_watched(run_id)
        stream.response.close()

    eventually(lambda: not api.engine.live.is_watched(run_id))
    api.post(f"/v1/runs/{run_id}/cancel")


def test_silence_is_filled_with_heartbeats(api: Client) -> None:
    import asyncio

    run_id = api.start("waits")
    assert api.engine is not None
    assert api.loop is not None

    async def listen() -> list[str]:
        found = []
        source = stream(Runs(api.engine), run_id, 0, asyncio.Event(), heartbeat=0.05)
        async for text in source:
            found.append(text)
            if found.count(": still here\n\n") == 3:
                break
        await cast("AsyncGenerator[str]", source).aclose()
        return found

    found = asyncio.run_coroutine_threadsafe(listen(), api.loop).result(timeout=20)
    api.post(f"/v1/runs/{run_id}/signals/go", {"payload": {"n": 1}})

    assert found[-3:] == [": still here\n\n"] * 3
    assert not api.engine.live.is_watched(run_id)


def test_streams_end_when_the_server_stops(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        run_id = api.start(api.register(WAITS))
        connection = api.connect()
        connection.request(
            "GET", f"/v1/runs/{run_id}/events", headers={"Accept": "text/event-stream"}
        )
        response = connection.getresponse()
        response.readline()

    assert b"event: end" not in response.read()
    connection.close()
