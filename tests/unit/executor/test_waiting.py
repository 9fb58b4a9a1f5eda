"""approve, wait, workflow."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta

import pytest

from dagflow.core.plan import BudgetLimits
from dagflow.core.run import (
    ChildEnded,
    Decide,
    HoldChild,
    Pause,
    Resume,
    Run,
    RunState,
    SignalTaken,
    StartChild,
    StepFailure,
    StopChild,
)
from dagflow.executor.decide import approval_hash
from tests.unit.executor.plans import (
    START,
    Driver,
    approve,
    foreach,
    plan,
    repeat,
    retry,
    step,
    wait,
)


def test_an_approval_gives_who_when_and_what_they_said():
    run = Driver(plan(approve("a"))).begin()
    assert (run.state("a"), run.run.state.value) == ("waiting(approval)", "waiting")
    run.answer("a", by="ann")
    assert run.output("a") == {"by": "ann", "at": "2026-01-01T00:00:00.000000Z", "comment": ""}


def test_a_rejection_fails_with_class_rejected():
    run = Driver(plan(approve("a"))).begin()
    run.answer("a", yes=False)
    assert (run.state("a"), run.error("a")) == ("failed", "rejected")


def test_an_answer_is_bound_to_the_exact_arguments():
    run = Driver(plan(approve("a", "=inputs['m']", given={"sum": 5})), {"m": "pay?"}).begin()
    assert run.run.steps["a"].data["hash"] == approval_hash("a", 1, {"sum": 5}, "pay?")
    for wrong in ("", approval_hash("a", 1, {"sum": 6}, "pay?")):
        run.send(Decide(path="a", approve=True, by="ann", arguments=wrong))
        assert run.refused
    assert run.state("a") == "waiting(approval)"


def test_an_answer_does_not_count_for_the_question_of_a_loop_that_begins_again():
    loop = foreach("l", "[1]", approve("a"), timeout=10.0, retry=retry(2, backoff=5.0))
    run = Driver(plan(loop)).begin()
    first = str(run.run.steps["l[0].a"].data["hash"])
    run.later(11)
    run.later(60)
    assert run.state("l[0].a") == "waiting(approval)"

    run.send(Decide(path="l[0].a", approve=True, by="ann", arguments=first))

    assert run.refused
    assert run.state("l[0].a") == "waiting(approval)"


def test_an_approval_is_decided_once():
    run = Driver(plan(approve("a"))).begin()
    run.answer("a", by="ann")
    run.answer("a", yes=False, by="bob")
    assert run.refused
    assert run.output("a")["by"] == "ann"


def test_an_expired_approval_can_not_be_answered_even_before_the_tick():
    run = Driver(plan(approve("a", expires=10))).begin()
    run.now += timedelta(seconds=10)
    run.answer("a")
    assert run.refused
    run.later(0)
    assert run.state("a") == "failed"


def test_expiry_rejects_fails_or_goes_elsewhere_and_never_approves():
    for how, error in ((None, "rejected"), ("reject", "rejected"), ("fail", "expired")):
        run = Driver(plan(approve("a", expires=10, on_expiry=how))).begin()
        assert run.wake() == START + timedelta(seconds=10)
        run.later(10)
        assert (run.state("a"), run.error("a"), run.ended.value) == ("failed", error, "failed")
    made = plan(approve("a", expires=10, on_expiry="goto", goto="b"), step("b", after="a:goto"))
    run = Driver(made).begin()
    run.later(10)
    assert (run.state("a"), run.error("a"), run.state("b")) == ("failed", "expired", "ready")
    run.ok("b")
    assert run.ended.value == "succeeded"


def test_an_approval_on_a_cancelled_run_is_refused():
    run = Driver(plan(approve("a"))).begin()
    run.cancel()
    run.answer("a")
    assert run.refused


def test_wait_for_a_duration_ends_when_it_is_over():
    run = Driver(plan(wait("w", for_=60), step("a", after="w"))).begin()
    assert (run.state("w"), run.wake()) == ("waiting(timer)", START + timedelta(seconds=60))
    run.later(59)
    assert run.state("w") == "waiting(timer)"
    run.later(1)
    assert (run.state("w"), run.output("w"), run.state("a")) == ("succeeded", None, "ready")


def test_wait_until_an_instant():
    run = Driver(plan(wait("w", until="2026-01-01T02:00:00+01:00"))).begin()
    assert run.wake() == START + timedelta(hours=1)
    run.later(3600)
    assert run.ended.value == "succeeded"


def test_an_instant_in_the_past_waits_no_time():
    run = Driver(plan(wait("w", until="2025-01-01T00:00:00Z"))).begin()
    assert run.ended.value == "succeeded"


def test_what_is_no_instant_fails_with_class_expression():
    for text in ("tomorrow", "2026-01-01T00:00:00"):
        run = Driver(plan(wait("w", until=text))).begin()
        assert (run.state("w"), run.error("w")) == ("failed", "expression")


def test_a_signal_ends_the_step_that_waits_for_it():
    run = Driver(plan(wait("w", signal="go"))).begin()
    assert run.state("w") == "waiting(signal)"
    run.signal("go", {"n": 1})
    assert (run.state("w"), run.output("w")) == ("succeeded", {"n": 1})


def test_a_signal_before_its_wait_is_queued_in_order():
    made = plan(step("a"), wait("w", signal="go", after="a"), wait("v", signal="go", after="w"))
    run = Driver(made).begin()
    run.signal("go", 1)
    run.signal("go", 2)
    run.ok("a")
    assert (run.output("w"), run.output("v")) == (1, 2)


def test_signals_go_to_the_step_that_waits_longest():
    made = plan(wait("w", signal="go", after="a"), wait("v", signal="go"), step("a"))
    run = Driver(made).begin()
    run.now += timedelta(seconds=1)
    run.ok("a")
    run.signal("go", 1)
    run.signal("go", 2)
    assert (run.output("v"), run.output("w")) == (1, 2)


def test_a_payload_of_the_wrong_type_is_refused():
    run = Driver(plan(wait("w", signal="go", output_schema={"type": "integer"}))).begin()
    run.signal("go", "text")
    assert "wrong type" in run.refused
    assert run.state("w") == "waiting(signal)"


def test_a_signal_that_no_step_can_take_is_refused():
    run = Driver(plan(wait("w", signal="go"), step("a"))).begin()
    run.signal("stop")
    assert run.refused
    run.signal("go")
    run.signal("go")
    assert run.refused
    assert run.run.signals == {"go": []}


def test_a_signal_that_is_left_over_is_recorded_at_the_end():
    made = plan(step("a"), wait("w", signal="go", after="a"))
    run = Driver(made).begin()
    run.signal("go")
    run.bad("a")
    assert run.ended.value == "failed"
    assert [c for c in run.log if isinstance(c, SignalTaken)] == [
        SignalTaken(name="go", path=None, at=START)
    ]


def test_a_wait_for_a_signal_expires():
    run = Driver(plan(wait("w", signal="go", expires=5))).begin()
    run.later(5)
    assert (run.state("w"), run.error("w")) == ("failed", "expired")


def child(**options: object):
    return plan(step("c", "workflow", given={"x": 1}, **options), deadline=60.0)


def test_a_child_run_gets_its_inputs_and_the_remaining_deadline():
    run = Driver(child()).begin()
    (start,) = [c for c in run.commands if isinstance(c, StartChild)]
    assert (start.path, start.inputs) == ("c", {"x": 1})
    assert start.deadline_at == START + timedelta(seconds=60)
    assert run.state("c") == "waiting(child)"


def test_a_childs_outputs_are_the_steps_output():
    run = Driver(child()).begin()
    run.send(ChildEnded(path="c", state=RunState.SUCCEEDED, outputs={"y": 2}))
    assert (run.state("c"), run.output("c")) == ("succeeded", {"y": 2})
    run.send(ChildEnded(path="c", state=RunState.FAILED, outputs=None))
    assert run.refused


def test_a_childs_error_class_comes_up():
    run = Driver(child()).begin()
    error = StepFailure(error_class="http_5xx", message="down")
    run.send(ChildEnded(path="c", state=RunState.FAILED, outputs=None, error=error))
    assert (run.state("c"), run.error("c")) == ("failed", "http_5xx")
    run = Driver(child()).begin()
    run.send(ChildEnded(path="c", state=RunState.TIMED_OUT, outputs=None))
    assert (run.state("c"), run.error("c")) == ("timed_out", "timeout")


@pytest.mark.parametrize("place", ["finally", "compensation"])
def test_a_child_run_for_cleaning_up_has_the_cleanup_deadline(place: str):
    call = step("a.compensate" if place == "compensation" else "f", "workflow")
    made = plan(
        step("a", undo=call if place == "compensation" else None),
        step("b", after="a"),
        finally_=[call] if place == "finally" else [],
        deadline=5.0,
        cleanup_deadline=30.0,
    )
    run = Driver(made).begin()
    run.ok("a")
    run.later(5)
    (start,) = [c for c in run.commands if isinstance(c, StartChild)]
    assert start.deadline_at == START + timedelta(seconds=35)


def test_a_retried_child_is_another_run_and_the_first_ones_end_is_void():
    run = Driver(child(retry=retry(2))).begin()
    error = StepFailure(error_class="network", message="down")
    run.send(ChildEnded(path="c", state=RunState.FAILED, outputs=None, error=error))
    first, second = [c.key for c in run.commands if isinstance(c, StartChild)]
    assert first != second
    run.send(ChildEnded(path="c", state=RunState.SUCCEEDED, outputs={}, key=first))
    assert run.refused
    run.send(ChildEnded(path="c", state=RunState.SUCCEEDED, outputs={}, key=second))
    assert run.state("c") == "succeeded"


@pytest.mark.parametrize("composite", ["foreach", "repeat"])
def test_a_composite_that_begins_again_asks_for_another_child_run(composite: str):
    inner = step("l.x", "workflow")
    options = {"timeout": 5.0, "retry": retry(2)}
    loop = (
        foreach("l", "[1]", inner, **options)
        if composite == "foreach"
        else repeat("l", "true", inner, max_=1, **options)
    )
    run = Driver(plan(loop)).begin()
    run.later(5)
    first, second = [c.key for c in run.commands if isinstance(c, StartChild)]
    assert [c.key for c in run.commands if isinstance(c, StopChild)] == [first]
    assert first != second
    run.send(ChildEnded(path="l[0].x", state=RunState.CANCELLED, outputs=None, key=first))
    assert (run.refused[:4], run.state("l[0].x")) == ("step", "waiting(child)")
    run.send(ChildEnded(path="l[0].x", state=RunState.SUCCEEDED, outputs={}, key=second))
    assert run.state("l") == "succeeded"


def test_a_child_run_gets_what_is_left_of_the_budget():
    made = plan(
        foreach("l", "[1, 2]", step("l.x")),
        step("c", "workflow", after="l"),
        budget=BudgetLimits(items=3, tokens=100),
    )
    run = Driver(made).begin()
    run.drain({})
    (start,) = [c for c in run.commands if isinstance(c, StartChild)]
    assert start.budget == {"items": 1, "tokens": 100}


def test_what_running_answers_may_take_is_not_left_to_a_child_run():
    asks = step("a", "llm", body={"max_tokens": 60})
    made = plan(asks, step("b"), step("c", "workflow", after="b"), budget=BudgetLimits(tokens=100))
    run = Driver(made).begin()
    run.claim("a")
    run.ok("b")
    (start,) = [c for c in run.commands if isinstance(c, StartChild)]
    assert start.budget == {"tokens": 40}


def test_a_child_run_is_held_to_its_own_budget_and_to_its_parents():
    def child_of(parent: dict[str, int]) -> Driver:
        made = plan(foreach("l", "[1, 2]", step("l.x")), budget=BudgetLimits(items=2))
        run = Run(id="r1", plan="", inputs={}, created_at=START, budget=parent)
        return Driver(made, run=run).begin()

    assert child_of({"items": 1}).error("l") == "budget"
    assert child_of({"items": 2, "tokens": 0}).state("l") == "waiting(child)"


def test_what_a_child_used_counts_in_its_parent():
    made = plan(
        step("c", "workflow"), step("t", "tool", after="c"), budget=BudgetLimits(tool_calls=2)
    )
    run = Driver(made).begin()
    used = {"tool_calls": 2, "tokens": 30}
    run.send(ChildEnded(path="c", state=RunState.SUCCEEDED, outputs={}, used=used))
    run.claim("t")
    assert (run.run.used, run.error("t")) == (used, "budget")


def test_a_child_that_was_given_up_counts_once():
    made = plan(step("c", "workflow", timeout=5.0, retry=retry(2)))
    run = Driver(made).begin()
    (first,) = [c.key for c in run.commands if isinstance(c, StartChild)]
    run.later(5)
    late = ChildEnded(
        path="c", state=RunState.CANCELLED, outputs=None, key=first, used={"tokens": 7}
    )
    run.send(late)
    run.send(late)
    assert run.refused
    assert (run.state("c"), run.run.used) == ("waiting(child)", {"tokens": 7})


def test_what_a_child_tells_again_counts_by_what_it_has_grown():
    run = Driver(plan(step("c", "workflow"), step("a"))).begin()
    (start,) = [c for c in run.commands if isinstance(c, StartChild)]
    for used in ({"tokens": 7}, {"tokens": 9, "tool_calls": 1}, {"tokens": 7}):
        told = ChildEnded(path="c", state=RunState.SUCCEEDED, outputs={}, key=start.key, used=used)
        run.send(told)
    assert run.run.used == {"tokens": 9, "tool_calls": 1}


def test_what_was_counted_of_a_child_survives_a_repeat_of_the_loop_around_it():
    inner = step("l.x", "workflow")
    made = plan(foreach("l", "[1]", inner, timeout=5.0, retry=retry(2, backoff=60.0)))
    run = Driver(made).begin()
    (start,) = [c for c in run.commands if isinstance(c, StartChild)]
    late = ChildEnded(
        path="l[0].x", state=RunState.CANCELLED, outputs=None, key=start.key, used={"tokens": 7}
    )
    run.later(5)
    run.send(late)
    run.later(60)
    assert run.state("l[0].x") == "waiting(child)"
    run.send(late)
    assert run.run.used == {"items": 1, "tokens": 7}


def test_a_step_that_is_pending_again_may_be_told_of_its_earlier_child():
    """Also where it counts the producers of its wide join in its record."""
    names = [f"l.p{i}" for i in range(40)]
    call = step("l.x", "workflow", after=" ".join(names))
    loop = foreach("l", "[1]", *map(step, names), call, timeout=5.0, retry=retry(2))
    run = Driver(plan(loop)).begin()
    run.drain()
    (start,) = [c for c in run.commands if isinstance(c, StartChild)]
    run.later(5)
    assert run.state("l[0].x") == "pending"
    late = ChildEnded(
        path="l[0].x", state=RunState.CANCELLED, outputs=None, key=start.key, used={"tokens": 7}
    )
    run.send(late)
    run.drain()
    run.send(late)
    assert (run.state("l[0].x"), run.run.used["tokens"]) == ("waiting(child)", 7)


def test_a_run_that_is_over_counts_what_its_child_used_and_does_nothing_else():
    run = Driver(plan(step("c", "workflow"), step("a"), finally_=[step("f")])).begin()
    (start,) = [c for c in run.commands if isinstance(c, StartChild)]
    run.cancel()
    run.drain()
    before = deepcopy(run.run)
    late = ChildEnded(
        path="c", state=RunState.CANCELLED, outputs=None, key=start.key, used={"tokens": 7}
    )
    decision = run.send(late)
    assert (run.refused[:6], decision.commands) == ("step c", ())
    before.used = {"tokens": 7}
    before.steps["c"].counted = {start.key: {"tokens": 7}}
    assert run.run == before


def test_pause_and_resume_go_down_to_the_child():
    run = Driver(child()).begin()
    (started,) = [c for c in run.commands if isinstance(c, StartChild)]
    assert HoldChild(key=started.key, paused=True) in run.send(Pause()).commands
    assert HoldChild(key=started.key, paused=False) in run.send(Resume()).commands


def test_an_order_of_the_parent_that_comes_after_a_later_one_is_void():
    run = Driver(plan(step("a"))).begin()

    run.send(Resume(order=7))
    assert run.send(Pause(order=6)).refused == "run r1 has had a later order of its parent"
    assert not run.run.paused

    run.send(Pause(order=8))
    assert run.run.paused
    assert not run.send(Resume()).refused, "a person's order always counts"


def test_a_child_that_is_over_is_not_held():
    run = Driver(plan(step("c", "workflow"), step("a"))).begin()
    run.send(ChildEnded(path="c", state=RunState.SUCCEEDED, outputs={}))
    assert run.send(Pause()).commands == ()


def test_cancel_goes_down_to_the_child():
    run = Driver(child()).begin()
    run.cancel()
    (start,) = [command for command in run.commands if isinstance(command, StartChild)]
    assert StopChild(path="c", key=start.key) in run.commands
    assert run.ended.value == "cancelled"
