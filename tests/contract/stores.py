"""The stores under the contract suite, and what the suite fills them with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dagflow.core.plan import Plan, PlanStep
from dagflow.core.run import Change, Run, RunChanged, RunState, StepChanged
from dagflow.core.values import JsonValue
from dagflow.store.base import RunStore
from dagflow.store.memory import MemoryRunStore
from dagflow.store.rows import Batch, Header, IdempotencyKey, Message, MessageKey
from dagflow.store.schema import opened

STORES: dict[str, Callable[[Path], RunStore]] = {
    "memory": lambda _folder: MemoryRunStore(),
    "sqlite": lambda folder: opened(f"sqlite:///{folder}/dagflow.db"),
}

NOW = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
PLAN = Plan(
    name="p",
    version="1",
    steps=(PlanStep(path="a", kind="transform", action="format", effects="pure"),),
)


def after(seconds: float) -> datetime:
    """Return an instant some seconds after `NOW`."""
    return NOW + timedelta(seconds=seconds)


class Writer:
    """Makes batches of one run and appends them, as the engine does."""

    def __init__(
        self,
        store: RunStore,
        run_id: str = "r1",
        *,
        at: datetime = NOW,
        parent: str = "",
        root: str = "",
        inputs: JsonValue = None,
        workflow: str = "p",
    ) -> None:
        self.store = store
        self.at = at
        root = root or run_id
        self.run = Run(id=run_id, plan=PLAN.digest, inputs=inputs, root=root)
        self.header = Header(
            id=run_id,
            plan=PLAN.digest,
            workflow=workflow,
            inputs=inputs,
            root=root,
            parent=parent,
            created_at=at,
        )

    def create(
        self,
        key: IdempotencyKey | None = None,
        wake_at: datetime | None = None,
        answers: MessageKey | None = None,
    ) -> str:
        """Create the run with the change that starts it."""
        self.store.put_plan(PLAN, NOW)
        begun = self.moved(RunState.RUNNING, started_at=self.at)
        batch = Batch(run=self.run, changes=(begun,), wake_at=wake_at)
        return self.store.create(self.header, batch, key=key, answers=answers)

    def moved(self, to: RunState, **fields: object) -> RunChanged:
        """Apply a change of the run and return it."""
        change = RunChanged(before=self.run.state, after=to, at=self.at, set=fields)
        self.run.apply(change)
        return change

    def stepped(self, path: str, to: str, **fields: object) -> StepChanged:
        """Apply a change of a step and return it."""
        record = self.run.steps.get(path)
        before = record.state if record else "pending"
        change = StepChanged(path=path, before=before, after=to, at=self.at, set=fields)
        self.run.apply(change)
        return change

    def append(
        self,
        *changes: Change,
        expected: int,
        messages: tuple[Message, ...] = (),
        settled: tuple[MessageKey, ...] = (),
        wake_at: datetime | None = None,
    ) -> int:
        """Append applied changes."""
        batch = Batch(
            run=self.run, changes=changes, messages=messages, settled=settled, wake_at=wake_at
        )
        return self.store.append(batch, expected_version=expected)
