"""`kill -9` in the middle of `dagflow run`, then `dagflow runs recover`: nothing is done twice.

The effects are counted by a server outside of everything that dies.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dagflow.executor.faults import POINTS
from tests.acceptance.command import Shell

TOOL = """\
openapi: 3.1.0
info: {title: ledger, version: "1"}
servers: [{url: "http://127.0.0.1:%d"}]
paths:
  /entries/{name}:
    put:
      operationId: enter
      parameters:
        - {name: name, in: path, required: true, schema: {type: string}}
        - {name: Idempotency-Key, in: header, schema: {type: string}}
      responses:
        "200":
          description: entered
          content:
            application/json:
              schema: {type: object, required: [n], properties: {n: {type: integer}}}
"""
CHILD = """\
dagflow: 1
name: child
inputs: {who: {type: string, maxLength: 20}}
tools: {ledger: {openapi: ./ledger.yaml}}
steps:
  mark:
    tool: ledger.enter
    with: {path: {name: "${{ inputs.who }}"}}
outputs: {n: "${{ steps.mark.output.body.n }}"}
"""
FLOW = """\
dagflow: 1
name: killed
tools: {ledger: {openapi: ./ledger.yaml}}
steps:
  first:
    tool: ledger.enter
    with: {path: {name: first}}
  words:
    after: first
    transform: '["x", "y"]'
  each:
    foreach:
      items: steps.words.output
      as: word
      concurrency: 2
      max_items: 5
      steps:
        mark:
          tool: ledger.enter
          with: {path: {name: "each-${{ word }}"}}
      collect: steps.mark.output.body.n
  called:
    after: each
    workflow: {file: ./child.yaml}
    with: {who: called}
  last:
    after: called
    tool: ledger.enter
    with: {path: {name: last}}
finally:
  close:
    tool: ledger.enter
    with: {path: {name: close}}
outputs:
  each: ${{ steps.each.output }}
  called: ${{ steps.called.output.n }}
  last: ${{ steps.last.output.body.n }}
"""
NAMES = {"first", "each-x", "each-y", "called", "last", "close"}
OFTEN = (1, 2, 5) if os.environ.get("DAGFLOW_FULL") == "1" else (2,)
"""Which times that a point is reached are tried."""


class Ledger(ThreadingHTTPServer):
    """Counts effects: the idempotency keys that it was given, by name."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), LedgerHandler)
        self.entries: list[tuple[str, str]] = []


class LedgerHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        assert isinstance(self.server, Ledger)
        name = self.path.removeprefix("/entries/")
        self.server.entries.append((name, self.headers.get("Idempotency-Key", "")))
        body = json.dumps({"n": len(name)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def ledger() -> Iterator[Ledger]:
    server = Ledger()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def finished(shell: Shell) -> set[str]:
    """Return the ledger names of the steps that were recorded as succeeded."""
    listed = shell("runs", "ls", "--format", "json").json["runs"]
    done: set[str] = set()
    for run in listed:
        steps = shell("runs", "show", run["id"], "--format", "json").json["steps"]
        done |= {path for path, step in steps.items() if step["status"] == "succeeded"}
    names = {"each[0].mark": "each-x", "each[1].mark": "each-y", "mark": "called"}
    return {names.get(path, path) for path in done} & NAMES


@pytest.mark.parametrize("nth", OFTEN)
@pytest.mark.parametrize("point", [p for p in POINTS if p != "in-recovery"])
def test_a_killed_run_is_recovered_and_no_finished_step_is_done_again(
    point: str, nth: int, tmp_path: Path
) -> None:
    shell = Shell(tmp_path)
    with ledger() as counted:
        shell.write("ledger.yaml", TOOL % counted.server_address[1])
        shell.write("child.yaml", CHILD)
        shell.write("flow.yaml", FLOW)

        killed = shell("run", "flow.yaml", "-q", DAGFLOW_FAULT=f"{point}:{nth}")
        if killed.code == 0 and nth > 1:
            return  # the point is not reached so often
        assert killed.code == -signal.SIGKILL
        if (
            not (tmp_path / "state" / "dagflow.db").exists()
            or not shell("runs", "ls", "--format", "json").json["runs"]
        ):
            assert counted.entries == []  # it died before the run was accepted
            return
        before = finished(shell)
        told = len(counted.entries)
        recovered = shell("runs", "recover", "--format", "json")

    assert recovered.code == 0, recovered.err
    assert recovered.json["run"]["outputs"] == {"each": [6, 6], "called": 6, "last": 4}
    assert {name for name, _ in counted.entries} == NAMES
    assert not {name for name, _ in counted.entries[told:]} & before
    keys = Counter(name for name, _ in set(counted.entries))
    assert set(keys.values()) == {1}, "an effect was asked for under two idempotency keys"
    assert max(Counter(name for name, _ in counted.entries).values()) <= 2
