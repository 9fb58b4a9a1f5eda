"""A process that sweeps takes back a lease that it never saw claimed."""

from __future__ import annotations

from datetime import timedelta

from dagflow.core.clock import FakeClock
from dagflow.executor.dispatch.inline import InlineDispatcher
from dagflow.executor.engine import Claimant, Engine
from dagflow.executor.recovery import sweep
from dagflow.store.memory import MemoryRunStore
from tests.property.driving import compiled

PLAN = """\
dagflow: 1
name: it
inputs: {n: integer}
steps:
  a: {python: 'def main(): return 1', output: integer}
outputs: {x: "${{ steps.a.output }}"}
"""


def test_lease_that_another_process_took_is_taken_back_after_its_end() -> None:
    store, clock = MemoryRunStore(), FakeClock()
    sweeper, dying = (Engine(store, InlineDispatcher(), clock=clock) for _ in range(2))
    plan = compiled(PLAN)
    assert plan is not None
    sweeper.submit(plan, {"n": 1}, run_id="run_1")
    claimant = Claimant("w", clock.now() + timedelta(seconds=5), 1)
    assert dying.claim("run_1", ["a"], claimant).attempts
    clock.advance(timedelta(seconds=6))

    sweep(sweeper, everything=True)

    assert [ready.path for ready in store.ready()] == ["a"]
