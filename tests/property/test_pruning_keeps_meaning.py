"""Pruning changes nothing that can be observed: outcome, outputs, what was done and what not."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from dagflow.core.plan import Plan
from tests.property.driving import Driver, compiled
from tests.property.flows import flows, to_yaml
from tests.property.reference import Flow

FULL = os.environ.get("DAGFLOW_FULL") == "1"


def with_outputs(flow: Flow, names: list[str]) -> str:
    lines = [f"  {name}: ${{{{ steps.?{name}.output.?v.orValue(-1) }}}}" for name in names]
    outputs = "\n".join(["outputs:", *lines]) if lines else "outputs: {}"
    return to_yaml(flow).replace("outputs: {}", outputs)


def played(plan: Plan, flow: Flow, order: list[str]) -> tuple[Driver, list[tuple[str, str]]]:
    """Run a plan to its end, always delivering the ready step that comes first in `order`."""
    driver = Driver(plan, {"n": flow.n})
    done: list[tuple[str, str]] = []
    attempts: dict[str, int] = {}
    while ready := driver.ready():
        path = min(ready, key=lambda it: (order.index(it) if it in order else -1, it))
        script = flow.step(path).script if path in order else ("ok",)
        ending = script[min(attempts.get(path, 0), len(script) - 1)]
        attempts[path] = attempts.get(path, 0) + 1
        done.append((path, ending))
        driver.deliver(path, ending)
    return driver, done


def followed(plan: Plan, flow: Flow, done: list[tuple[str, str]]) -> Driver:
    """Run a plan in the way that another was run: each step must be ready when it was there."""
    driver = Driver(plan, {"n": flow.n})
    for path, ending in done:
        assert path in driver.ready()
        driver.deliver(path, ending)
    assert not driver.ready()
    return driver


@settings(
    max_examples=5000 if FULL else 120,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(flow=flows(), data=st.data())
def test_a_pruned_plan_does_what_the_whole_plan_does(flow: Flow, data: st.DataObject) -> None:
    names = [step.name for step in flow.steps]
    work = [step.name for step in flow.steps if not step.is_switch]
    read = data.draw(st.lists(st.sampled_from(work), max_size=2, unique=True)) if work else []
    text = with_outputs(flow, read)
    pruned, whole = compiled(text), compiled(text, prune=False)
    assume(pruned is not None)
    assert pruned is not None
    assert whole is not None
    order = data.draw(st.permutations(names))

    more, done = played(whole, flow, order)
    less = followed(pruned, flow, done)  # in its own order a step may be ready sooner

    assert less.run.state is more.run.state
    assert less.run.outputs == more.run.outputs
    left = {path: record.state for path, record in less.run.steps.items()}
    assert left == {p: r.state for p, r in more.run.steps.items() if p in left}
    event("something was pruned" if len(pruned.steps) < len(whole.steps) else "nothing was")


RECOVERED = """
dagflow: 1
name: recovered
inputs: {n: integer}
steps:
  s:
    switch:
      - {when: 1 / inputs.n > 0, then: a}
      - {when: "true", then: b}
      - {else: c}
    on_error: [{continue: {branch: %s}}]
  a: {transform: '1'}
  b: {transform: '2'}
  c: {transform: '3'}
outputs:
  all: ${{ [steps.?a.output.orValue(0), steps.?b.output.orValue(0), steps.?c.output.orValue(0)] }}
"""


@pytest.mark.parametrize(
    ("branch", "taken"),
    [("0", {"a"}), ("2", {"c"}), ("null", set()), ("'${{ inputs.n + 2 }}'", {"c"})],
)
@pytest.mark.parametrize("prune", [True, False])
def test_branch_that_a_failed_switch_goes_on_with_is_taken(
    branch: str, taken: set[str], prune: bool
) -> None:
    plan = compiled(RECOVERED % branch, prune=prune)
    assert plan is not None

    driver = Driver(plan, {"n": 0})

    assert driver.ready() == taken
