"""What the worker promises of fused chains, over every store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from dagflow.core.errors import StepError, UnavailableError
from dagflow.core.plan import Plan
from dagflow.core.run import Cancel, Pause, Resume, Run, RunState
from dagflow.core.values import JsonValue
from dagflow.executor.leases import LeaseTimes
from dagflow.executor.recovery import recover
from dagflow.executor.steps.base import Attempt, StepContext
from dagflow.store.base import RunStore
from dagflow.store.memory import MemoryRunStore
from tests.contract.engines import Bench, Gate, eventually
from tests.contract.plans import foreach, plan, step

UNFUSED = plan(step("a"), step("b", "a"), step("c", "b"), step("d", "c"))
CHAIN = replace(UNFUSED, fused=(("a", "b", "c"),))


async def named(attempt: Attempt, context: StepContext) -> JsonValue:
    return attempt.path


def versions(store: RunStore, run_id: str = "r1") -> int:
    return store.get_run(run_id).version


async def ran(bench: Bench, made: Plan, work: Callable[..., object] = named) -> Run:
    async with bench.worker(work):  # type: ignore[arg-type]
        return await bench.finish(bench.start(made))


def history(store: RunStore) -> list[tuple[object, ...]]:
    """Return what was recorded of each step, without times and tokens."""
    found: list[tuple[object, ...]] = []
    for event in store.events("r1", limit=1000):
        body = event.body
        if "path" in body:
            assert isinstance(body["set"], dict)
            found.append((body["path"], body["before"], body["after"], body["set"].get("output")))
    return found


async def test_a_chain_is_one_dispatch_and_one_transaction(store: RunStore) -> None:
    run = await ran(Bench(store), CHAIN)

    # begin; claim the first; report all three and claim the one behind the chain; report it
    assert run.state is RunState.SUCCEEDED
    assert versions(store) == 2 + 1 + 1
    assert store.outbox() == ()
    assert store.leases() == ()


async def test_every_step_of_a_chain_has_its_own_states_outputs_and_attempts(
    store: RunStore,
) -> None:
    run = await ran(Bench(store), CHAIN)

    one_by_one = Bench(MemoryRunStore())
    await ran(one_by_one, UNFUSED)
    assert history(store) == history(one_by_one.store)
    assert {path: (it.output, it.attempt) for path, it in run.steps.items()} == {
        path: (path, 1) for path in "abcd"
    }


async def test_times_are_those_at_which_it_happened(store: RunStore) -> None:
    async def slow(attempt: Attempt, context: StepContext) -> JsonValue:
        await asyncio.sleep(0.02)
        return None

    run = await ran(Bench(store), CHAIN, slow)

    times: list[datetime] = []
    for name in "abc":
        record = run.steps[name]
        assert record.started_at is not None
        assert record.finished_at is not None
        assert record.finished_at - record.started_at >= timedelta(seconds=0.02)
        times += [record.started_at, record.finished_at]
    assert times == sorted(times)


async def test_a_failure_ends_a_chain_and_what_was_done_is_recorded(store: RunStore) -> None:
    async def failing(attempt: Attempt, context: StepContext) -> JsonValue:
        if attempt.path == "b":
            raise StepError("user", "no")
        return attempt.path

    run = await ran(Bench(store), CHAIN, failing)

    assert run.state is RunState.FAILED
    assert {path: it.state for path, it in run.steps.items()} == {
        "a": "succeeded", "b": "failed", "c": "skipped(upstream)", "d": "skipped(upstream)",
    }  # fmt: skip
    assert versions(store) == 3


async def test_chains_inside_a_loop_are_gone_along_item_by_item(store: RunStore) -> None:
    loop = foreach("f", "", [1, 2, 3], step("f.x"))
    block = (step("f.x"), step("f.y", "f.x"))
    loop = replace(loop, block=block, body={**loop.body, "collect_step": "f.y"})

    run = await ran(Bench(store), replace(plan(loop), fused=(("f.x", "f.y"),)))

    assert run.steps["f"].output == ["f[0].y", "f[1].y", "f[2].y"]
    assert run.steps["f[2].y"].attempt == 1


async def test_a_step_that_may_not_be_done_twice_is_recorded_before_it_begins(
    store: RunStore,
) -> None:
    bench, seen = Bench(store), []

    async def looking(attempt: Attempt, context: StepContext) -> JsonValue:
        seen.append((attempt.path, bench.store.get_run("r1").version))
        return None

    once = plan(step("a"), step("b", "a", effects="once"))
    await ran(bench, replace(once, fused=(("a", "b"),)), looking)

    assert seen == [("a", 2), ("b", 3)]


async def test_a_chain_at_a_long_step_tells_what_it_has_done(store: RunStore) -> None:
    bench, gate = Bench(store), Gate()

    async def work(attempt: Attempt, context: StepContext) -> JsonValue:
        return await gate(attempt, context) if attempt.path == "b" else attempt.path

    async with bench.worker(work):
        bench.start(CHAIN)
        await eventually(lambda: bench.engine.run("r1").steps["a"].state == "succeeded")
        assert bench.engine.run("r1").steps["b"].state == "running"
        assert [lease.path for lease in store.leases()] == ["b"]
        gate.open()
        run = await bench.finish()

    assert run.state is RunState.SUCCEEDED
    assert [it.path for it in gate.entered] == ["b"]


async def test_what_a_dead_worker_did_not_tell_is_done_again(store: RunStore) -> None:
    bench, gate = Bench(store), Gate()
    done: list[str] = []

    async def work(attempt: Attempt, context: StepContext) -> JsonValue:
        done.append(attempt.path)
        return await gate(attempt, context) if attempt.path == "c" else attempt.path

    worker = bench.worker(work, leases=LeaseTimes(length=timedelta(seconds=-1)))
    async with worker:
        bench.start(CHAIN)
        await eventually(lambda: gate.entered)
        assert bench.engine.run("r1").steps["a"].state == "running"
        other = Bench(store)
        recover(other.engine)
        async with other.worker(named):
            run = await other.finish()
        gate.open()
        await asyncio.sleep(0)

    assert run.state is RunState.SUCCEEDED
    assert done == ["a", "b", "c"]
    assert {path: it.output for path, it in run.steps.items()} == {path: path for path in "abcd"}
    assert run.steps["a"].attempt == 2


async def test_a_worker_that_is_stopped_tells_what_it_did_and_gives_the_rest_back(
    store: RunStore,
) -> None:
    bench, gate = Bench(store), Gate()

    async def work(attempt: Attempt, context: StepContext) -> JsonValue:
        return await gate(attempt, context) if attempt.path == "b" else attempt.path

    async with bench.worker(work):
        bench.start(CHAIN)
        await eventually(lambda: gate.entered)

    steps = bench.engine.run("r1").steps
    assert (steps["a"].state, steps["a"].output) == ("succeeded", "a")
    assert (steps["b"].state, steps["b"].attempt) == ("ready", 0)
    assert store.leases() == ()
    assert [key.path for key in store.outbox()] == ["b"]


@pytest.mark.parametrize("at", ["a", "b"])
async def test_cancelling_stops_a_chain_where_it_is(store: RunStore, at: str) -> None:
    bench, gate = Bench(store), Gate()

    async def work(attempt: Attempt, context: StepContext) -> JsonValue:
        return await gate(attempt, context) if attempt.path == at else attempt.path

    async with bench.worker(work):
        bench.start(CHAIN)
        await eventually(lambda: gate.entered)
        bench.engine.handle("r1", Cancel(by="me"))
        await eventually(lambda: gate.stopped)
        run = await bench.finish()

    assert run.state is RunState.CANCELLED
    assert run.steps["a"].state == "cancelled"


async def test_a_pause_ends_a_chain_behind_the_step_that_it_is_at(store: RunStore) -> None:
    bench, gate = Bench(store), Gate()

    async def work(attempt: Attempt, context: StepContext) -> JsonValue:
        return await gate(attempt, context) if attempt.path == "a" else attempt.path

    async with bench.worker(work):
        bench.start(CHAIN)
        await eventually(lambda: gate.entered)
        bench.engine.handle("r1", Pause())
        gate.open()
        await eventually(lambda: bench.engine.run("r1").steps["a"].state == "succeeded")
        assert bench.engine.run("r1").steps["b"].state == "ready"
        bench.engine.handle("r1", Resume())
        run = await bench.finish()

    assert run.state is RunState.SUCCEEDED


async def test_what_was_told_to_a_database_that_is_away_is_told_again(store: RunStore) -> None:
    away = {"left": 0}

    def reach(point: str) -> None:
        if point == "before-append" and away["left"]:
            away["left"] -= 1
            raise UnavailableError("the database is away", remedy="wait")

    bench, gate = Bench(store, reach=reach), Gate()

    async def work(attempt: Attempt, context: StepContext) -> JsonValue:
        away["left"] = 1 if attempt.path == "b" else 0
        return await gate(attempt, context) if attempt.path == "b" else attempt.path

    async with bench.worker(work):
        bench.start(CHAIN)
        await eventually(lambda: [lease.path for lease in store.leases()] == ["b"])
        gate.open()
        run = await bench.finish()

    assert run.state is RunState.SUCCEEDED
    assert [it.path for it in gate.entered] == ["b"]
