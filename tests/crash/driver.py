"""A whole embedded run in a process of its own, with a ledger of its effects outside."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path

from dagflow.core.run import Decide, Run
from dagflow.core.values import JsonValue
from dagflow.executor.faults import VARIABLE, from_environment
from dagflow.executor.recovery import recover
from dagflow.executor.steps.base import Attempt, StepContext
from dagflow.store.schema import opened
from tests.contract.engines import Bench
from tests.contract.plans import approve, child, foreach, plan, step, wait

INNER = plan(step("x"), step("y", "x"), name="inner")
PLAN = plan(
    step("a"),
    foreach("loop", "a", [1, 2, 3], step("loop.item")),
    child("call", "a", INNER),
    wait("pause", "a", 0.02),
    step("z", "loop call pause"),
)
ASKING = plan(step("a"), approve("ok", "a"), wait("pause", "ok", 0.02), step("z", "pause"))
PLANS = {"whole": PLAN, "asking": ASKING}


opened("sqlite:///:memory:").close()  # the processes that are forked from here find it all loaded


class Files:
    """Where a crash test keeps its database and its ledger."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder}/dagflow.db"
        self._ledger = folder / "ledger"

    def effects(self) -> list[str]:
        """Return the paths of the steps whose effect happened, in order, one entry a time."""
        return self._ledger.read_text().split() if self._ledger.exists() else []

    def happen(self, name: str) -> None:
        """Let an effect happen: it is on the disk when this returns."""
        handle = os.open(self._ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, f"{name}\n".encode())
        os.fsync(handle)
        os.close(handle)


def start(folder: Path, fault: str = "", name: str = "whole") -> None:
    """Start a run and work on it to its end."""
    asyncio.run(_work(folder, fault, name))


def go_on(folder: Path, fault: str = "") -> None:
    """Recover every run and work on them to their end."""
    asyncio.run(_work(folder, fault, ""))


def decide(folder: Path) -> None:
    """Approve whatever waits for a person."""
    store = opened(Files(folder).url)
    bench = Bench(store)
    for asked in store.approvals():
        answer = Decide(
            path=asked.path, approve=True, by="me", arguments=str(asked.body["data"]["hash"])
        )
        assert not bench.engine.handle(asked.run_id, answer).refused
    store.close()


async def _work(folder: Path, fault: str, name: str) -> None:
    files = Files(folder)
    os.environ[VARIABLE] = fault
    reach = from_environment()
    store = opened(files.url, reach=reach)
    bench = Bench(store, reach=reach)
    async with bench.worker(partial(_effect, files)):
        if name:
            bench.start(PLANS[name])
        else:
            recover(bench.engine)
        if "r1" in store.versions(["r1"]):
            await bench.finish("r1")
    store.close()


async def _effect(files: Files, attempt: Attempt, context: StepContext) -> JsonValue:
    files.happen(f"{attempt.run_id if attempt.run_id == 'r1' else 'child'}:{attempt.path}")
    return attempt.path


def outcome(folder: Path) -> Run:
    """Return the run as its log makes it."""
    store = opened(Files(folder).url)
    run = Bench(store).engine.run("r1")
    store.close()
    return run


def finished(folder: Path) -> set[str]:
    """Return the steps that are recorded as succeeded, named as in the ledger."""
    store = opened(Files(folder).url)
    found = set()
    for run_id in [run.id for run in store.children("r1")] + ["r1"]:
        name = "r1" if run_id == "r1" else "child"
        found |= {f"{name}:{s.path}" for s in store.steps(run_id) if s.state == "succeeded"}
    store.close()
    return found
