"""Runs the workflows of `workflows/` as a user does: real files, services, sandbox and store."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn

import pytest

from dagflow import wiring
from dagflow.service.plans import load_plan
from dagflow.settings import Settings

FOLDER = Path(__file__).resolve().parents[2] / "workflows"
NAMES = sorted(p.stem for p in FOLDER.glob("*.yaml") if "." not in p.stem)

During = Callable[[wiring.Runtime, str], Awaitable[None]]


def lacking(reason: str) -> NoReturn:
    """Skip the test, or fail it where CI is true, since there everything is installed."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@cache
def service(name: str) -> type[BaseHTTPRequestHandler]:
    """Return the request handler of `workflows/services/<name>.py`."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / "services" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: type[BaseHTTPRequestHandler] = getattr(module, name.capitalize())
    return found


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on a free port of loopback; give host and port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@dataclass(frozen=True)
class Ended:
    """A run that is over, as `dagflow run --format json` shows it."""

    view: Mapping[str, Any]

    @property
    def status(self) -> str:
        return self.view["run"]["status"]

    @property
    def outputs(self) -> Any:
        assert self.status == "succeeded", self.view["run"]["error"]
        return self.view["run"]["outputs"]

    @property
    def error(self) -> Any:
        return self.view["run"]["error"]

    def state(self, step: str) -> str:
        return self.view["steps"][step]["status"] if step in self.view["steps"] else "pending"


@dataclass
class Desk:
    """A copy of the workflows in which texts may be replaced, and a place for state."""

    folder: Path

    def __post_init__(self) -> None:
        shutil.copytree(FOLDER, self.folder, ignore=shutil.ignore_patterns("services"))

    def replace(self, name: str, old: str, new: str) -> None:
        """Change a file of the copy; what is to be replaced must be there."""
        path = self.folder / name
        text = path.read_text()
        assert old in text, f"{name} has no {old!r} any more"
        path.write_text(text.replace(old, new))

    def run(
        self, name: str, during: During | None = None, *, wait: float = 120, **inputs: Any
    ) -> Ended:
        """Run a workflow to its end; `during` acts on it while it runs."""
        database = self.folder.parent / "runs.db"
        return run_file(self.folder / f"{name}.yaml", inputs, database, during, wait=wait)


def run_file(
    file: Path,
    inputs: dict[str, Any],
    database: Path,
    during: During | None = None,
    *,
    wait: float = 120,
) -> Ended:
    """Run a workflow file to its end in this process, as `dagflow run` does."""
    return asyncio.run(_run(str(file), inputs, database, during, wait))


async def _run(
    file: str, inputs: dict[str, Any], database: Path, during: During | None, wait: float
) -> Ended:
    plan = load_plan(file).plan
    assert plan is not None, f"{file} does not compile"
    settings = Settings(database=f"sqlite:///{database}")
    await wiring.require(plan, settings)
    async with wiring.runtime(settings, module_paths=wiring.module_folders([plan])) as running:
        run_id = running.runs.submit(plan, inputs)
        async with asyncio.timeout(wait):
            if during is not None:
                await during(running, run_id)
            await running.engine.wait(run_id)
        return Ended(running.runs.show(run_id))


async def until_waiting(running: wiring.Runtime, run_id: str, step: str) -> None:
    """Come back when a step waits."""
    while not _state(running, run_id, step).startswith("waiting"):
        assert not running.runs.get(run_id).state.is_final, running.runs.show(run_id)
        await asyncio.sleep(0.02)


def _state(running: wiring.Runtime, run_id: str, step: str) -> str:
    record = running.runs.get(run_id).steps.get(step)
    return record.state if record is not None else "pending"


def answering(step: str, *, approve: bool) -> During:
    """Answer the approval of a step when it is asked for."""

    async def during(running: wiring.Runtime, run_id: str) -> None:
        await until_waiting(running, run_id, step)
        (asked,) = running.runs.approvals(run_id)
        running.runs.decide(asked.id, approve=approve, by="ann", comment="looked at it")

    return during


def signalling(step: str, name: str, payload: Any) -> During:
    """Send a signal when a step waits for it."""

    async def during(running: wiring.Runtime, run_id: str) -> None:
        await until_waiting(running, run_id, step)
        running.runs.signal(run_id, name, payload)

    return during
