"""Deadlines of runs, pauses, and clocks that stand still."""

from __future__ import annotations

from datetime import timedelta

from dagflow.core.run import Begin, Claim, Kill, Pause, Resume, Run
from dagflow.executor.replay import replay
from tests.unit.executor.plans import START, Driver, approve, plan, repeat, step, switch, wait


def after(seconds: float):
    return START + timedelta(seconds=seconds)


def test_the_runs_deadline_counts_from_submission():
    run = Driver(plan(step("a"), deadline=30.0))
    run.now += timedelta(seconds=10)
    run.begin()
    assert run.run.deadline_at == after(30)


def test_a_child_is_bounded_by_its_parents_deadline_too():
    bounded = Run(id="r", plan="", inputs={}, created_at=START, deadline_at=after(5))
    assert Driver(plan(step("a"), deadline=30.0), run=bounded).begin().run.deadline_at == after(5)


def test_a_run_past_its_deadline_is_timed_out_and_what_runs_is_killed():
    run = Driver(plan(step("a"), step("b", after="a"), deadline=30.0)).begin()
    run.claim("a")
    assert run.wake() == after(30)
    run.later(30)
    assert run.ended.value == "timed_out"
    assert run.run.error.error_class == "timeout"
    assert Kill(path="a", token=1) in run.commands
    assert run.states("a", "b") == {"a": "cancelled", "b": "cancelled"}


def test_a_report_after_the_runs_deadline_is_void_even_before_the_tick():
    run = Driver(plan(step("a"), deadline=30.0)).begin()
    run.claim("a")
    run.now += timedelta(seconds=30)
    run.ok("a")
    assert run.refused
    assert run.ended.value == "timed_out"


def test_a_run_can_be_late_before_it_begins():
    run = Driver(plan(step("a"), deadline=30.0))
    run.later(31)
    assert run.ended.value == "timed_out"
    run.send(Begin())
    assert run.refused


def test_a_paused_run_starts_no_step_and_records_what_ends():
    run = Driver(
        plan(step("a"), switch("s", (None, "end"), after="a"), step("b", after="s"))
    ).begin()
    run.claim("a")
    run.send(Pause())
    assert run.run.state.value == "paused"
    run.ok("a", 1)
    assert run.states("a", "s", "b") == {"a": "succeeded", "s": "ready", "b": "pending"}
    run.send(Resume())
    assert run.states("s", "b") == {"s": "succeeded", "b": "ready"}


def test_a_ready_step_is_not_claimed_in_a_pause_and_rung_for_after_it():
    run = Driver(plan(step("a"))).begin()
    run.send(Pause())
    run.send(Claim(path="a", worker="w", until=START))
    assert run.refused
    run.send(Resume())
    assert run.dispatched() == ["a", "a"]
    run.ok("a")
    assert run.ended.value == "succeeded"


def test_in_a_pause_deadline_and_timeouts_stand_still():
    run = Driver(plan(step("a", timeout=5.0, deadline=8.0), deadline=10.0)).begin()
    run.claim("a")
    run.later(4)
    run.send(Pause())
    assert run.wake() is None
    run.later(100)
    run.send(Resume())
    assert run.run.deadline_at == after(110)
    assert run.run.steps["a"].due == after(105)
    assert run.run.steps["a"].deadline_at == after(108)
    assert run.wake() == after(105)


def test_in_a_pause_expires_runs():
    run = Driver(plan(approve("a", expires=10))).begin()
    run.send(Pause())
    assert run.wake() == after(10)
    run.later(10)
    assert run.error("a") == "rejected"
    assert run.run.state.value == "paused"
    run.send(Resume())
    assert run.ended.value == "failed"


def test_a_run_whose_last_step_ends_in_a_pause_ends_after_it():
    run = Driver(plan(step("a"), finally_=[step("f")])).begin()
    run.claim("a")
    run.send(Pause())
    run.ok("a")
    assert (run.run.state.value, run.state("f")) == ("paused", "pending")
    run.send(Resume())
    assert run.state("f") == "ready"


