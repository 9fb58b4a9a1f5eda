"""The API as `dagflow dev` serves it, in a process of its own."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.command import Shell
from tests.api.served import HELLO, WAITS, Client, eventually
from tests.contract.tool_server import Answer, Received, serving

TOOL = """\
openapi: 3.1.0
info: {title: slow, version: "1"}
servers: [{url: "URL"}]
paths:
  /slow:
    METHOD:
      operationId: slow
      responses: {"200": {description: ok, content: {application/json: {schema: {type: integer}}}}}
"""
CALLS = """\
dagflow: 1
name: calls
tools: {slow: {openapi: ./slow.yaml}}
steps:
  call: {tool: slow.slow, timeout: 60s}
  after: {transform: steps.call.output.body + 1}
outputs: {n: "${{ steps.after.output }}"}
"""


@contextmanager
def dev(shell: Shell) -> Iterator[tuple[Client, subprocess.Popen[str]]]:
    """Give a client of `dagflow dev` on a free port, and its process."""
    with shell.start("dev", "--port", "0") as process:
        assert process.stderr is not None
        told = ""
        while not (found := re.search(r"dagflow API on http://127\.0\.0\.1:(\d+)/v1", told)):
            line = process.stderr.readline()
            assert line, told
            told += line
        yield Client(int(found[1])), process


def stopped(process: subprocess.Popen[str]) -> str:
    """Wait for a process that was told to stop, and return what it said at last."""
    assert process.wait(timeout=20) in {0, -signal.SIGTERM}
    assert process.stderr is not None
    said = process.stderr.read()
    assert "Traceback" not in said
    return said


def test_the_whole_path_in_a_process(tmp_path: Path) -> None:
    with dev(Shell(tmp_path)) as (api, process):
        assert api.get("/health/ready").json == {"status": "ok"}
        answer = api.submit(api.register(HELLO), {"name": "you"}, Prefer="wait=20")
        with api.stream(answer.json["run"]["id"]) as stream:
            messages = list(stream)
        process.send_signal(signal.SIGTERM)
        said = stopped(process)

    assert answer.json["run"]["outputs"] == {"text": "hello you"}
    assert messages[-1].event == "end"
    assert said == ""
    assert Shell(tmp_path)("runs", "show", answer.json["run"]["id"]).code == 0


def test_a_stop_ends_streams_and_waits_and_the_next_start_goes_on(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    with dev(shell) as (api, process):
        run_id = api.start(api.register(WAITS))
        waited: list[int] = []
        waiting = threading.Thread(
            target=lambda: waited.append(api.submit("waits", Prefer="wait=60").status)
        )
        waiting.start()
        with api.stream(run_id) as stream:
            next(iter(stream))
            eventually(lambda: len(api.get("/v1/runs").json["runs"]) == 2)
            start = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert all(message.event != "end" for message in stream)
        waiting.join(20)
        stopped(process)

    assert time.monotonic() - start < 5
    assert waited == [202]
    with dev(shell) as (api, process):
        api.post(f"/v1/runs/{run_id}/signals/go", {"payload": {"n": 4}})
        assert api.until(run_id, "succeeded")["run"]["outputs"] == {"n": 4}


@pytest.mark.parametrize(
    ("method", "status", "calls"), [("get", "succeeded", 2), ("post", "waiting", 1)]
)
def test_a_call_in_flight_at_the_stop_is_taken_up_by_the_next_start(
    tmp_path: Path, method: str, status: str, calls: int
) -> None:
    shell = Shell(tmp_path)
    entered, go_on = threading.Event(), threading.Event()

    def reply(got: Received) -> Answer:
        entered.set()
        go_on.wait(20)
        return Answer(200, b"41", {"content-type": "application/json"})

    with serving(reply) as server:
        document = TOOL.replace("URL", server.url).replace("METHOD", method)
        with dev(shell) as (api, process):
            body = {"workflow": CALLS, "documents": {"slow": document}}
            headers = {"Content-Type": "application/json"}
            put = api.send("PUT", "/v1/workflows/calls", json.dumps(body).encode(), **headers)
            assert put.status == 201, put.body
            run_id = api.start("calls")
            assert entered.wait(20)
            process.send_signal(signal.SIGTERM)
            stopped(process)
        go_on.set()
        with dev(shell) as (api, process):
            view = api.until(run_id, status)
            asked = len(server.received)

    assert asked == calls
    if status == "succeeded":
        assert view["run"]["outputs"] == {"n": 42}
    else:
        assert view["steps"]["call"]["reason"] == "unknown_outcome"
