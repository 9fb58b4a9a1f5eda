"""Workflows from YAML to their end: compiled, then worked on by the embedded engine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dagflow.core.clock import Clock, SystemClock
from dagflow.core.errors import StepError
from dagflow.core.findings import Finding, Severity
from dagflow.core.plan import Plan
from dagflow.core.run import Run
from dagflow.core.source import Source
from dagflow.core.values import JsonValue
from dagflow.executor.dispatch.inline import InlineDispatcher
from dagflow.executor.engine import Engine
from dagflow.executor.recovery import recover
from dagflow.executor.steps import WORK
from dagflow.executor.steps.base import Attempt, StepContext
from dagflow.executor.worker import Worker
from dagflow.service.bundle import Bundle, Document
from dagflow.service.check import Checked, check
from dagflow.service.runs import Runs
from dagflow.store.base import RunStore
from dagflow.store.memory import MemoryRunStore
from dagflow.store.schema import opened
from dagflow.tools.egress import Egress
from dagflow.tools.http import PooledClient

LIMIT = 30.0
"""Seconds after which a run that does not end has failed the test."""

Does = Callable[[Attempt, StepContext], Awaitable[JsonValue]]
SCRIPTED = ("python", "shell", "llm")


def checked(text: str, **documents: str) -> Checked:
    """Check a workflow with the documents of its tools."""
    tools = {name: Document(text=document, location=name) for name, document in documents.items()}
    source = Source("flow.yaml", text)
    return check(Bundle(source=source, folder=Path(), documents=tools))


def compiled(text: str, **documents: str) -> Plan:
    """Return the plan, or fail with what is wrong."""
    found = checked(text, **documents)
    assert found.plan is not None, [f"{f.code} {f.message}" for f in found.report.findings]
    return found.plan


def errors(text: str) -> list[Finding]:
    """Return the errors of a workflow."""
    return [f for f in checked(text).report.findings if f.severity is Severity.ERROR]


@dataclass
class Script:
    """What python, shell and llm steps do, by run path or name; `done` is every attempt's path.

    An entry is a value, an error to raise, or a coroutine function. A step without an entry gives
    its arguments back.
    """

    entries: Mapping[str, Any] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    async def __call__(self, attempt: Attempt, context: StepContext) -> JsonValue:
        """Do what is written."""
        self.done.append(attempt.path)
        name = attempt.path.rpartition(".")[2]
        entry = self.entries.get(attempt.path, self.entries.get(name, attempt.arguments))
        if isinstance(entry, StepError):
            raise entry
        return await entry(attempt, context) if callable(entry) else entry

    @property
    def work(self) -> dict[str, Does]:
        """Return the table of a worker."""
        return {**WORK, **dict.fromkeys(SCRIPTED, self)}


def failing(error_class: Any = "user", message: str = "as told") -> StepError:
    """Return an error for a script."""
    return StepError(error_class, message)


class House:
    """What one process holds: an engine over a store, and a worker."""

    def __init__(
        self,
        store: RunStore | None = None,
        *,
        script: Script | None = None,
        clock: Clock | None = None,
        secrets: Mapping[str, str] | None = None,
        concurrency: int = 8,
    ) -> None:
        self.store = store or MemoryRunStore()
        self.script = script or Script()
        self.doorbell = InlineDispatcher()
        self.engine = Engine(self.store, self.doorbell, clock=clock or SystemClock())
        self.runs = Runs(self.engine)
        self._secrets = secrets or {}
        self._concurrency = concurrency

    @asynccontextmanager
    async def at_work(self, *, taking_up: bool = False) -> Any:
        """Work; at first `taking_up` what others left."""
        http = PooledClient()
        worker = Worker(
            self.engine,
            self.doorbell,
            work=self.script.work,
            services={"http": http, "egress": Egress(loopback=True)},
            secrets=self._secrets.get,
            concurrency=self._concurrency,
        )
        try:
            async with worker:
                if taking_up:
                    recover(self.engine)
                yield self
        finally:
            await http.close()

    async def end(self, run_id: str, limit: float = LIMIT) -> Run:
        """Return the run when it is over."""
        return await asyncio.wait_for(self.engine.wait(run_id), limit)


def ran(plan: Plan, inputs: Any = None, *, limit: float = LIMIT, **options: Any) -> Run:
    """Run a plan to its end within `limit` seconds. `options` are those of `House`."""

    async def whole() -> Run:
        house = House(**options)
        async with house.at_work():
            return await house.end(house.runs.submit(plan, inputs or {}), limit)

    return asyncio.run(whole())


async def eventually(holds: Callable[[], object]) -> None:
    """Wait until something holds, or fail."""
    async with asyncio.timeout(LIMIT):
        while not holds():  # noqa: ASYNC110  # what is waited for sets no event
            await asyncio.sleep(0.005)


@contextmanager
def sqlite(folder: Path) -> Iterator[RunStore]:
    """Give a store in a file, anew each time."""
    store = opened(f"sqlite:///{folder}/dagflow.db")
    try:
        yield store
    finally:
        store.close()


def states(run: Run, *names: str) -> dict[str, str]:
    """Return the states of steps."""
    return {name: run.steps[name].state if name in run.steps else "pending" for name in names}
