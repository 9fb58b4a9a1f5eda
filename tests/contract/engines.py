"""An engine with a worker over each store, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from dagflow.core.clock import Clock, SystemClock
from dagflow.core.plan import Plan
from dagflow.core.run import Run
from dagflow.core.values import JsonValue
from dagflow.executor.decide import decide
from dagflow.executor.dispatch.inline import InlineDispatcher
from dagflow.executor.engine import Engine
from dagflow.executor.steps.base import Attempt, StepContext
from dagflow.executor.worker import Worker
from dagflow.store.base import RunStore
from dagflow.store.rows import Header
from tests.contract.plans import Plain

LIMIT = 20.0
"""Seconds after which a test that waits has failed."""

Work = Callable[[Attempt, StepContext], Awaitable[JsonValue]]


class Bench:
    """An engine with its doorbell. Each bench is what one process holds."""

    def __init__(self, store: RunStore, clock: Clock | None = None, **options: Any) -> None:
        self.store = store
        self.clock = clock or SystemClock()
        self.doorbell = InlineDispatcher()
        self.engine = Engine(
            store,
            self.doorbell,
            clock=self.clock,
            decide=partial(decide, evaluator=Plain()),
            **options,
        )

    def worker(self, work: Work | Mapping[str, Work], **options: Any) -> Worker:
        """Return a worker that does this work for every kind, or by kind."""
        kinds = work if isinstance(work, Mapping) else dict.fromkeys(KINDS, work)
        return Worker(self.engine, self.doorbell, work=kinds, **options)

    def start(self, plan: Plan, run_id: str = "r1", **fields: Any) -> str:
        """Start a run without checking inputs."""
        header = Header(
            id=run_id,
            plan=plan.digest,
            workflow=plan.name,
            workflow_version=plan.version,
            inputs=fields.pop("inputs", {}),
            root="",
            created_at=self.clock.now(),
        )
        return self.engine.start(plan, header, **fields)

    async def finish(self, run_id: str = "r1") -> Run:
        """Return the run when it is over."""
        return await asyncio.wait_for(self.engine.wait(run_id), LIMIT)


KINDS = ("python", "shell", "tool", "llm", "transform")


async def eventually(holds: Callable[[], object]) -> None:
    """Wait until something holds, or fail."""
    async with asyncio.timeout(LIMIT):
        while not holds():  # noqa: ASYNC110  # what is waited for sets no event
            await asyncio.sleep(0.005)


class Gate:
    """Work that waits until it is let through; counts what entered."""

    def __init__(self) -> None:
        self.entered: list[Attempt] = []
        self.stopped: list[Attempt] = []
        self._open = asyncio.Event()

    def open(self) -> None:
        """Let everything through."""
        self._open.set()

    async def __call__(self, attempt: Attempt, context: StepContext) -> JsonValue:
        """Enter, and wait."""
        self.entered.append(attempt)
        try:
            await self._open.wait()
        except asyncio.CancelledError:
            self.stopped.append(attempt)
            raise
        return attempt.path
