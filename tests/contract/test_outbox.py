"""What a crash between the commit and the bell costs: nothing but a little time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from dagflow.core.clock import FakeClock
from dagflow.core.run import RunState
from dagflow.core.values import JsonValue
from dagflow.executor.recovery import UNCLAIMED, UNSENT
from dagflow.executor.steps.base import Attempt, StepContext
from dagflow.store.base import RunStore
from dagflow.store.rows import MessageKey
from tests.contract.engines import Bench, Gate, eventually
from tests.contract.plans import plan, step


async def named(attempt: Attempt, context: StepContext) -> JsonValue:
    return attempt.path


async def test_a_step_that_was_rung_for_and_waits_is_noted_as_sent(store: RunStore) -> None:
    bench, gate = Bench(store), Gate()
    async with bench.worker(gate, concurrency=1) as worker:
        bench.start(plan(step("a"), step("b")))
        await eventually(lambda: gate.entered)
        assert [key.path for key in store.outbox()] == ["b"]

        worker.look()

        assert store.outbox() == ()
        assert [row.path for row in store.ready()] == ["b"]


async def test_bells_that_were_answered_are_not_written_again(store: RunStore) -> None:
    noting = Noting(store)
    bench = Bench(noting)
    async with bench.worker(named) as worker:
        bench.start(plan(step("a"), step("b"), step("c", "a b")))
        await bench.finish()
        worker.look()

    assert noting.sent == []


class Noting:
    """A store that notes what is marked as sent."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self.sent: list[MessageKey] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def mark_sent(self, keys: Sequence[MessageKey], at: datetime) -> None:
        self.sent.extend(keys)
        self._store.mark_sent(keys, at)


async def test_a_bell_that_was_never_rung_is_rung_by_a_worker_for_everything(
    store: RunStore,
) -> None:
    clock = FakeClock()
    Bench(store, clock).start(plan(step("a")))  # and dies before it rings
    bench = Bench(store, clock)
    async with bench.worker(named, everything=True) as worker:
        clock.advance(UNSENT - timedelta(seconds=1))
        worker.sweep()
        assert bench.doorbell.is_empty

        clock.advance(timedelta(seconds=1))
        assert UNSENT < UNCLAIMED
        worker.sweep()
        run = await bench.finish()

    assert run.state is RunState.SUCCEEDED


async def test_a_bell_that_was_rung_is_left_to_who_heard_it(store: RunStore) -> None:
    clock = FakeClock()
    busy, gate = Bench(store, clock), Gate()
    async with busy.worker(gate, concurrency=1) as worker:
        busy.start(plan(step("a"), step("b")))
        await eventually(lambda: gate.entered)
        worker.look()
        other = Bench(store, clock)
        async with other.worker(named, everything=True) as idle:
            clock.advance(UNSENT)
            idle.sweep()
            assert other.doorbell.is_empty

            clock.advance(UNCLAIMED - UNSENT + timedelta(seconds=1))
            idle.sweep()
            await eventually(lambda: other.store.ready() == ())
