"""The engine's small parts, each by itself."""

from __future__ import annotations

import asyncio
import os
import socket
from datetime import UTC, datetime, timedelta

import pytest

from dagflow.core.steps import KINDS
from dagflow.executor.dispatch.inline import InlineDispatcher
from dagflow.executor.faults import POINTS, Killer
from dagflow.executor.ids import child_run_id, new_run_id
from dagflow.executor.leases import is_gone, is_lost, this_worker
from dagflow.executor.live.base import Emitted, LiveEvent, Missed
from dagflow.executor.live.process import KEPT, ProcessBus
from dagflow.executor.steps import WORK
from dagflow.executor.timers import Timers
from dagflow.store.rows import Lease

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_every_kind_that_goes_to_a_worker_has_its_work() -> None:
    assert set(WORK) == {name for name, kind in KINDS.items() if not kind.in_engine}


@pytest.mark.parametrize("kind", sorted(WORK))
def test_the_work_of_a_kind_is_in_the_module_of_its_name(kind: str) -> None:
    module = pytest.importorskip(f"dagflow.executor.steps.{kind}", reason="not built yet")

    assert asyncio.iscoroutinefunction(module.work)


def test_timers_go_off_once_the_longest_overdue_first() -> None:
    timers = Timers()
    timers.set("late", after(2))
    timers.set("early", after(1))
    timers.set("moved", after(1))
    timers.set("moved", after(9))
    timers.set("gone", after(1))
    timers.clear("gone")

    assert timers.next() == after(1)
    assert timers.due(after(0.5)) == []
    assert timers.due(after(2)) == ["early", "late"]
    assert timers.due(after(2)) == []
    assert timers.next() == after(9)


def test_timers_of_runs_that_are_over_take_no_room_behind_an_earlier_one() -> None:
    timers = Timers()
    timers.set("live", after(1))
    for number in range(1000):
        timers.set(f"r{number}", after(5))
        timers.set(f"r{number}", after(9 + number))
        timers.clear(f"r{number}")

    assert len(timers._heap) < 100
    assert timers.due(after(10_000)) == ["live"]


def test_timers_keep_their_order_when_most_are_moved() -> None:
    timers = Timers()
    for number in range(500):
        for _ in range(3):
            timers.set(f"r{number}", after(5000 + number))
            timers.set(f"r{number}", after(500 - number))

    assert len(timers._heap) <= 2 * 500 + 64
    assert timers.due(after(500)) == [f"r{number}" for number in reversed(range(500))]


def test_setting_a_timer_to_the_time_it_has_is_no_change() -> None:
    timers = Timers()

    assert timers.set("r", after(1)) is True
    assert timers.set("r", after(1)) is False
    assert timers.due(after(1)) == ["r"]


def test_bells_come_out_by_priority_then_age_and_once() -> None:
    doorbell = InlineDispatcher()
    for path, priority in (("a", 5), ("b", 9), ("c", 5), ("a", 5)):
        doorbell.ring("r", path, "default", priority)

    assert doorbell.take(2) == [("r", "b"), ("r", "a")]
    assert doorbell.take(9) == [("r", "c")]
    assert doorbell.is_empty


def test_a_closed_doorbell_rings_no_more() -> None:
    doorbell = InlineDispatcher()
    doorbell.ring("r", "a", "default", 5)
    doorbell.close()
    doorbell.ring("r", "b", "default", 5)

    assert doorbell.take(9) == []


def _lease(worker: str, until: datetime) -> Lease:
    return Lease(run_id="r", path="a", token=1, worker=worker, until=until)


def test_a_lease_is_lost_when_it_ends_or_its_process_is_gone() -> None:
    alive = str(this_worker())
    host = socket.gethostname()

    assert not is_lost(_lease(alive, after(1)), NOW)
    assert is_lost(_lease(alive, NOW), NOW)
    assert is_lost(_lease(f"{host}/999999999/1/1", after(1)), NOW)
    assert not is_lost(_lease("elsewhere/999999999/1/1", after(1)), NOW)


def test_a_later_process_of_the_same_number_is_not_the_worker() -> None:
    assert is_gone(f"{socket.gethostname()}/{os.getpid()}/1/1")


@pytest.mark.parametrize("worker", ["", "w", "a/b/c/d", "x/1"])
def test_nothing_is_known_of_a_worker_with_another_kind_of_name(worker: str) -> None:
    assert not is_gone(worker)


def test_run_ids_sort_by_time_and_differ() -> None:
    ids = [new_run_id(after(n)) for n in range(5)]

    assert ids == sorted(ids)
    assert len({new_run_id(NOW) for _ in range(100)}) == 100
    assert {len(run_id) for run_id in ids} == {30}


def test_a_child_has_the_same_id_each_time_and_another_for_another_key() -> None:
    assert child_run_id("r1", "k") == child_run_id("r1", "k")
    assert len({child_run_id("r1", "k"), child_run_id("r1", "j"), child_run_id("r2", "k")}) == 3


def test_a_fault_point_counts_only_its_own_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    killed = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(number))
    killer = Killer("after-work", 2)

    for point in (*POINTS, "after-work", "after-work"):
        killer.reach(point)

    assert killed == [9]


def _said(n: int, run_id: str = "r") -> LiveEvent:
    return Emitted(run_id=run_id, path="a", kind="token", data={"n": n})


def test_a_watcher_gets_the_events_of_its_run_in_order() -> None:
    async def watch() -> None:
        bus = ProcessBus()
        one, everything = bus.subscribe("r"), bus.subscribe()
        bus.publish(_said(1))
        bus.publish(_said(2, "other"))
        bus.publish(_said(3))
        one.close()
        everything.close()

        assert [event async for event in one] == [_said(1), _said(3)]
        assert [event async for event in everything] == [_said(1), _said(2, "other"), _said(3)]
        assert not bus.is_watched("r")

    asyncio.run(watch())


def test_a_slow_watcher_learns_that_it_missed_something() -> None:
    async def watch() -> None:
        bus = ProcessBus()
        slow = bus.subscribe("r")
        for n in range(KEPT + 2):
            bus.publish(_said(n))
        slow.close()

        events = [event async for event in slow]

        assert events[0] == Missed(run_id="r")
        assert events[1] == _said(2)
        assert len(events) == KEPT + 1

    asyncio.run(watch())


def test_an_event_wakes_a_watcher_that_waits() -> None:
    async def watch() -> None:
        bus = ProcessBus()
        watcher = bus.subscribe("r")
        asyncio.get_running_loop().call_soon(bus.publish, _said(1))

        assert await asyncio.wait_for(anext(aiter(watcher)), 5) == _said(1)

    asyncio.run(watch())
