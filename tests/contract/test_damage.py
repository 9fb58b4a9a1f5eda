"""A run whose record can't be read is told apart, and holds up no other."""

from __future__ import annotations

from typing import Any

import pytest

from dagflow.core.clock import FakeClock
from dagflow.core.errors import DamagedError
from dagflow.core.run import RunState
from dagflow.executor.recovery import UNCLAIMED, recover
from dagflow.store.base import RunStore
from dagflow.store.rows import StoredRun
from tests.contract.engines import Bench
from tests.contract.plans import child, plan, step
from tests.contract.test_families import INNER, named


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
