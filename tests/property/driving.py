"""Drives the engine's pure core beside the reference, one delivered attempt at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from dagflow.compiler import compile_workflow
from dagflow.core.plan import Plan
from dagflow.core.run import (
    Begin,
    Cancel,
    Change,
    Claim,
    Event,
    Fail,
    Run,
    StepFailure,
    Succeed,
    Tick,
)
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog
from dagflow.executor.decide import decide, next_wake

START = datetime(2026, 1, 1, tzinfo=UTC)


def compiled(text: str, *, prune: bool = True) -> Plan | None:
    """Return the plan of a workflow text, or None when it is refused."""
    return compile_workflow(Source("generated.yaml", text), ToolCatalog(), prune=prune).plan


@dataclass
class Driver:
    """A run of a plan: events in, changes folded and kept."""

    plan: Plan
    inputs: dict[str, int]
    now: datetime = START
    changes: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.run = Run(id="run_1", root="run_1", plan=self.plan.digest, inputs=self.inputs)
        self.take(Begin())

    def take(self, event: Event) -> None:
        decision = decide(self.plan, self.run, event, self.now)
        for change in decision.changes:
            self.run.apply(change)
            self.changes.append(change)

    def ready(self) -> set[str]:
        return {path for path, it in self.run.steps.items() if it.state == "ready"}

    def deliver(self, path: str, ending: str) -> None:
        """Claim a ready step and let its attempt end; due timers go off afterwards."""
        until = self.now + timedelta(seconds=30)
        self.take(Claim(path=path, worker="w", until=until))
        record = self.run.steps[path]
        if ending == "ok":
            output = {"v": record.attempt} if "." not in path and path != "tidy" else 1
            self.take(Succeed(path=path, token=record.token, output=output))
        else:
            error = StepFailure(error_class=ending, message="scripted", attempt=record.attempt)  # type: ignore[arg-type]
            self.take(Fail(path=path, token=record.token, error=error))
        self.pass_time()

    def pass_time(self) -> None:
        """Let every backoff run out."""
        while any(it.state == "waiting(backoff)" for it in self.run.steps.values()):
            wake = next_wake(self.plan, self.run)
            assert wake is not None
            self.now = max(self.now, wake)
            self.take(Tick())

    def cancel(self) -> None:
        self.take(Cancel())
