"""Retries, handlers, lost leases, unknown outcomes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dagflow.core.plan import RetryPolicy
from dagflow.core.run import ChildEnded, Kill, LoseLease, RunState, Settle, StepFailure
from dagflow.executor.machine.retry import delay
from tests.unit.executor.plans import START, Driver, fail, plan, repeat, retry, step


def lose(run: Driver, path: str, *, released: bool = False) -> None:
    if run.state(path) == "ready":
        run.claim(path)
    run.send(LoseLease(path=path, token=run.token(path), released=released))


def test_attempts_counts_the_first():
    run = Driver(plan(step("a", retry=retry(3)))).begin()
    run.bad("a")
    run.bad("a")
    assert run.state("a") == "ready"
    run.bad("a")
    assert run.state("a") == "failed"
    assert run.run.steps["a"].error.attempt == 3


def test_what_is_lost_inside_is_not_a_lease_of_the_loop_or_of_the_workflow_step():
    run = Driver(plan(repeat("r", "true", step("r.x"), step("r.y"), max_=1))).begin()
    run.ok("r[0].y")
    for _ in range(4):
        lose(run, "r[0].x")
    assert (run.state("r"), run.error("r"), run.run.steps["r"].attempt) == ("failed", "lost", 1)
    child = Driver(plan(step("w", "workflow"))).begin()
    failure = StepFailure(error_class="lost", message="a step of it was lost")
    child.send(ChildEnded(path="w", state=RunState.FAILED, outputs=None, error=failure))
    assert (child.state("w"), child.run.steps["w"].attempt) == ("failed", 1)


def test_only_the_classes_of_the_policy_are_retried():
    run = Driver(plan(step("a", retry=retry(3, on=("network",))))).begin()
    run.bad("a", "http_4xx")
    assert run.state("a") == "failed"


def test_a_backoff_waits_and_then_the_step_is_ready_again():
    run = Driver(plan(step("a", retry=retry(3, backoff=2)))).begin()
    run.bad("a")
    assert run.state("a") == "waiting(backoff)"
    assert run.wake() == START + timedelta(seconds=2)
    assert run.run.state.value == "waiting"
    run.later(1.9)
    assert run.state("a") == "waiting(backoff)"
    run.later(0.1)
    assert run.state("a") == "ready"
    run.bad("a")
    assert run.wake() == run.now + timedelta(seconds=4)


def test_the_delay_grows_to_its_maximum_and_jitters_the_same_way_every_time():
    policy = RetryPolicy(attempts=9, backoff=1, factor=2, max=5, jitter=0.5)
    delays = [delay(policy, "r", "a", n, None).total_seconds() for n in range(1, 6)]
    assert delays == [delay(policy, "r", "a", n, None).total_seconds() for n in range(1, 6)]
    for got, base in zip(delays, (1, 2, 4, 5, 5), strict=True):
        assert base <= got < base * 1.5
    assert len(set(delays[3:])) == 2


def test_a_delay_that_overflows_is_the_maximum():
    policy = RetryPolicy(backoff=1, factor=100, max=60, jitter=0)
    assert delay(policy, "r", "a", 900, None) == timedelta(seconds=60)


def test_retry_after_is_honoured():
    run = Driver(plan(step("a", retry=retry(3, backoff=1)))).begin()
    run.bad("a", "rate_limited", retry_after=30.0)
    assert run.wake() == START + timedelta(seconds=30)


def test_no_retry_is_planned_beyond_the_steps_deadline():
    run = Driver(plan(step("a", retry=retry(3, backoff=10), deadline=5.0))).begin()
    run.bad("a")
    assert (run.state("a"), run.error("a")) == ("failed", "user")


def test_the_last_attempt_is_cut_by_what_remains():
    run = Driver(plan(step("a", retry=retry(9, backoff=3), timeout=4.0, deadline=5.0))).begin()
    run.bad("a")
    run.later(3)
    run.claim("a")
    assert run.run.steps["a"].due == START + timedelta(seconds=5)
    run.later(2)
    assert (run.state("a"), run.error("a")) == ("timed_out", "timeout")


def test_an_attempt_that_takes_too_long_is_killed_and_retried():
    run = Driver(plan(step("a", retry=retry(2), timeout=4.0))).begin()
    run.claim("a")
    assert run.wake() == START + timedelta(seconds=4)
    run.later(4)
    assert Kill(path="a", token=1) in run.commands
    assert run.state("a") == "ready"
    run.claim("a")
    run.later(4)
    assert (run.state("a"), run.ended.value) == ("timed_out", "failed")


def test_time_in_the_queue_counts_for_the_deadline_and_not_for_the_timeout():
    run = Driver(plan(step("a", timeout=2.0), step("b", deadline=3.0))).begin()
    run.later(2.5)
    assert run.states("a", "b") == {"a": "ready", "b": "ready"}
    run.later(0.5)
    assert run.states("a", "b") == {"a": "ready", "b": "timed_out"}
    run.claim("a")
    assert run.run.steps["a"].due == run.now + timedelta(seconds=2)


def test_a_report_after_the_deadline_is_late_even_before_the_tick():
    run = Driver(plan(step("a", deadline=3.0))).begin()
    run.claim("a")
    run.now += timedelta(seconds=3)
    run.ok("a")
    assert run.state("a") == "timed_out"


def test_continue_succeeds_with_the_value_and_keeps_the_error():
    made = plan(step("a", on_error=[("network", {"continue": 1}), ("", {"continue": 2})]))
    run = Driver(made).begin()
    run.bad("a")
    record = run.run.steps["a"]
    assert (record.state, record.output, record.recovered) == ("succeeded", 2, True)
    assert record.error.error_class == "user"
    assert run.ended.value == "succeeded"


def test_the_first_handler_that_names_the_class_is_used():
    made = plan(step("a", on_error=[("user", {"continue": 1}), ("", {"continue": 2})]))
    run = Driver(made).begin()
    run.bad("a")
    assert run.output("a") == 1


def test_retries_come_before_handlers():
    run = Driver(plan(step("a", retry=retry(2), on_error=[("", {"continue": 1})]))).begin()
    run.bad("a")
    assert run.state("a") == "ready"
    run.bad("a")
    assert run.state("a") == "succeeded"


def test_a_continue_value_must_have_the_output_type():
    made = plan(
        step(
            "a",
            on_error=[("", {"continue": "x"})],
            output_schema={"type": "integer"},
            check_output=True,
        )
    )
    run = Driver(made).begin()
    run.bad("a")
    assert (run.state("a"), run.error("a")) == ("failed", "schema")


def test_goto_leaves_the_step_failed_but_handled():
    made = plan(
        step("a", on_error=[("user", "b")]),
        step("b", after="a:goto"),
        step("c", after="a"),
    )
    run = Driver(made).begin()
    run.bad("a")
    assert run.states("a", "b", "c") == {"a": "failed", "b": "ready", "c": "skipped(upstream)"}
    run.ok("b")
    assert run.ended.value == "succeeded"


def test_the_target_of_a_goto_is_skipped_when_nothing_goes_there():
    made = plan(step("a", on_error=[("user", "b")]), step("b", after="a:goto"))
    run = Driver(made).begin()
    run.ok("a")
    assert run.state("b") == "skipped(upstream)"


def test_an_edge_on_failure_does_not_handle():
    run = Driver(plan(step("a"), step("b", after="a:failure"))).begin()
    run.bad("a")
    run.ok("b")
    assert run.ended.value == "failed"
    assert run.run.error.error_class == "user"


def test_fail_ends_with_its_message_and_class_user():
    run = Driver(plan(fail("a", "=inputs['why']")), {"why": "no stock"}).begin()
    error = run.run.steps["a"].error
    assert (error.error_class, error.message) == ("user", "no stock")
    assert run.run.error.message == "step a: no stock"


def test_a_lost_lease_is_retried_three_times_beside_the_policy():
    run = Driver(plan(step("a", retry=retry(2)))).begin()
    for _ in range(3):
        lose(run, "a")
        assert run.state("a") == "ready"
    run.bad("a")
    assert run.state("a") == "ready"
    run.bad("a")
    assert run.state("a") == "failed"


def test_a_step_that_is_lost_again_and_again_fails_with_class_lost():
    run = Driver(plan(step("a"))).begin()
    for _ in range(4):
        lose(run, "a")
    assert (run.state("a"), run.error("a")) == ("failed", "lost")


def test_a_lease_given_back_is_no_attempt():
    run = Driver(plan(step("a"))).begin()
    for _ in range(9):
        lose(run, "a", released=True)
    run.ok("a")
    assert run.run.steps["a"].attempt == 1


def test_a_lost_step_that_may_run_only_once_waits_for_a_person():
    run = Driver(plan(step("a", effects="once", retry=retry(3)), step("b", needs="a"))).begin()
    lose(run, "a")
    assert run.state("a") == "waiting(unknown_outcome)"
    assert run.run.state.value == "waiting"
    run.send(Settle(path="a", succeeded=True, output=5, by="ann"))
    assert (run.state("a"), run.output("a"), run.state("b")) == ("succeeded", 5, "ready")


def test_an_unknown_outcome_can_be_settled_as_failed():
    run = Driver(plan(step("a", effects="once"))).begin()
    lose(run, "a")
    run.send(Settle(path="a", succeeded=False, by="ann"))
    assert (run.state("a"), run.error("a")) == ("failed", "conflict")
    run.send(Settle(path="a", succeeded=True, by="bob"))
    assert run.refused


def test_an_unknown_outcome_is_not_settled_with_a_wrong_value():
    made = plan(step("a", effects="once", output_schema={"type": "integer"}))
    run = Driver(made).begin()
    lose(run, "a")
    run.send(Settle(path="a", succeeded=True, output="five"))
    assert run.refused
    assert run.state("a") == "waiting(unknown_outcome)"


def test_a_call_that_never_left_is_retried_also_where_it_may_happen_only_once():
    run = Driver(plan(step("a", effects="once", retry=retry(2)))).begin()
    run.bad("a", "network", unsent=True)
    assert run.state("a") == "ready"
    run.bad("a", "network", unsent=True)
    assert (run.state("a"), run.error("a")) == ("failed", "network")


@pytest.mark.parametrize("error_class", ["timeout", "network"])
def test_a_step_that_may_run_only_once_is_never_retried_blindly(error_class: str):
    run = Driver(plan(step("a", effects="once", retry=retry(3)))).begin()
    run.bad("a", error_class)
    assert run.state("a") == "waiting(unknown_outcome)"


def test_a_known_failure_of_such_a_step_is_retried():
    run = Driver(plan(step("a", effects="once", retry=retry(3)))).begin()
    run.bad("a", "http_5xx")
    assert run.state("a") == "ready"


def test_a_handler_that_names_lost_is_the_policy_for_an_unknown_outcome():
    made = plan(step("a", effects="once", on_error=[("lost", {"continue": None})]))
    run = Driver(made).begin()
    lose(run, "a")
    assert run.state("a") == "succeeded"


def test_an_output_of_the_wrong_type_is_a_failed_attempt_of_class_schema():
    made = plan(step("a", output_schema={"type": "integer"}, retry=retry(2, on=("schema",))))
    run = Driver(made).begin()
    run.ok("a", "text")
    assert run.state("a") == "ready"
    run.ok("a", "text")
    assert (run.state("a"), run.error("a")) == ("failed", "schema")


@pytest.mark.parametrize("value", [2**63, float("nan"), "\0", "\ud800", {1: 2}])
def test_an_output_that_can_not_be_carried_exactly_is_refused(value: object):
    run = Driver(plan(step("a"))).begin()
    run.ok("a", value)  # type: ignore[arg-type]
    assert (run.state("a"), run.error("a")) == ("failed", "schema")


def test_a_composite_fails_by_the_class_of_what_failed_in_it():
    made = plan(repeat("r", "true", step("r.a"), max_=3, on_error=[("http_5xx", {"continue": 1})]))
    run = Driver(made).begin()
    run.bad("r[0].a", "http_5xx")
    assert (run.state("r"), run.output("r")) == ("succeeded", 1)
