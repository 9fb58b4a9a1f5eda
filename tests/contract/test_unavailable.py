"""A database that can't be reached for a moment costs time, and nothing else."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from dagflow.core.errors import UnavailableError
from dagflow.core.run import Cancel, Pause, Run, RunState, Succeed
from dagflow.executor.engine import Claimant
from dagflow.executor.recovery import recover, sweep
from dagflow.store.base import RunStore
from tests.contract.engines import Bench
from tests.contract.flaky import Flaky
from tests.contract.plans import approve, child, plan, step
from tests.contract.test_damage import without
from tests.contract.test_families import INNER


def work(bench: Bench, run_id: str, path: str) -> None:
    """Claim a step and report its success."""
    claimant = Claimant("w", bench.clock.now(), 1)
    (attempt,) = bench.engine.claim(run_id, [path], claimant).attempts
    bench.engine.handle(run_id, Succeed(path=path, token=attempt.token, output=None))


def look(bench: Bench) -> None:
    """Do what a worker does every few seconds."""
    bench.engine.refresh()
    sweep(bench.engine, everything=False)


def test_a_parent_that_could_not_be_told_of_its_child_s_end_is_told_later(
    store: RunStore,
) -> None:
    flaky = Flaky(store)
    bench = Bench(flaky)
    bench.start(plan(child("call", "", INNER), step("z", "call")))
    (row,) = store.children("r1")
    flaky.fail("append", "r1")

    work(bench, row.id, "x")
    assert (flaky.failed, store.get_run("r1").state) == (1, "waiting")
    look(bench)

    assert [step.path for step in store.ready()] == ["z"]
    assert "r1" in bench.engine.held()
    assert bench.doorbell.take(9)[-1] == ("r1", "z")


def test_a_child_that_could_not_be_stopped_is_stopped_later(store: RunStore) -> None:
    flaky = Flaky(store)
    bench = Bench(flaky)
    bench.start(plan(child("call", "", plan(approve("ok", ""), name="asking"))))
    (row,) = store.children("r1")
    flaky.fail("append", row.id)

    bench.engine.handle("r1", Cancel(by="me"))
    assert (flaky.failed, store.get_run(row.id).state) == (1, "waiting")
    look(bench)

    assert store.get_run(row.id).state == "cancelled"
    assert bench.engine.held() == ()


async def awaited_end(bench: Bench) -> asyncio.Future[Run]:
    """Start a run of one step, and return the future of who waits for it."""
    bench.start(plan(step("x")))
    end = asyncio.ensure_future(bench.engine.wait("r1"))
    await asyncio.sleep(0)
    return end


@pytest.mark.parametrize("nth", [1, 2])
async def test_the_end_of_a_run_elsewhere_is_heard_of_though_it_could_not_be_read_at_first(
    store: RunStore, nth: int
) -> None:
    flaky = Flaky(store)
    bench = Bench(flaky)
    end = await awaited_end(bench)
    Bench(store).engine.handle("r1", Cancel(by="me"))

    for method, times in (("versions", 1), ("load", nth)):
        flaky.fail(method, nth=times)
        with suppress(UnavailableError):
            bench.engine.refresh()
    bench.engine.refresh()

    assert (await asyncio.wait_for(end, 5)).state is RunState.CANCELLED
    assert bench.engine.held() == ()


async def test_a_run_whose_order_failed_and_that_another_process_ended_is_not_waited_for(
    store: RunStore,
) -> None:
    flaky = Flaky(store)
    bench = Bench(flaky)
    end = await awaited_end(bench)
    flaky.fail("append")
    with pytest.raises(UnavailableError):
        bench.engine.handle("r1", Pause())
    Bench(store).engine.handle("r1", Cancel(by="me"))

    look(bench)

    assert (await asyncio.wait_for(end, 5)).state is RunState.CANCELLED


@pytest.mark.parametrize("nth", [1, 2])
def test_a_step_made_ready_elsewhere_is_rung_for_though_it_could_not_be_read_at_first(
    store: RunStore, nth: int
) -> None:
    flaky = Flaky(store)
    bench, other = Bench(flaky), Bench(store)
    bench.start(plan(step("x"), step("y", "x")))
    bench.doorbell.take(9)
    work(other, "r1", "x")
    flaky.fail("load", nth=nth)
    with suppress(UnavailableError):
        bench.engine.refresh()
    bench.engine.refresh()

    assert bench.doorbell.take(9) == [("r1", "y")]


def test_a_conflict_that_can_not_be_read_at_first_is_followed_later(store: RunStore) -> None:
    flaky = Flaky(store)
    bench, other = Bench(flaky), Bench(store)
    bench.start(plan(step("x"), step("y", "x")))
    bench.doorbell.take(9)
    work(other, "r1", "x")
    flaky.fail("load")
    with pytest.raises(UnavailableError):
        bench.engine.handle("r1", Cancel(by="me"))

    bench.engine.refresh()

    assert bench.doorbell.take(9) == [("r1", "y")]


def test_broken_runs_that_moved_elsewhere_are_taken_up_though_the_first_try_fails(
    store: RunStore,
) -> None:
    flaky = Flaky(store)
    bench = Bench(flaky)
    for name in ("r1", "r2"):
        bench.start(plan(step("x"), step("y", "x")), name)
        bench.engine.abandon(name, RuntimeError("a bug"))
        work(Bench(store), name, "x")
    flaky.fail("load")
    with pytest.raises(UnavailableError):
        bench.engine.refresh()

    bench.engine.refresh()

    assert {(run, path) for run, path in bench.doorbell.take(9) if path == "y"} == {
        ("r1", "y"), ("r2", "y"),
    }  # fmt: skip


def test_an_abandoned_run_that_an_order_takes_up_again_is_rung_for(store: RunStore) -> None:
    bench = Bench(store)
    bench.start(plan(step("x")))
    bench.doorbell.take(9)
    bench.engine.abandon("r1", RuntimeError("a bug"))

    bench.engine.handle("r1", Pause())

    assert bench.doorbell.take(9) == [("r1", "x")]
    assert bench.engine.trouble_of("r1") is None


def test_a_child_that_broke_before_it_was_there_is_forgotten_with_its_parent(
    store: RunStore,
) -> None:
    bench = Bench(store)
    inner = without(INNER, "x", "pending", "ready")
    bench.start(plan(child("call", "", inner)))
    assert bench.engine.trouble_of("r1") is not None
    (key,) = [key for key in store.outbox() if key.kind == "start_child"]

    bench.engine.handle("r1", Cancel(by="me"))
    bench.engine.refresh()

    assert store.message(key) is None
    assert not list(bench.engine._roster.broken)


async def test_waits_that_were_given_up_leave_nothing_behind_and_disturb_nobody(
    store: RunStore,
) -> None:
    bench = Bench(store)
    bench.start(plan(child("call", "", INNER), step("z", "call")))
    (row,) = store.children("r1")

    def wait_in_a_loop_of_its_own() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(bench.engine.wait(row.id))
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.close()
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is left as it is
        kept.append(task)

    kept: list[asyncio.Task[object]] = []
    await asyncio.to_thread(wait_in_a_loop_of_its_own)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(bench.engine.wait(row.id), 0.01)

    work(bench, row.id, "x")

    assert [step.path for step in store.ready()] == ["z"]


def test_recovery_of_one_run_does_what_all_under_it_have_left(store: RunStore) -> None:
    deep = plan(child("k", "", plan(child("k", "", INNER), name="b")), name="a")
    Bench(store).start(plan(child("call", "", deep)))
    left = iter(range(3))

    class Dying(BaseException):
        """Stands for the end of the process."""

    def reach(point: str) -> None:
        if point == "after-append" and next(left) == 2:
            raise Dying

    with pytest.raises(Dying):
        Bench(store, reach=reach).engine.handle("r1", Cancel(by="me"))
    assert len(store.unfinished()) == 1

    recover(Bench(store).engine, "r1")

    assert store.unfinished() == ()
    assert store.outbox() == ()
