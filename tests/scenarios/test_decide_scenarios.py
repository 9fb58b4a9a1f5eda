"""Scenarios from public bug reports, as far as the state machine alone decides them.

The numbers are those of the list of scenarios; each test says what must come out.
"""

from __future__ import annotations

from collections import deque
from datetime import timedelta

import pytest

from dagflow.core.run import (
    Claim,
    Dispatch,
    Fail,
    LoseLease,
    Run,
    RunState,
    SignalTaken,
    StepFailure,
    Succeed,
)
from dagflow.executor.decide import view
from dagflow.executor.replay import replay
from dagflow.executor.restart import restarted
from tests.unit.executor.plans import (
    START,
    Driver,
    approve,
    foreach,
    plan,
    repeat,
    retry,
    step,
    switch,
    wait,
)


def test_01_an_unchosen_branch_does_not_count_for_a_join_further_on():
    made = plan(
        switch("B1", ("true", "B2"), (None, "P")),
        switch("B2", ("true", "dead"), (None, "dummy"), after="B1:#0"),
        step("dead", after="B2:#0"),
        step("dummy", after="B2:#1"),
        step("P", after="B1:#1 dummy", joined="any"),
    )
    run = Driver(made).begin()
    run.drain()
    assert run.states("dead", "dummy", "P") == {
        "dead": "succeeded",
        "dummy": "skipped(upstream)",
        "P": "skipped(upstream)",
    }
    assert run.ended is RunState.SUCCEEDED


def test_02_a_skip_is_judged_on_direct_parents():
    made = plan(step("A", when="false"), step("B", after="A:done"), step("C", after="B"))
    run = Driver(made).begin()
    run.drain()
    assert run.state("C") == "succeeded"


def test_03_a_guarded_off_foreach_is_skipped_as_a_whole():
    made = plan(
        foreach("M", "[1, 2]", step("M.x"), when="false"),
        step("N", after="M"),
        step("O", after="M:skipped"),
    )
    run = Driver(made).begin()
    run.drain()
    assert run.states("M", "N", "O") == {
        "M": "skipped(guard)",
        "N": "skipped(upstream)",
        "O": "succeeded",
    }


def test_05_the_guard_comes_before_the_arguments():
    run = Driver(plan(step("S", when="false", given="=1/0"))).begin()
    assert run.state("S") == "skipped(guard)"
    assert run.ended is RunState.SUCCEEDED


def test_06_a_step_reached_on_ways_of_different_length_runs_once():
    made = plan(
        step("a"),
        step("b", after="a"),
        step("b2", after="b"),
        step("c", after="a"),
        step("d", after="b2 c"),
    )
    run = Driver(made).begin()
    run.drain()
    assert run.dispatched().count("d") == 1


@pytest.mark.parametrize(("joined", "state"), [("any", "succeeded"), ("all", "skipped(upstream)")])
def test_06_a_join_with_an_unselected_branch_is_decided(joined: str, state: str):
    made = plan(
        switch("s", ("true", "b"), (None, "c")),
        step("b", after="s:#0"),
        step("c", after="s:#1"),
        step("d", after="b c", joined=joined),
    )
    run = Driver(made).begin()
    run.drain()
    assert run.state("d") == state
    assert run.ended is RunState.SUCCEEDED


@pytest.mark.parametrize("attempts", [1, 3])
def test_08_a_foreach_over_nothing_gives_an_empty_list_on_every_attempt(attempts: int):
    made = plan(
        foreach("l", "[]", step("l.x"), retry=retry(attempts)),
        step("after", needs="l", given="=steps.l.output"),
    )
    run = Driver(made).begin()
    assert run.output("l") == []
    assert run.run.steps["after"].input["with"] == []
    run.drain()
    assert run.ended is RunState.SUCCEEDED


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_09_a_parallel_foreach_gives_the_list_of_a_sequential_one(order: tuple[int, ...]):
    made = plan(foreach("l", "[10, 20, 30, 40]", step("l.x", given="=item"), concurrency=4))
    run = Driver(made).begin()
    for index in order:
        run.ok(f"l[{index}].x", run.run.steps[f"l[{index}].x"].input["with"])
    assert run.output("l") == [10, 20, 30, 40]


def test_10_50_000_items_all_run_and_no_output_is_swapped():
    count = 50_000
    made = plan(foreach("l", "inputs['xs']", step("l.x", given="=item"), concurrency=100))
    run = Driver(made, {"xs": list(range(count))})
    run.begin()
    waiting = deque(run.commands)
    while waiting:
        path = waiting.popleft().path
        run.claim(path)
        done = run.ok(path, run.run.steps[path].input["with"])
        waiting.extend(c for c in done.commands if isinstance(c, Dispatch))
    assert run.output("l") == list(range(count))


@pytest.mark.parametrize("attempts", [1, 2])
def test_11_an_output_is_the_same_with_and_without_a_retry_policy_around_it(attempts: int):
    made = plan(
        repeat(
            "r",
            "true",
            foreach("r.l", "[1, 2]", step("r.l.x", given="=item"), concurrency=2),
            step("r.end", needs="r.l", given="=steps.l.output"),
            max_=1,
            retry=retry(attempts),
        ),
        outputs={"o": "=steps.r.output"},
    )
    run = Driver(made).begin()
    if attempts == 2:
        run.ok("r[0].l[0].x", "lost with its attempt")
        run.bad("r[0].l[1].x")
    run.ok("r[0].l[1].x", 2)
    run.ok("r[0].l[0].x", 1)
    run.ok("r[0].end", run.run.steps["r[0].end"].input["with"])
    assert run.run.outputs == {"o": [1, 2]}


