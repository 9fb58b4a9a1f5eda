"""The API served over a real socket, with a worker, in a thread of this process."""

from __future__ import annotations

import asyncio
import http.client
import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dagflow.api.services import Services
from dagflow.cli.serving import bind, server_of
from dagflow.executor.dispatch.inline import InlineDispatcher
from dagflow.executor.engine import Engine
from dagflow.executor.steps import WORK
from dagflow.executor.steps.base import StepWork
from dagflow.executor.worker import Worker
from dagflow.service.runs import Runs
from dagflow.service.workflows import Workflows
from dagflow.store.schema import opened

PROBLEM = {"type", "title", "status", "detail", "instance", "code", "request_id"}
HELLO = """\
dagflow: 1
name: hello
inputs:
  name: {type: string, maxLength: 100}
  times: {type: integer, minimum: 1, maximum: 9, default: 1}
steps:
  greet: {transform: '"hello " + inputs.name'}
outputs: {text: "${{ steps.greet.output }}"}
"""
WAITS = """\
dagflow: 1
name: waits
steps:
  go: {wait: {signal: go}, output: {n: integer}}
  tell: {transform: steps.go.output.n}
outputs: {n: "${{ steps.tell.output }}"}
"""
ASKS = """\
dagflow: 1
name: asks
inputs: {ticket: string}
steps:
  ask: {approve: {message: "Page for ${{ inputs.ticket }}?", expires: 1h}}
  done: {transform: steps.ask.output.by}
outputs: {by: "${{ steps.done.output }}"}
"""


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        found: str = self.json["code"]
        return found


@dataclass(frozen=True)
class Client:
    """Speaks HTTP; whatever comes back must look as every answer of the API looks."""

    port: int
    engine: Engine | None = None
    loop: asyncio.AbstractEventLoop | None = None

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = self.connect()
        try:
            connection.request(method, path, body, named)
            got = connection.getresponse()
            answer = Answer(got.status, {k.lower(): v for k, v in got.headers.items()}, got.read())
        finally:
            connection.close()
        checked(answer, path)
        return answer

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        if body is None:
            return self.send("POST", path, **headers)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.send("POST", path, data, **{"Content-Type": "application/json", **headers})

    def put(self, name: str, source: str) -> Answer:
        headers = {"Content-Type": "application/yaml"}
        return self.send("PUT", f"/v1/workflows/{name}", source.encode(), **headers)

    def register(self, source: str) -> str:
        name = source.split("name: ", 1)[1].split("\n", 1)[0]
        answer = self.put(name, source)
        assert answer.status == 201, answer.body
        return name

    def submit(self, workflow: str, inputs: Any = None, **headers: str) -> Answer:
        return self.post("/v1/runs", {"workflow": workflow, "inputs": inputs or {}}, **headers)

    def start(self, workflow: str, inputs: Any = None) -> str:
        answer = self.submit(workflow, inputs)
        assert answer.status == 202, answer.body
        found: str = answer.json["run"]["id"]
        return found

    def until(self, run_id: str, status: str) -> Any:
        return eventually(
            lambda: view if (view := self.get(f"/v1/runs/{run_id}").json)["run"]["status"] == status
            else None
        )  # fmt: skip

    @contextmanager
    def stream(self, run_id: str, query: str = "", **headers: str) -> Iterator[Stream]:
        connection = self.connect()
        named = {"Accept": "text/event-stream", **headers}
        connection.request("GET", f"/v1/runs/{run_id}/events{query}", headers=named)
        try:
            yield Stream(connection.getresponse())
        finally:
            connection.close()


@dataclass
class Message:
    """One server-sent event."""

    id: str = ""
    event: str = ""
    data: str = ""


@dataclass
class Stream:
    """Reads server-sent events; `comments` are the heartbeats seen so far."""

    response: http.client.HTTPResponse
    comments: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Message]:
        made = Message()
        for raw in self.response:
            line = raw.decode().rstrip("\n")
            name, _, value = line.partition(": ")
            if line.startswith(":"):
                self.comments.append(line)
            elif line:
                setattr(made, name, value)
            elif made.event:
                yield made
                made = Message()


def checked(answer: Answer, path: str) -> None:
    """Assert what holds for every answer."""
    assert len(answer.headers["x-request-id"]) == 32
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "access-control-allow-origin" not in answer.headers
    assert "server" not in answer.headers
    if answer.status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json
        assert problem.keys() >= PROBLEM
        assert problem["status"] == answer.status
        assert problem["request_id"] == answer.headers["x-request-id"]
        assert problem["instance"] == path.partition("?")[0]
        assert b"Traceback" not in answer.body


def eventually(holds: Callable[[], Any], seconds: float = 20) -> Any:
    """Return the first true value, or fail."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(0.01)
    raise AssertionError("it did not come true in time")


@contextmanager
def served(folder: Path, *, work: Mapping[str, StepWork] = WORK) -> Iterator[Client]:
    """Give a client of a server that works on its runs itself."""
    ready: queue.Queue[Client | BaseException] = queue.Queue()
    stop: list[Callable[[], None]] = []

    def main() -> None:
        try:
            asyncio.run(_serve(folder, work, ready, stop))
        except BaseException as error:  # noqa: BLE001  # told to the test
            ready.put(error)

    thread = threading.Thread(target=main)
    thread.start()
    client = ready.get(timeout=30)
    if isinstance(client, BaseException):
        raise client
    try:
        yield client
    finally:
        stop[0]()
        thread.join(timeout=20)
        assert not thread.is_alive(), "the server did not stop"


async def _serve(
    folder: Path,
    work: Mapping[str, StepWork],
    ready: queue.Queue[Client | BaseException],
    stop: list[Callable[[], None]],
) -> None:
    store = opened(f"sqlite:///{folder}/dagflow.db")
    doorbell = InlineDispatcher()
    engine = Engine(store, doorbell)
    services = Services(Runs(engine), Workflows(engine))
    server = server_of(services, hosts={"127.0.0.1", "localhost"})
    listening = bind("127.0.0.1", 0)
    loop = asyncio.get_running_loop()

    def end() -> None:
        loop.call_soon_threadsafe(services.closing.set)
        server.should_exit = True

    stop.append(end)
    async with Worker(engine, doorbell, work=work):
        ready.put(Client(listening.getsockname()[1], engine, loop))
        await server.serve(sockets=[listening])
    store.close()
