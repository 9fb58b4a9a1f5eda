"""Drives a run and the reference beside it: claims, reports, lost leases, time."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dagflow.core.plan import Plan
from dagflow.core.run import (
    Begin,
    Cancel,
    Change,
    Claim,
    Decision,
    Event,
    Fail,
    LoseLease,
    Run,
    StepFailure,
    StepRecord,
    Succeed,
    Tick,
)
from dagflow.core.values import JsonValue
from dagflow.executor.decide import decide, next_wake
from tests.property.driving import START
from tests.property.loops.happened import AmbiguousError, History, Report, Seen, Stop, TimeOut
from tests.property.loops.parts import LoopFlow
from tests.property.loops.reference import Story

AT_WORK = {"ready", "running", "waiting(backoff)", "waiting(child)"}


def shown(state: str) -> str:
    """Return a state as the reference knows it, which tells no states of being at work apart."""
    return "open" if state in AT_WORK else state


@dataclass
class World:
    """A run of a plan, and the history that the reference works from.

    `void` are reports that must not count any more; `lost` the steps whose last lease was lost.
    """

    plan: Plan
    flow: LoopFlow
    now: datetime = START
    changes: list[Change] = field(default_factory=list)
    history: History = field(default_factory=list)
    void: list[Event] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    story: Story = field(init=False)

    def __post_init__(self) -> None:
        inputs: dict[str, JsonValue] = {"n": self.flow.n, "xs": list(self.flow.xs)}
        self.run = Run(id="run_1", root="run_1", plan=self.plan.digest, inputs=inputs)
        self.take(Begin())
        self.tell()

    def take(self, event: Event) -> Decision:
        decision = decide(self.plan, self.run, event, self.now)
        for change in decision.changes:
            self.run.apply(change)
            self.changes.append(change)
        return decision

    def tell(self, *entries: Report | TimeOut | Stop) -> None:
        """Let the reference know, once the engine does."""
        self.pass_backoffs()
        self.history += entries
        self.story = Story(self.flow, self.history)

    def pass_backoffs(self) -> None:
        while any(self.run.steps[path].state == "waiting(backoff)" for path in self.run.active):
            wake = next_wake(self.plan, self.run)
            assert wake is not None
            self.now = max(self.now, wake)
            self.take(Tick())

    # ── what can be done next ─────────────────────────────────────────────────────────────────

    def in_state(self, *states: str) -> list[str]:
        return sorted(path for path in self.run.active if self.run.steps[path].state in states)

    def ready(self) -> list[str]:
        return self.in_state("ready")

    def running(self) -> list[str]:
        return self.in_state("running")

    def timed(self) -> list[tuple[datetime, str]]:
        """Return the loops whose time can be over, the first ones first."""
        found = []
        for path in self.in_state("waiting(child)"):
            due = self.run.steps[path].due
            if due is not None:
                found.append((due, path))
        return sorted(found)

    # ── doing it ──────────────────────────────────────────────────────────────────────────────

    def claim(self, path: str) -> None:
        until = self.now + timedelta(seconds=30)
        assert not self.take(Claim(path=path, worker="w", until=until)).refused

    def report(self, path: str, ending: str) -> None:
        """Let the running attempt end; a good one gives a number made from its arguments."""
        record = self.run.steps[path]
        output = worked(record.input)
        event: Event = Succeed(path=path, token=record.token, output=output)
        if ending == "lost":
            event = LoseLease(path=path, token=record.token)
        elif ending != "ok":
            error = StepFailure(error_class=ending, message="scripted")  # type: ignore[arg-type]
            event = Fail(path=path, token=record.token, error=error)
        assert not self.take(event).refused
        self.void.append(event)
        (self.lost.add if ending == "lost" else self.lost.discard)(path)
        self.tell(Report(path, ending, output))

    def release(self, path: str) -> None:
        """Give a lease back, which counts nowhere."""
        token = self.run.steps[path].token
        assert not self.take(LoseLease(path=path, token=token, released=True)).refused

    def report_again(self, report: Event) -> None:
        """Report what was reported before, or by one that was stopped: it is void."""
        decision = self.take(report)
        assert decision.refused
        assert decision.changes == ()

    def time_out(self) -> None:
        """Let a second more pass than it takes the first loop's time to be over.

        So what is due within milliseconds goes off at once, and not in a backoff after it.
        """
        self.now = self.timed()[0][0] + timedelta(seconds=1)
        cut: list[str] = []
        for due, path in self.timed():
            if due <= self.now and not is_inside(path, cut):
                cut.append(path)
        if self.flow.stops and len(cut) > 1:
            raise AmbiguousError  # one could stop the run in the moment before another's retry
        self.void += [
            Succeed(path=path, token=self.run.steps[path].token, output={"v": 1})
            for path in self.running()
            if is_inside(path, cut)
        ]
        self.take(Tick())
        self.tell(*(TimeOut(path) for path in cut))

    def cancel(self) -> None:
        assert not self.take(Cancel()).refused
        self.tell(Stop())

    def finish(self) -> list[str]:
        """Let the compensations run, and return the steps that they undo, in their order."""
        undone = []
        while not self.run.state.is_final:
            (path,) = self.ready()
            undone.append(path.removesuffix(".compensate"))
            self.claim(path)
            self.take(Succeed(path=path, token=self.run.steps[path].token, output=1))
        return undone

    # ── comparing ─────────────────────────────────────────────────────────────────────────────

    def differences(self) -> list[tuple[str, dict[str, JsonValue], dict[str, JsonValue]]]:
        """Return where the engine's steps and the reference's differ: path, engine's, other's."""
        paths = {path for path in self.run.steps if not path.endswith(".compensate")}
        found = []
        for path in sorted(paths | set(self.story.seen)):
            seen = self.story.seen.get(path, Seen())
            ours = facts(seen.state, seen.output, seen.error, list(seen.errors))
            theirs = self._facts(path)
            if seen.state == "open":
                ours["given"] = {f"r{index}": value for index, value in enumerate(seen.given)}
            if theirs != ours:
                found.append((path, theirs, ours))
        return found

    def _facts(self, path: str) -> dict[str, JsonValue]:
        record = self.run.steps.get(path) or StepRecord(path=path)
        error = record.error.error_class if record.error else ""
        indices = [it["index"] for it in record.errors or ()]  # type: ignore[union-attr,index,call-overload]
        found = facts(shown(record.state), record.output, error, indices)
        if found["state"] == "open":
            given = record.input["with"]  # type: ignore[index,call-overload]
            found["given"] = given or {}
        return found


def facts(
    state: str, output: JsonValue, error: str, errors: list[JsonValue]
) -> dict[str, JsonValue]:
    """Return what is to be equal of a step in this state."""
    found: dict[str, JsonValue] = {"state": state}
    if state == "succeeded":
        found["output"] = output
    if state in {"failed", "timed_out"}:
        found["error"] = error
    if state in {"succeeded", "failed", "timed_out"}:
        found["errors"] = errors
    return found


def is_inside(path: str, loops: list[str]) -> bool:
    """Tell whether a step stands inside one of these loops."""
    return any(path.startswith(f"{loop}[") for loop in loops)


def worked(given: JsonValue) -> JsonValue:
    """Return what a step of the tests makes of its arguments: a small number."""
    text = json.dumps(given, sort_keys=True)
    return {"v": hashlib.sha256(text.encode()).digest()[0] % 5}