def test_12_a_clock_that_an_approval_stopped_stands_across_a_restart():
    hour, night = 3600.0, 12 * 3600.0
    made = plan(approve("ask", pause_clock=True), step("b", after="ask"), deadline=hour)
    run = Driver(made).begin()
    run.later(night)
    submitted = Run(id="r1", plan="", inputs={}, created_at=START)
    again = Driver(made, run=replay(submitted, run.log))
    again.later(night)
    again.answer("ask")
    assert again.run.deadline_at == START + timedelta(seconds=hour + night)
    again.drain()
    assert again.ended is RunState.SUCCEEDED


def test_15_a_second_report_is_void_and_a_success_stays_one():
    run = Driver(plan(step("a"), step("b"))).begin()
    run.ok("a", 1)
    run.send(Succeed(path="a", token=1, output=1))
    assert run.refused
    error = StepFailure(error_class="user", message="x")
    run.send(Fail(path="a", token=1, error=error))
    assert run.refused
    assert (run.state("a"), run.output("a")) == ("succeeded", 1)


def test_16_nothing_starts_after_a_cancel_and_every_step_ends_once():
    made = plan(step("a"), step("b", after="a"), step("c"))
    run = Driver(made).begin()
    run.claim("a")
    run.cancel()
    seen = len(run.log)
    for event in (
        Claim(path="c", worker="w", until=START),
        Succeed(path="a", token=1, output=1),
        LoseLease(path="a", token=1),
    ):
        run.send(event)
        assert run.refused
    assert len(run.log) == seen
    assert run.states("a", "b", "c") == dict.fromkeys("abc", "cancelled")
    assert run.ended is RunState.CANCELLED


def test_17_a_clean_up_that_is_a_graph_runs_whole_after_a_cancel():
    final = [
        step("close"),
        foreach("each", "[1, 2]", step("each.x"), after="close"),
        step("last", after="each"),
    ]
    run = Driver(plan(step("a"), finally_=final)).begin()
    run.claim("a")
    run.cancel()
    run.drain()
    assert run.states("close", "each", "last") == dict.fromkeys(
        ("close", "each", "last"), "succeeded"
    )
    assert run.ended is RunState.CANCELLED


def test_18_signals_while_a_run_finishes_are_taken_or_refused():
    made = plan(step("a"), finally_=[step("f"), wait("w", signal="go", after="f")])
    run = Driver(made).begin()
    run.ok("a")
    run.signal("go", 1)
    assert not run.refused
    run.signal("go", 2)
    assert run.refused
    run.ok("f")
    assert run.output("w") == 1
    assert run.ended is RunState.SUCCEEDED
    assert [c.path for c in run.log if isinstance(c, SignalTaken)] == ["w"]
    run.signal("go", 3)
    assert run.refused


def test_20_a_step_that_was_running_is_not_inherited_as_running():
    made = plan(step("A"), step("B"), step("C", needs="A B"), on_failure="continue")
    old = Driver(made).begin()
    old.claim("A")
    old.bad("B")
    new = Driver(made, run=restarted(made, old.run, "r2", START, start="B"))
    new.begin()
    assert new.states("A", "B") == {"A": "ready", "B": "ready"}
    new.drain()
    assert new.ended is RunState.SUCCEEDED
    assert (new.run.attempt, new.run.root) == (2, "r1")


def test_20_what_succeeded_is_pinned_and_what_depends_on_the_start_runs_again():
    made = plan(
        step("A"), step("B", needs="A"), step("C", needs="B"), foreach("D", "[1]", step("D.x"))
    )
    old = Driver(made).begin()
    old.drain({"A": 1, "B": 2, "D[0].x": 4})
    new = Driver(made, run=restarted(made, old.run, "r2", START, start="B")).begin()
    assert new.ready() == ["B"]
    assert view(new.run, "B").generation == 1
    assert (new.output("A"), new.output("D")) == (1, [4])
    new.drain({"B": 20, "C": 30})
    assert new.ended is RunState.SUCCEEDED


def test_22_parallel_approvals_get_each_its_own_answer():
    made = plan(
        approve("x"),
        approve("y"),
        step("fx", needs="x", given="=steps.x.output.by"),
        step("fy", needs="y", given="=steps.y.output.by"),
    )
    for order in ("xy", "yx"):
        run = Driver(made).begin()
        for name in order:
            run.answer(name, by=f"{name} person")
        assert run.run.steps["fx"].input["with"] == "x person"
        assert run.run.steps["fy"].input["with"] == "y person"
        assert sorted(run.dispatched()) == ["fx", "fy"]
        run.drain()
        assert run.ended is RunState.SUCCEEDED


def test_20_what_was_compensated_is_not_pinned():
    made = plan(step("A", undo=step("A.compensate")), step("B", needs="A"), step("C"))
    old = Driver(made).begin()
    old.ok("A")
    old.ok("C")
    old.bad("B")
    old.ok("A.compensate")
    new = Driver(made, run=restarted(made, old.run, "r2", START)).begin()
    assert new.states("A", "B", "C") == {"A": "ready", "B": "pending", "C": "succeeded"}
