"""Scenarios 12 and 15 to 18, 22 and 23: clocks, reports, cancel, signals and answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from dagflow.core.clock import FakeClock
from dagflow.core.errors import ConflictError, DagflowError
from dagflow.core.run import Claim, Fail, LoseLease, RunState, StepFailure, Succeed
from dagflow.core.values import JsonValue
from dagflow.executor.steps.base import Attempt, StepContext
from tests.scenarios.flows import House, Script, compiled, eventually, sqlite, states

NIGHT = timedelta(hours=12)


class Gate:
    """Work that waits until it is let through."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.stopped: list[str] = []
        self.open = asyncio.Event()

    async def __call__(self, attempt: Attempt, context: StepContext) -> JsonValue:
        self.entered.append(attempt.run_id)
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.stopped.append(attempt.run_id)
            raise
        return 1


OVERNIGHT = """\
dagflow: 1
name: overnight
deadline: 1h
steps:
  ask: {approve: {message: go on?, expires: 7d, pause_clock: PAUSE}}
  next: {after: ask, python: 'def main(): return 1', output: integer}
"""


@pytest.mark.parametrize(("pauses", "outcome"), [("true", "succeeded"), ("false", "timed_out")])
def test_12_yaml_an_approval_stops_the_clock_also_across_a_restart(
    pauses: str, outcome: str, tmp_path: Path
) -> None:
    clock = FakeClock()
    plan = compiled(OVERNIGHT.replace("PAUSE", pauses))
    script = Script({"next": 1})

    async def evening() -> str:
        with sqlite(tmp_path) as store:
            house = House(store, clock=clock, script=script)
            async with house.at_work():
                run_id = house.runs.submit(plan, {})
                await eventually(lambda: house.runs.approvals(run_id))
                return run_id

    async def morning(run_id: str) -> str:
        with sqlite(tmp_path) as store:
            house = House(store, clock=clock, script=script)
            async with house.at_work(taking_up=True):
                clock.advance(NIGHT)
                for approval in house.runs.approvals(run_id) if pauses == "true" else ():
                    house.runs.decide(approval.id, approve=True, by="ann")
                if pauses == "false":
                    with pytest.raises(ConflictError):
                        house.runs.decide(house.runs.approvals(run_id)[0].id, approve=True, by="a")
                return (await house.end(run_id)).state.value

    run_id = asyncio.run(evening())
    clock.advance(NIGHT)

    assert asyncio.run(morning(run_id)) == outcome


def test_15_yaml_a_report_that_comes_twice_is_void_the_second_time(tmp_path: Path) -> None:
    plan = compiled(
        "dagflow: 1\nname: once\nsteps:\n"
        "  a: {python: 'def main(): return 1', output: integer}\n"
        "  b: {after: a, wait: {signal: go}}\n"
    )

    async def whole() -> None:
        with sqlite(tmp_path) as store:
            house = House(store, script=Script({"a": 1}))
            async with house.at_work():
                run_id = house.runs.submit(plan, {})
                await eventually(lambda: states(house.runs.get(run_id), "a")["a"] == "succeeded")
                token = house.runs.get(run_id).steps["a"].token
                seen = store.get_run(run_id).seq
                bad = StepFailure(error_class="user", message="late")
                for event in (
                    Succeed(path="a", token=token, output=1),
                    Succeed(path="a", token=token, output=2),
                    Fail(path="a", token=token, error=bad),
                    LoseLease(path="a", token=token),
                ):
                    assert house.engine.handle(run_id, event).refused
                assert store.get_run(run_id).seq == seen
                house.runs.signal(run_id, "go", None)
                run = await house.end(run_id)
        assert (run.steps["a"].state, run.steps["a"].output) == ("succeeded", 1)
        assert run.state is RunState.SUCCEEDED

    asyncio.run(whole())


TWO = """\
dagflow: 1
name: two
steps:
  a: {python: 'def main(): return 1', output: integer}
  b: {after: a, python: 'def main(): return 1', output: integer}
"""


def test_16_yaml_a_cancel_stops_everything_and_gives_the_slot_to_the_next_run() -> None:
    async def whole() -> None:
        gate = Gate()
        house = House(script=Script({"a": gate, "b": 1}), concurrency=1)
        plan = compiled(TWO)
        async with house.at_work():
            first, second, third = (house.runs.submit(plan, {}) for _ in range(3))
            await eventually(lambda: gate.entered == [first])
            house.runs.cancel(second)  # killed before it started
            house.runs.cancel(first)
            seen = house.store.get_run(first).seq
            claim = Claim(path="b", worker="w", until=house.engine.clock.now())
            assert house.engine.handle(first, claim).refused
            await eventually(lambda: gate.entered == [first, third])
            gate.open.set()
            ended = [await house.end(run_id) for run_id in (first, second, third)]
            assert house.store.get_run(first).seq == seen
            assert house.store.leases() == ()

        assert [run.state.value for run in ended] == ["cancelled", "cancelled", "succeeded"]
        assert gate.stopped == [first]
        assert house.script.done == ["a", "a", "b"]

    asyncio.run(whole())


CLEANS = """\
dagflow: 1
name: cleans
steps:
  work: {python: 'def main(): return 1', output: integer}
finally:
  close: {python: 'def main(): return 1', output: integer}
  each:
    after: close
    foreach:
      items: "[1, 2, 3]"
      as: it
      max_items: 3
      steps: {one: {python: 'def main(): return 1', output: integer}}
  last: {after: each, python: 'def main(): return 1', output: integer}
"""


