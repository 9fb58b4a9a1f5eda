"""A run whose record can't be read is told apart, and holds up no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dagflow.core.clock import FakeClock
from dagflow.core.errors import DamagedError, IllegalMoveError
from dagflow.core.plan import Plan
from dagflow.core.run import Cancel, RunState
from dagflow.executor.recovery import UNCLAIMED, recover, sweep
from dagflow.store.base import RunStore
from dagflow.store.rows import Message, MessageKey, StoredRun
from tests.contract.engines import Bench, Gate, eventually
from tests.contract.plans import child, plan, step
from tests.contract.test_families import INNER, Dying, dying, named


class Damaged:
    """A store in which some runs can't be read."""

    def __init__(self, store: RunStore, *broken: str) -> None:
        self._store = store
        self.broken = broken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def load(self, run_id: str, *, after: int = 0) -> StoredRun:
        if run_id in self.broken:
            raise DamagedError(f"the record of run {run_id} can't be read")
        return self._store.load(run_id, after=after)


async def test_one_run_that_can_not_be_read_does_not_stop_the_recovery_of_the_others(
    store: RunStore,
) -> None:
    for name in ("r1", "r2", "r3"):
        Bench(store).start(plan(step("a")), name)

    bench = Bench(Damaged(store, "r1", "r2"))
    async with bench.worker(named):
        found = recover(bench.engine)
        run = await bench.finish("r3")

    assert run.state is RunState.SUCCEEDED
    assert found.runs == ("r1", "r2", "r3")
    assert sorted(found.broken) == ["r1", "r2"]
    assert "r1 can't be read" in str(found.broken["r1"])


async def test_a_run_that_waits_for_a_child_that_can_not_be_read_is_broken_too(
    store: RunStore,
) -> None:
    Bench(store).start(plan(child("call", "", INNER)))
    (row,) = store.children("r1")

    found = recover(Bench(Damaged(store, row.id)).engine, "r1")

    assert sorted(found.broken) == sorted(["r1", row.id])


async def test_a_child_that_can_not_be_read_fails_the_wait_for_its_parent(
    store: RunStore,
) -> None:
    Bench(store).start(plan(child("call", "", INNER)))
    (row,) = store.children("r1")

    bench = Bench(Damaged(store, row.id))
    async with bench.worker(named):
        with pytest.raises(DamagedError, match=row.id):
            await bench.finish("r1")


@pytest.mark.parametrize("everything", [True, False])
async def test_a_message_that_can_not_be_read_leaves_the_others_to_be_done(
    store: RunStore, everything: bool
) -> None:
    clock = FakeClock()
    for name in ("r1", "r2"):
        reach = dying("before-child")
        with pytest.raises(Dying):
            Bench(store, clock, reach=reach).start(plan(child("call", "", INNER)), name)
    clock.advance(2 * UNCLAIMED)

    damaged = Unreadable(store, "r1")
    bench = Bench(damaged, clock)
    if everything:
        sweep(bench.engine, everything=True)
    else:
        assert sorted(recover(bench.engine).broken) == ["r1"]

    assert [len(store.children(name)) for name in ("r1", "r2")] == [0, 1]


class Unreadable(Damaged):
    """A store in which the messages of some runs can't be read."""

    def message(self, key: MessageKey) -> Message | None:
        if key.run_id in self.broken:
            raise DamagedError(f"a message of run {key.run_id} can't be read")
        return self._store.message(key)

    def load(self, run_id: str, *, after: int = 0) -> StoredRun:
        return self._store.load(run_id, after=after)


async def test_a_child_that_can_not_be_read_leaves_its_siblings_to_be_stopped(
    store: RunStore,
) -> None:
    Bench(store).start(plan(child("one", "", INNER), child("two", "", INNER)))
    first, second = store.children("r1")

    bench = Bench(Damaged(store, first.id))
    handled = bench.engine.handle("r1", Cancel(by="me"))

    assert handled.refused == ()
    assert store.get_run("r1").state == "cancelled"
    assert store.get_run(second.id).state == "cancelled"


def without(made: Plan, path: str, before: str, after: str) -> Plan:
    """Return the plan of a faulty compiler: it doesn't list a move of a step."""
    listed = (c for c in made.constraints if (c.step, c.before, c.after) != (path, before, after))
    return replace(made, constraints=tuple(listed))


async def test_a_child_that_breaks_at_work_fails_who_waits_for_its_parents_and_is_left_alone(
    store: RunStore, caplog: pytest.LogCaptureFixture
) -> None:
    inner = without(INNER, "x", "ready", "running")
    bench = Bench(store)
    async with bench.worker(named) as worker:
        bench.start(plan(child("call", "", plan(child("deep", "", inner), name="middle"))))
        with pytest.raises(IllegalMoveError):
            await bench.finish("r1")
        for _ in range(3):
            worker.look()
            worker.sweep()
        with pytest.raises(IllegalMoveError):
            await bench.finish("r1")

    assert [record.message.split()[0] for record in caplog.records] == ["run_broken"]


async def test_a_broken_run_is_taken_up_again_when_another_process_has_taken_it_further(
    store: RunStore,
) -> None:
    Bench(store).start(plan(child("call", "", plan(step("x"), step("y", "x"), name="inner"))))
    (row,) = store.children("r1")
    damaged = Damaged(store, row.id)
    bench = Bench(damaged)
    async with bench.worker(named) as worker:
        recover(bench.engine)
        worker.look()
        with pytest.raises(DamagedError):
            await bench.finish("r1")

        damaged.broken = ()
        other = Bench(store)
        async with other.worker(named):
            other.engine.resume(row.id)
            await eventually(lambda: store.get_run(row.id).version > row.version)
        worker.look()
        run = await bench.finish("r1")

    assert run.state is RunState.SUCCEEDED


async def test_the_attempts_of_a_run_that_can_not_go_on_are_stopped(store: RunStore) -> None:
    slow = replace(step("slow"), timeout=0.05)
    bench, gate = Bench(store), Gate()
    async with bench.worker(gate) as worker:
        bench.start(without(plan(slow, step("other")), "slow", "running", "timed_out"))
        with pytest.raises(IllegalMoveError):
            await bench.finish("r1")
        await eventually(lambda: worker.load == 0)

    assert sorted(attempt.path for attempt in gate.stopped) == ["other", "slow"]


async def test_the_sweep_goes_on_past_runs_that_can_not_be_read(store: RunStore) -> None:
    clock = FakeClock()
    for name in ("r1", "r2"):
        Bench(store, clock).start(plan(step("a")), name)
    Bench(store, clock).start(plan(child("call", "", INNER)), "r3")
    clock.advance(2 * UNCLAIMED)

    bench = Bench(Damaged(store, "r1", store.children("r3")[0].id), clock)
    async with bench.worker(named, everything=True) as worker:
        worker.sweep()
        run = await bench.finish("r2")

    assert run.state is RunState.SUCCEEDED
