"""What holds of parents and their child runs when several processes act on them."""

from __future__ import annotations

from dagflow.core.errors import UnavailableError
from dagflow.core.run import Decide, RunState
from dagflow.core.values import JsonValue
from dagflow.executor.children import perform
from dagflow.executor.steps.base import Attempt, StepContext
from dagflow.store.base import RunStore
from tests.contract.engines import Bench
from tests.contract.plans import approve, child, plan, step

INNER = plan(step("x"), name="inner")
NESTED = plan(child("deep", "", INNER), name="nested")


async def named(attempt: Attempt, context: StepContext) -> JsonValue:
    return attempt.path


def decide(bench: Bench) -> None:
    """Approve what waits for a person, as a process that works on no steps."""
    (asked,) = bench.store.approvals()
    answer = Decide(path="ok", approve=True, by="me", arguments=str(asked.body["data"]["hash"]))
    assert bench.engine.handle(asked.run_id, answer).refused == ()


async def test_a_child_that_another_process_started_is_taken_up_with_its_children(
    store: RunStore,
) -> None:
    bench = Bench(store)
    async with bench.worker(named):
        bench.start(plan(approve("ok", ""), child("call", "ok", NESTED)))
        decide(Bench(store))
        run = await bench.finish()

    assert run.state is RunState.SUCCEEDED


class Slow(Bench):
    """A process that has stored that a child is to be started, and hasn't started it yet."""

    def __init__(self, store: RunStore) -> None:
        super().__init__(store, reach=self._reach)
        self.goes_on = False

    def _reach(self, point: str) -> None:
        if point == "before-child" and not self.goes_on:
            raise UnavailableError("not yet")


async def test_a_child_that_comes_after_its_parent_was_looked_at_is_taken_up(
    store: RunStore,
) -> None:
    bench, slow = Bench(store), Slow(store)
    async with bench.worker(named) as worker:
        bench.start(plan(approve("ok", ""), child("call", "ok", INNER)))
        decide(slow)
        worker.look()
        slow.goes_on = True
        (message,) = store.outbox()
        perform(slow.engine, message)
        run = await bench.finish()

    assert run.state is RunState.SUCCEEDED