def test_a_failure_that_stops_the_run_does_so_after_the_pause():
    made = plan(step("a"), step("b"), step("c"), finally_=[step("f")], on_failure="stop")
    run = Driver(made).begin()
    run.claim("a")
    run.claim("b")
    run.send(Pause())
    run.bad("a")
    assert (run.run.state.value, run.states("b", "c")) == (
        "paused", {"b": "running", "c": "ready"},
    )  # fmt: skip
    run.send(Resume())
    assert (run.run.state.value, run.run.outcome) == ("finishing", "failed")
    assert run.states("b", "c", "f") == {"b": "cancelled", "c": "cancelled", "f": "ready"}
    assert run.dispatched()[-1] == "f"
    run.ok("f")
    assert run.ended.value == "failed"


def test_a_run_that_a_failure_will_stop_can_be_cancelled_in_the_pause():
    made = plan(step("a"), step("b"), finally_=[step("f")], on_failure="stop")
    run = Driver(made).begin()
    run.claim("a")
    run.send(Pause())
    run.bad("a")
    run.cancel()
    run.ok("f")
    assert run.ended.value == "cancelled"


def test_a_queued_run_can_be_paused_and_goes_on_queued():
    run = Driver(plan(step("a"), deadline=30.0))
    run.send(Pause())
    run.send(Begin())
    assert run.refused
    run.later(60)
    run.send(Resume())
    assert run.run.state.value == "queued"


def test_a_paused_run_can_be_cancelled():
    run = Driver(plan(step("a"))).begin()
    run.send(Pause())
    run.cancel()
    assert run.ended.value == "cancelled"


def test_pause_clock_stops_the_runs_deadline_while_nothing_else_is_ready_or_running():
    made = plan(approve("a", pause_clock=True), step("b"), deadline=10.0)
    run = Driver(made).begin()
    assert run.run.clock_stopped_at is None
    run.now += timedelta(seconds=4)
    run.ok("b")
    assert run.run.clock_stopped_at == after(4)
    assert run.wake() is None
    run.later(1000)
    run.answer("a")
    assert run.ended.value == "succeeded"


def test_the_clock_goes_on_from_where_it_stood():
    made = plan(approve("a", pause_clock=True), step("b", after="a"), deadline=10.0)
    run = Driver(made).begin()
    run.later(1000)
    run.answer("a")
    assert (run.run.clock_stopped_at, run.run.deadline_at) == (None, after(1010))
    run.later(10)
    assert run.ended.value == "timed_out"


def test_a_stopped_clock_survives_a_restart():
    made = plan(approve("a", pause_clock=True), step("b", after="a"), deadline=10.0)
    run = Driver(made).begin()
    restarted = Driver(
        made, run=replay(Run(id="r1", plan="", inputs={}, created_at=START), run.log)
    )
    restarted.later(1000)
    assert restarted.run.state.value == "waiting"
    restarted.answer("a")
    assert restarted.run.deadline_at == after(1010)


def test_an_approval_without_pause_clock_does_not_stop_it():
    run = Driver(plan(approve("a"), deadline=10.0)).begin()
    run.later(10)
    assert run.ended.value == "timed_out"


def test_its_own_expiry_runs_while_the_clock_stands():
    run = Driver(plan(approve("a", pause_clock=True, expires=20), deadline=10.0)).begin()
    assert run.wake() == after(20)
    run.later(20)
    assert run.error("a") == "rejected"


def test_a_pause_within_a_stopped_clock_gives_the_time_back_once():
    made = plan(approve("a", pause_clock=True), step("b", after="a"), deadline=10.0)
    run = Driver(made).begin()
    run.later(100)
    run.send(Pause())
    run.later(100)
    run.send(Resume())
    run.answer("a")
    assert run.run.deadline_at == after(210)


def test_a_tick_asks_for_the_next_one():
    run = Driver(plan(wait("v", for_=10), wait("w", for_=20))).begin()
    decision = run.later(10)
    assert [c.at for c in decision.commands] == [after(20)]


def test_timers_that_are_due_together_go_off_in_order_of_their_times():
    made = plan(repeat("r", "true", wait("r.w", for_=10), max_=1, timeout=15.0))
    run = Driver(made).begin()
    run.later(100)
    assert run.state("r") == "succeeded"
