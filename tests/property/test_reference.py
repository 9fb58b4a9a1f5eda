"""The engine and an interpreter written from the language's description agree."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from dagflow.core.run import Run
from dagflow.executor.replay import replay
from tests.property.driving import Driver, compiled
from tests.property.flows import flows, to_yaml
from tests.property.reference import Flow, Reference

FULL = os.environ.get("DAGFLOW_FULL") == "1"
COUNT = settings(
    max_examples=5000 if FULL else 300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def top(run: Run, flow: Flow) -> dict[str, str]:
    """Return the state of each step; a step that nothing happened to has no record yet."""
    names = [step.name for step in flow.steps]
    return {name: run.steps[name].state if name in run.steps else "pending" for name in names}


def finish_cleanup(driver: Driver) -> list[str]:
    """Let compensation and `finally` run, and return the compensated steps in their order."""
    done = []
    while not driver.run.state.is_final:
        ready = sorted(driver.ready())
        assert ready, f"nothing is ready, and the run is {driver.run.state}"
        for path in ready:
            if path.endswith(".compensate"):
                done.append(path.removesuffix(".compensate"))
            driver.deliver(path, "ok")
    return done


def together(flow: Flow, driver: Driver, data: st.DataObject, *, cancel_at: int = -1) -> Reference:
    """Deliver the same attempts to both in the same random order, comparing at every point."""
    reference = Reference(flow)
    reference.start()
    names = {step.name for step in flow.steps}
    for turn in range(100):
        if turn == cancel_at and not driver.run.state.is_final and driver.ready() & names:
            driver.cancel()
            reference.cancel()
        ready = reference.ready()
        assert driver.ready() & names == ready
        assert top(driver.run, flow) == reference.states()
        if not ready:
            break
        name = data.draw(st.sampled_from(sorted(ready)))
        attempts = reference.seen[name].attempts
        script = flow.step(name).script
        driver.deliver(name, script[min(attempts, len(script) - 1)])
        reference.deliver(name)
    return reference


@COUNT
@given(flow=flows(), data=st.data())
def test_engine_and_reference_agree_at_every_point(flow: Flow, data: st.DataObject) -> None:
    plan = compiled(to_yaml(flow), prune=False)
    assume(plan is not None)
    assert plan is not None
    driver = Driver(plan, {"n": flow.n})

    cancel_at = data.draw(st.sampled_from([-1, -1, -1, 0, 1, 2]))
    reference = together(flow, driver, data, cancel_at=cancel_at)
    outcome = reference.finish()

    assert finish_cleanup(driver) == reference.compensated
    assert driver.run.state.value == outcome
    if flow.finally_:
        assert driver.run.steps["tidy"].state == "succeeded"
    event(outcome)


@COUNT
@given(flow=flows(), data=st.data())
def test_replaying_the_log_gives_the_same_run(flow: Flow, data: st.DataObject) -> None:
    plan = compiled(to_yaml(flow))
    assume(plan is not None)
    assert plan is not None
    driver = Driver(plan, {"n": flow.n})
    while ready := sorted(driver.ready()):
        ending = data.draw(st.sampled_from(["ok", "ok", "timeout", "user"]))
        driver.deliver(data.draw(st.sampled_from(ready)), ending)

    start = Run(id="run_1", root="run_1", plan=plan.digest, inputs=driver.run.inputs)

    assert replay(start, driver.changes) == driver.run
