"""What holds of parents and their child runs when several processes act on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dagflow.core.clock import FakeClock
from dagflow.core.errors import UnavailableError
from dagflow.core.plan import RetryPolicy
from dagflow.core.run import Cancel, Decide, Pause, Resume, RunState, Succeed, Tick
from dagflow.core.values import JsonValue
from dagflow.executor.children import perform
from dagflow.executor.engine import Claimant
from dagflow.executor.recovery import recover, sweep
from dagflow.executor.steps.base import Attempt, StepContext
from dagflow.store.base import RunStore
from dagflow.store.rows import Batch, Message, MessageKind, StoredRun
from tests.contract.engines import Bench, Gate, eventually
from tests.contract.plans import approve, child, foreach, plan, step, wait

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


def only(store: RunStore, *kinds: MessageKind) -> Message:
    """Return the only open message of these kinds."""
    (key,) = store.outbox(kinds=kinds)
    message = store.message(key)
    assert message is not None
    return message


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
        perform(slow.engine, only(store))
        run = await bench.finish()

    assert run.state is RunState.SUCCEEDED


async def test_a_child_of_a_parent_that_was_cancelled_meanwhile_is_not_started(
    store: RunStore,
) -> None:
    bench, slow = Bench(store), Slow(store)
    bench.start(plan(approve("ok", ""), child("call", "ok", INNER)))
    decide(slow)
    start = only(store)

    Bench(store).engine.handle("r1", Cancel(by="me"))
    slow.goes_on = True
    perform(slow.engine, start)

    assert store.children("r1") == ()
    assert store.outbox() == ()


def test_stopping_a_child_leaves_the_one_of_the_next_attempt(store: RunStore) -> None:
    clock, noted = FakeClock(), Noting(store)
    bench = Bench(noted, clock)
    retry = RetryPolicy(attempts=2, on=("timeout",))
    bench.start(plan(replace(child("call", "", INNER), timeout=1.0, retry=retry)))
    for _ in range(2):
        clock.advance(timedelta(hours=1))
        bench.engine.handle("r1", Tick())
    assert [row.state for row in store.children("r1")] == ["timed_out", "running"]

    (stop,) = [message for message in noted.messages if message.key.kind == "stop_child"]
    perform(bench.engine, stop)

    assert [row.state for row in store.children("r1")] == ["timed_out", "running"]


async def test_what_grandchildren_used_that_were_stopped_reaches_the_root(store: RunStore) -> None:
    leaf = plan(step("t", kind="tool"), step("ask", kind="llm", body={"max_tokens": 60}))
    bench, gate = Bench(store), Gate()
    async with bench.worker(gate):
        bench.start(plan(child("mid", "", plan(child("deep", "", leaf)))))
        await eventually(lambda: len(gate.entered) == 2)
        bench.engine.handle("r1", Cancel(by="me"))
        await eventually(lambda: len(gate.stopped) == 2)

    (mid,) = store.children("r1")
    (deep,) = store.children(mid.id)
    used = [bench.engine.run(run_id).used for run_id in (deep.id, mid.id, "r1")]
    assert used == [{"tool_calls": 1, "tokens": 60}] * 3
    assert store.outbox() == ()


def test_a_run_that_is_over_is_not_read_anew_for_every_child_run_that_tells_it(
    store: RunStore,
) -> None:
    noted = Noting(store)
    bench = Bench(noted)
    leaf = plan(step("t", kind="tool"), name="leaf")
    loop = foreach("l", "", list(range(20)), child("l.call", "", leaf))
    bench.start(plan(replace(loop, body={**loop.body, "concurrency": 20})))
    until = bench.clock.now() + timedelta(days=1)
    for row in store.children("r1"):
        bench.engine.claim(row.id, ["t"], Claimant("w", until, 1))

    bench.engine.handle("r1", Cancel(by="me"))

    assert bench.engine.run("r1").used == {"items": 20, "tool_calls": 20}
    assert noted.loaded.count("r1") == 1


def test_a_run_that_is_over_is_read_anew_when_another_process_has_added_to_it(
    store: RunStore,
) -> None:
    def tell_later(point: str) -> None:
        if point == "before-child-ended":
            raise UnavailableError("not yet")

    first, other = Bench(store, reach=tell_later), Bench(store)
    first.start(plan(child("call", "", plan(step("t", kind="tool"), name="leaf"))))
    (row,) = store.children("r1")
    until = first.clock.now() + timedelta(days=1)
    first.engine.claim(row.id, ["t"], Claimant("w", until, 1))
    first.engine.handle("r1", Cancel(by="me"))
    assert other.engine.run("r1").used == {}

    message = only(store, "child_ended")
    perform(Bench(store).engine, message)

    assert other.engine.run("r1").used == {"tool_calls": 1}


async def test_a_loop_that_is_retried_starts_its_child_runs_again(store: RunStore) -> None:
    """Also where stopping the first and starting the second is stored in one batch."""
    retry = RetryPolicy(attempts=2, on=("timeout",), backoff=0.0, jitter=0.0)
    loop = foreach("l", "", [1], child("l.call", "", INNER))
    clock = FakeClock()
    bench = Bench(store, clock)
    bench.start(plan(replace(loop, timeout=1.0, retry=retry)))
    clock.advance(timedelta(seconds=1))
    bench.engine.handle("r1", Tick())
    async with bench.worker(named):
        bench.engine.resume("r1")
        run = await bench.finish()

    assert run.state is RunState.SUCCEEDED
    assert sorted(row.state for row in store.children("r1")) == ["cancelled", "succeeded"]


def test_a_stop_that_was_not_done_is_not_lost_by_the_next_one(store: RunStore) -> None:
    clock, noted = FakeClock(), Noting(store)
    bench = Bench(noted, clock)
    retry = RetryPolicy(attempts=2, on=("timeout",))
    bench.start(plan(replace(child("call", "", INNER), timeout=1.0, retry=retry)))
    for _ in range(3):
        clock.advance(timedelta(hours=1))
        bench.engine.handle("r1", Tick())

    stops = [message.key for message in noted.messages if message.key.kind == "stop_child"]
    assert len(set(stops)) == 2


async def test_a_long_line_of_child_runs_that_end_at_once_is_followed_to_its_end(
    store: RunStore,
) -> None:
    instant = plan(wait("w", "", 0), name="instant")
    line = foreach("f", "", list(range(250)), child("f.g", "", instant))
    line = replace(line, body={**line.body, "concurrency": 1, "max_items": 250})
    bench = Bench(store)

    bench.start(plan(line))

    assert bench.engine.run("r1").state is RunState.SUCCEEDED


class Dying(BaseException):
    """Stands for the end of the process."""


def dying(at: str) -> Callable[[str], None]:
    """Return a `reach` that ends the process at a point."""

    def reach(point: str) -> None:
        if point == at:
            raise Dying

    return reach


def states(store: RunStore) -> list[str]:
    """Return the states of the run and of its child runs."""
    return [row.state for row in (store.get_run("r1"), *store.children("r1"))]


@pytest.mark.parametrize("run_id", [None, "child"])
async def test_a_stop_that_a_parent_died_before_doing_is_done_by_recovery(
    store: RunStore, run_id: str | None
) -> None:
    Bench(store).start(plan(child("call", "", INNER)))
    (row,) = store.children("r1")
    with pytest.raises(Dying):
        Bench(store, reach=dying("before-dispatch")).engine.handle("r1", Cancel(by="me"))

    bench, gate = Bench(store), Gate()
    async with bench.worker(gate):
        recover(bench.engine, run_id and row.id)

    assert states(store) == ["cancelled", "cancelled"]
    assert gate.entered == []
    assert store.outbox() == ()


async def test_the_sweep_does_a_stop_that_another_process_died_before_doing(
    store: RunStore,
) -> None:
    bench, gate = Bench(store), Gate()
    async with bench.worker(gate) as worker:
        bench.start(plan(child("call", "", INNER)))
        with pytest.raises(Dying):
            Bench(store, reach=dying("before-dispatch")).engine.handle("r1", Cancel(by="me"))
        worker.look()
        worker.sweep()

    assert states(store) == ["cancelled", "cancelled"]


def test_a_parent_that_is_let_go_on_while_its_pause_is_passed_on_does_not_leave_its_child_behind(
    store: RunStore,
) -> None:
    Bench(store).start(plan(child("call", "", INNER)))
    other = Bench(store)
    bench = Bench(store, reach=Once("before-dispatch", lambda: other.engine.handle("r1", Resume())))

    bench.engine.handle("r1", Pause())

    assert states(store) == ["waiting", "running"]
    assert {key.kind for key in store.outbox()} == {"dispatch"}


def test_a_child_that_is_started_while_another_process_pauses_its_parent_stands_still(
    store: RunStore,
) -> None:
    Bench(store).start(plan(approve("ok", ""), child("call", "ok", INNER)))
    other = Bench(store)
    bench = Bench(store, reach=Once("before-child", lambda: other.engine.handle("r1", Pause())))

    decide(bench)

    assert states(store) == ["paused", "paused"]
    other.engine.handle("r1", Resume())
    assert states(store) == ["waiting", "running"]


def test_a_process_that_dies_between_starting_a_child_and_pausing_it_is_made_up_for(
    store: RunStore,
) -> None:
    with pytest.raises(Dying):
        Bench(store, reach=dying("before-child")).start(plan(child("call", "", INNER)))
    Bench(store).engine.handle("r1", Pause())
    with pytest.raises(Dying):
        recover(Bench(store, reach=dying("after-append")).engine)
    assert states(store) == ["paused", "running"]

    recover(Bench(store).engine)

    assert states(store) == ["paused", "paused"]


def test_a_process_that_has_not_heard_of_a_child_s_end_tells_the_parent_what_it_came_to(
    store: RunStore,
) -> None:
    behind = Bench(store)
    behind.start(plan(child("call", "", INNER)))
    (row,) = store.children("r1")
    worker = Bench(store, reach=dying("before-child-ended")).engine
    (attempt,) = worker.claim(row.id, ["x"], Claimant("w", behind.clock.now(), 1)).attempts
    with pytest.raises(Dying):
        worker.handle(row.id, Succeed(path="x", token=attempt.token, output=None))

    sweep(behind.engine, everything=False)

    assert states(store) == ["succeeded", "succeeded"]


class Once:
    """A `reach` that does something the first time a point is reached."""

    def __init__(self, point: str, act: Callable[[], object]) -> None:
        self._point, self._act = point, act

    def __call__(self, point: str) -> None:
        if point == self._point:
            self._point = ""
            self._act()


class Noting:
    """A store that notes the messages that are put in it, and the runs that are read."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self.messages: list[Message] = []
        self.loaded: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def append(self, batch: Batch, *, expected_version: int) -> int:
        self.messages.extend(batch.messages)
        return self._store.append(batch, expected_version=expected_version)

    def load(self, run_id: str, *, after: int = 0) -> StoredRun:
        self.loaded.append(run_id)
        return self._store.load(run_id, after=after)