def test_17_yaml_a_clean_up_that_is_a_graph_runs_whole_after_a_cancel() -> None:
    async def whole() -> None:
        gate = Gate()
        house = House(script=Script({"work": gate, "close": 1, "one": 1, "last": 1}))
        async with house.at_work():
            run_id = house.runs.submit(compiled(CLEANS), {})
            await eventually(lambda: gate.entered)
            house.runs.cancel(run_id)
            run = await house.end(run_id)

        assert run.state is RunState.CANCELLED
        assert states(run, "work", "close", "each", "last") == {
            "work": "cancelled",
            "close": "succeeded",
            "each": "succeeded",
            "last": "succeeded",
        }
        assert house.script.done.count("close") == 1
        assert sum(path.startswith("each[") for path in house.script.done) == 3

    asyncio.run(whole())


LATE = """\
dagflow: 1
name: late
steps:
  a: {python: 'def main(): return 1', output: integer}
finally:
  w: {wait: {signal: go}, output: {n: integer}}
"""


def at_once(*acts: Callable[[], object]) -> list[object]:
    """Do things at the same instant, each in a thread; return what each gave or raised."""
    ready = threading.Barrier(len(acts))
    found: list[object] = [None] * len(acts)

    def do(index: int, act: Callable[[], object]) -> None:
        ready.wait(10)
        try:
            found[index] = act()
        except DagflowError as error:
            found[index] = error

    threads = [threading.Thread(target=do, args=it) for it in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return found


@pytest.mark.parametrize("turn", range(3))
def test_18_yaml_signals_to_a_finishing_run_are_taken_or_refused(turn: int, tmp_path: Path) -> None:
    async def whole() -> None:
        with sqlite(tmp_path) as store:
            house = House(store, script=Script({"a": 1}))
            async with house.at_work():
                run_id = house.runs.submit(compiled(LATE), {})
                await eventually(lambda: house.runs.get(run_id).state is RunState.FINISHING)
                acts = [
                    lambda n=n: house.runs.signal(run_id, "go", {"n": n})  # type: ignore[misc]
                    for n in (1, 2)
                ]
                found = await asyncio.to_thread(at_once, *acts)
                run = await house.end(run_id)
            events = [event.body for event in store.events(run_id)]

        accepted = [n for n, answer in zip((1, 2), found, strict=True) if answer is None]
        refused = [answer for answer in found if isinstance(answer, ConflictError)]
        recorded = [event["payload"] for event in events if event["change"] == "signal"]
        assert (len(accepted), len(refused)) == (1, 1)
        assert recorded == [{"n": n} for n in accepted]
        assert run.steps["w"].output == recorded[0]

    asyncio.run(whole())


BOTH = """\
dagflow: 1
name: both
steps:
  x: {approve: {message: x?, expires: 1h}}
  y: {approve: {message: y?, expires: 1h}}
  fx: {python: 'def main(by): return by', with: {by: "${{ steps.x.output.by }}"}, output: string}
  fy: {python: 'def main(by): return by', with: {by: "${{ steps.y.output.by }}"}, output: string}
  whole: {after: [fx, fy], transform: steps.fx.output + steps.fy.output}
outputs: {all: "${{ steps.whole.output }}"}
"""


@pytest.mark.parametrize("turn", range(3))
def test_22_yaml_two_answers_at_the_same_instant_reach_each_its_step(
    turn: int, tmp_path: Path
) -> None:
    async def who(attempt: Attempt, context: StepContext) -> JsonValue:
        assert isinstance(attempt.arguments, dict)
        return attempt.arguments["by"]

    async def whole() -> None:
        with sqlite(tmp_path) as store:
            house = House(store, script=Script({"fx": who, "fy": who}))
            async with house.at_work():
                run_id = house.runs.submit(compiled(BOTH), {})
                await eventually(lambda: len(house.runs.approvals(run_id)) == 2)
                acts = [
                    lambda a=a: house.runs.decide(a.id, approve=True, by=f"<{a.path}>")  # type: ignore[misc]
                    for a in house.runs.approvals(run_id)
                ]
                assert await asyncio.to_thread(at_once, *acts) == [None, None]
                run = await house.end(run_id)

        assert run.outputs == {"all": "<x><y>"}
        assert sorted(house.script.done) == ["fx", "fy"]

    asyncio.run(whole())


def test_23_yaml_a_run_goes_on_with_its_plan_after_the_file_changed(tmp_path: Path) -> None:
    flow = "dagflow: 1\nname: pinned\nsteps:\n  go: {wait: {signal: go}}\n"
    old = compiled(
        flow + '  b: {after: go, transform: \'"old"\'}\noutputs: {b: "${{ steps.b.output }}"}\n'
    )
    new = compiled(
        flow + '  c: {after: go, transform: \'"new"\'}\noutputs: {c: "${{ steps.c.output }}"}\n'
    )

    async def begin() -> str:
        with sqlite(tmp_path) as store:
            house = House(store)
            async with house.at_work():
                run_id = house.runs.submit(old, {})
                house.runs.pause(run_id)
                return run_id

    async def go_on(run_id: str) -> None:
        with sqlite(tmp_path) as store:
            house = House(store)
            async with house.at_work(taking_up=True):
                other = house.runs.submit(new, {})
                house.runs.resume(run_id)
                for one in (run_id, other):
                    house.runs.signal(one, "go", None)
                ended = [await house.end(one) for one in (run_id, other)]
        assert [run.outputs for run in ended] == [{"b": "old"}, {"c": "new"}]

    asyncio.run(go_on(asyncio.run(begin())))
