"""Outcomes, cancel, compensation, `finally`, outputs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dagflow.core.run import Claim, Kill, RunState
from tests.unit.executor.plans import (
    START,
    Driver,
    approve,
    fail,
    foreach,
    plan,
    repeat,
    retry,
    step,
    switch,
)


def undo(path: str, **options: object):
    return step(f"{path}.compensate", **options)


def test_outputs_are_evaluated_when_the_run_succeeds():
    run = Driver(plan(step("a"), outputs={"x": "=steps.a.output"})).begin()
    run.ok("a", 7615917337495251231)
    assert run.run.outputs == {"x": 7615917337495251231}


def test_an_error_in_outputs_fails_the_run_with_class_expression():
    run = Driver(plan(step("a", when="false"), outputs={"x": "=steps.a.output"})).begin()
    assert (run.ended.value, run.run.error.error_class) == ("failed", "expression")
    assert run.run.outputs is None


def test_the_error_of_a_run_is_that_of_its_first_step_in_the_file():
    run = Driver(plan(step("a"), step("b"))).begin()
    run.bad("b", "network")
    run.bad("a", "http_4xx")
    assert run.run.error.error_class == "http_4xx"
    assert run.run.error.message == "step a: it broke"


def test_a_plan_without_steps_succeeds():
    assert Driver(plan()).begin().ended.value == "succeeded"


def test_cancel_before_the_start_runs_nothing_not_even_finally():
    run = Driver(plan(step("a"), finally_=[step("f")]))
    run.cancel()
    assert run.ended.value == "cancelled"
    assert run.run.steps == {}


def test_after_a_cancel_no_step_starts_but_compensation_and_finally():
    made = plan(
        step("a", undo=undo("a")),
        step("b", after="a"),
        step("c", after="b"),
        finally_=[step("f", given="=run.status")],
    )
    run = Driver(made).begin()
    run.ok("a")
    run.claim("b")
    run.cancel()
    assert run.run.state is RunState.FINISHING
    assert Kill(path="b", token=1) in run.commands
    assert run.states("b", "c") == {"b": "cancelled", "c": "cancelled"}
    assert run.ready() == ["a.compensate"]
    run.send(Claim(path="c", worker="w", until=START))
    assert run.refused
    run.ok("b")
    assert run.refused
    run.ok("a.compensate")
    assert run.run.steps["f"].input["with"] == "cancelled"
    run.ok("f")
    assert run.ended.value == "cancelled"


def test_a_second_cancel_is_refused():
    run = Driver(plan(step("a"), finally_=[step("f")])).begin()
    run.cancel()
    run.cancel()
    assert run.refused


def test_compensation_runs_in_reverse_order_of_completion_one_at_a_time():
    names = "abc"
    made = plan(
        *[step(n, undo=undo(n, given=f"=steps.{n}.output")) for n in names],
        fail("x", "no", after="a b c"),
    )
    run = Driver(made).begin()
    for name in "bca":
        run.ok(name, name.upper())
    order = []
    while run.ready():
        (path,) = run.ready()
        order.append((path, run.run.steps[path].input["with"]))
        run.ok(path)
    assert order == [("a.compensate", "A"), ("c.compensate", "C"), ("b.compensate", "B")]
    assert run.ended.value == "failed"


def test_a_failing_compensation_is_recorded_and_the_next_one_runs():
    made = plan(step("a", undo=undo("a")), step("b", undo=undo("b")), fail("x", "no", after="a b"))
    run = Driver(made).begin()
    run.ok("a")
    run.ok("b")
    run.bad("b.compensate", "network")
    run.ok("a.compensate")
    assert (run.state("b.compensate"), run.error("b.compensate")) == ("failed", "network")
    assert (run.ended.value, run.run.error.error_class) == ("failed", "user")


def test_only_succeeded_steps_are_compensated():
    made = plan(
        step("a", undo=undo("a")),
        step("b", when="false", undo=undo("b")),
        step("c", undo=undo("c")),
    )
    run = Driver(made).begin()
    run.ok("a")
    run.bad("c")
    assert run.ready() == ["a.compensate"]
    run.ok("a.compensate")
    assert "b.compensate" not in run.run.steps


def test_a_succeeded_run_is_not_compensated():
    run = Driver(plan(step("a", undo=undo("a")))).begin()
    run.ok("a")
    assert run.ended.value == "succeeded"


def test_finished_items_of_a_foreach_are_compensated_each():
    inner = step("l.x", undo=undo("l.x", given="=item"))
    run = Driver(plan(foreach("l", "['a', 'b', 'c']", inner, concurrency=3))).begin()
    run.ok("l[1].x")
    run.ok("l[0].x")
    run.bad("l[2].x")
    seen = []
    while run.ready():
        (path,) = run.ready()
        seen.append((path, run.run.steps[path].input["with"]))
        run.ok(path)
    assert seen == [("l[0].x.compensate", "a"), ("l[1].x.compensate", "b")]


def test_a_compensation_in_a_loop_sees_what_its_step_saw():
    undo_x = undo("r.x", given={"t": "=turn", "p": "=previous", "o": "=steps.x.output"})
    made = plan(
        repeat("r", "turn == 2", step("r.x", undo=undo_x), max_=3), fail("f", "no", after="r")
    )
    run = Driver(made).begin()
    for i in range(3):
        run.ok(f"r[{i}].x", f"v{i}")
    run.ok("r[2].x.compensate")
    seen = [run.run.steps[f"r[{i}].x.compensate"].input for i in (2, 1)]
    assert [s["with"] for s in seen] == [
        {"t": 2, "p": "v1", "o": "v2"},
        {"t": 1, "p": "v0", "o": "v1"},
    ]


def test_a_compensation_can_be_retried_guarded_and_a_composite():
    made = plan(
        step("a", undo=undo("a", retry=retry(2))),
        step("b", undo=undo("b", when="false"), after="a"),
        step("c", undo=foreach("c.compensate", "[1, 2]", step("c.compensate.x")), after="b"),
        fail("x", "no", after="c"),
    )
    run = Driver(made).begin()
    for name in "abc":
        run.ok(name)
    assert run.ready() == ["c.compensate[0].x"]
    run.ok("c.compensate[0].x")
    run.ok("c.compensate[1].x")
    assert run.state("b.compensate") == "skipped(guard)"
    run.bad("a.compensate")
    run.ok("a.compensate")
    assert run.ended.value == "failed"


def test_finally_runs_after_compensation_whatever_the_outcome():
    for outcome in ("succeeded", "failed"):
        made = plan(step("a"), finally_=[step("f", given="=run.status"), step("g", needs="f")])
        run = Driver(made).begin()
        (run.ok if outcome == "succeeded" else run.bad)("a")
        assert run.run.state is RunState.FINISHING
        assert run.run.outcome == outcome
        run.ok("f")
        run.ok("g")
        assert run.run.steps["f"].input["with"] == outcome
        assert run.ended.value == outcome


def test_finally_may_read_any_step_as_maybe_absent():
    made = plan(step("a"), finally_=[step("f", awaits="a", given="=steps.a.status")])
    run = Driver(made).begin()
    run.bad("a")
    assert run.run.steps["f"].input["with"] == "failed"


def test_a_plain_read_in_finally_of_a_step_that_failed_skips_it():
    run = Driver(plan(step("a"), finally_=[step("f", needs="a")])).begin()
    run.bad("a")
    assert run.state("f") == "skipped(upstream)"
    assert run.ended.value == "failed"


def test_a_failing_finally_fails_a_succeeded_run_only():
    made = plan(step("a"), outputs={"x": 1}, finally_=[step("f")])
    run = Driver(made).begin()
    run.ok("a")
    run.bad("f", "network")
    assert (run.ended.value, run.run.error.error_class) == ("failed", "network")
    assert run.run.outputs is None
    run = Driver(made).begin()
    run.bad("a", "http_4xx")
    run.bad("f", "network")
    assert (run.ended.value, run.run.error.error_class) == ("failed", "http_4xx")


def test_finally_may_be_a_graph_of_its_own():
    made = plan(
        step("a"),
        finally_=[
            switch("s", ("run.status == 'failed'", "page"), (None, "end")),
            step("page", after="s:#0"),
            foreach("l", "[1, 2]", step("l.x"), after="page:done"),
        ],
    )
    run = Driver(made).begin()
    run.bad("a")
    assert run.ready() == ["page"]
    run.drain()
    assert run.state("l") == "succeeded"
    assert run.ended.value == "failed"


def test_the_runs_deadline_does_not_apply_to_clean_up_and_its_own_does():
    made = plan(step("a"), finally_=[step("f"), step("g", after="f")], deadline=10.0)
    run = Driver(made).begin()
    run.now += timedelta(seconds=9)
    run.ok("a")
    run.claim("f")
    assert run.wake() == run.now + timedelta(seconds=60)
    run.later(59)
    assert run.state("f") == "running"
    run.later(1)
    assert Kill(path="f", token=1) in run.commands
    assert run.states("f", "g") == {"f": "timed_out", "g": "cancelled"}
    assert (run.ended.value, run.run.error.error_class) == ("failed", "timeout")


def test_the_clean_up_deadline_bounds_compensation_too():
    made = plan(
        step("a", undo=undo("a")),
        step("b", undo=undo("b"), after="a"),
        fail("x", "no", after="b"),
        finally_=[step("f")],
        cleanup_deadline=5.0,
    )
    run = Driver(made).begin()
    run.ok("a")
    run.ok("b")
    run.claim("b.compensate")
    run.later(5)
    assert run.states("b.compensate", "a.compensate", "f") == {
        "b.compensate": "timed_out",
        "a.compensate": "cancelled",
        "f": "cancelled",
    }
    assert run.ended.value == "failed"


def test_a_run_that_fails_while_a_loop_waits_stops_the_inside_of_the_loop():
    made = plan(
        step("a"),
        repeat("r", "true", approve("r.ask"), step("r.x", needs="r.ask"), max_=1),
        on_failure="stop",
    )
    run = Driver(made).begin()
    run.bad("a")
    assert run.states("r", "r[0].ask", "r[0].x") == dict.fromkeys(
        ("r", "r[0].ask", "r[0].x"), "cancelled"
    )


@pytest.mark.parametrize("error_class", ["timeout", "user"])
def test_a_run_is_timed_out_only_by_its_own_deadline(error_class: str):
    run = Driver(plan(step("a"))).begin()
    run.bad("a", error_class)
    assert run.ended.value == "failed"
