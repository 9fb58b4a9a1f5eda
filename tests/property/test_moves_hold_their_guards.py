"""The guard that the plan lists for a move is true, as CEL, whenever the engine makes the move."""

from __future__ import annotations

import os
from copy import deepcopy
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dagflow.core.plan import Constraint
from dagflow.core.run import Claim, Event, LoseLease, Run, StepChanged, StepRecord
from dagflow.executor.decide import decide, step_view
from dagflow.executor.machine.retry import lost_of
from dagflow.expr import Checked, Scope, check
from dagflow.expr.evaluate import evaluate
from tests.property.driving import Driver, compiled
from tests.property.flows import flows, to_yaml
from tests.property.reference import Flow

FULL = os.environ.get("DAGFLOW_FULL") == "1"


class WatchedDriver(Driver):
    """Holds every move against its guard, on the run as it was just before the move."""

    def take(self, event: Event) -> None:
        decision = decide(self.plan, self.run, event, self.now)
        for change in decision.changes:
            if isinstance(change, StepChanged) and change.before != change.after:
                self.check(change)
            self.run.apply(change)

    def deliver(self, path: str, ending: str) -> None:
        if ending not in {"lost", "released"}:
            super().deliver(path, ending)
            return
        self.take(Claim(path=path, worker="w", until=self.now + timedelta(seconds=30)))
        token = self.run.steps[path].token
        self.take(LoseLease(path=path, token=token, released=ending == "released"))
        self.pass_time()

    def check(self, change: StepChanged) -> None:
        (listed,) = [
            it
            for it in self.plan.constraints
            if (it.step, it.before, it.after) == (change.path, change.before, change.after)
        ]
        if change.after != "cancelled":
            assert is_true(listed, self.scope(change)), f"{listed}: {change}"

    def scope(self, change: StepChanged) -> dict[str, Any]:
        record = deepcopy(self.run.steps.get(change.path) or StepRecord(path=change.path))
        due = record.due
        for name, value in change.set.items():
            setattr(record, name, value)
        views = {step.path: view_in(self.run, step.path) for step in self.plan.steps}
        scope: dict[str, Any] = {
            "steps": views,
            "inputs": self.run.inputs,
            "attempt": record.attempt,
            "lost": lost_of(record),
            "now": change.at.timestamp(),
            "due": due.timestamp() if due else 0.0,
            "error": {},
        }
        if record.error is not None:
            scope["error"] = {"class": record.error.error_class, "message": record.error.message}
        return scope


def view_in(run: Run, path: str) -> dict[str, Any]:
    return dict(step_view(run.steps.get(path) or StepRecord(path=path)))


def is_true(listed: Constraint, scope: dict[str, Any]) -> bool:
    checked = check(listed.guard, Scope(dict.fromkeys(scope, True)))
    assert isinstance(checked, Checked), f"{listed.guard}: {checked}"
    return evaluate(checked.expression(1, 1), scope) is True


@settings(
    max_examples=3000 if FULL else 150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(flow=flows(), data=st.data())
def test_every_move_holds_its_guard(flow: Flow, data: st.DataObject) -> None:
    plan = compiled(to_yaml(flow))
    assume(plan is not None)
    assert plan is not None
    driver = WatchedDriver(plan, {"n": flow.n})

    turns = 0
    while ready := sorted(driver.ready()):
        turns += 1
        taken_back = ["lost", "released"] if turns < 20 else []  # or a run might have no end
        endings = ["ok", "ok", "timeout", "network", "user", *taken_back]
        ending = data.draw(st.sampled_from(endings))
        driver.deliver(data.draw(st.sampled_from(ready)), ending)

    assert driver.run.state.is_final
