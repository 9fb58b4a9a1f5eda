"""`when`, `with`, `switch`: an error is never taken as false."""

from __future__ import annotations

from tests.unit.executor.plans import Driver, plan, retry, step, switch


def test_a_false_guard_skips_before_with_is_looked_at():
    run = Driver(plan(step("a", when="false", given="=1/0"))).begin()
    assert run.state("a") == "skipped(guard)"
    assert run.ended.value == "succeeded"


def test_an_error_in_a_guard_fails_the_step_with_class_guard():
    run = Driver(plan(step("a", when="1/0 == 1"))).begin()
    assert (run.state("a"), run.error("a")) == ("failed", "guard")
    assert run.ended.value == "failed"


def test_a_guard_that_is_no_boolean_fails_with_class_guard():
    run = Driver(plan(step("a", when="1"))).begin()
    assert (run.state("a"), run.error("a")) == ("failed", "guard")


def test_an_error_in_with_fails_the_step_with_class_expression():
    run = Driver(plan(step("a", given="=1/0"))).begin()
    assert (run.state("a"), run.error("a")) == ("failed", "expression")


def test_arguments_that_break_their_schema_fail_with_class_schema():
    made = plan(step("a", given="='x'", input_schema={"type": "integer"}, check_input=True))
    run = Driver(made).begin()
    assert (run.state("a"), run.error("a")) == ("failed", "schema")


def test_a_guard_error_can_be_handled():
    made = plan(
        step("a", when="1/0 == 1", on_error=[("guard", {"continue": 7})]), step("b", needs="a")
    )
    run = Driver(made).begin()
    assert (run.state("a"), run.output("a"), run.error("a")) == ("succeeded", 7, "guard")
    assert run.state("b") == "ready"


def test_a_switch_takes_the_first_true_branch():
    made = plan(
        switch("s", ("false", "a"), ("true", "b"), ("true", "c"), (None, "d")),
        *[step(name, after=f"s:#{i}") for i, name in enumerate("abcd")],
    )
    run = Driver(made).begin()
    assert run.output("s") == {"branch": 1}
    assert run.ready() == ["b"]


def test_a_switch_that_takes_no_branch_succeeds_with_null():
    run = Driver(plan(switch("s", ("false", "a")), step("a", after="s:#0"))).begin()
    assert (run.state("s"), run.output("s")) == ("succeeded", {"branch": None})
    assert run.state("a") == "skipped(upstream)"
    assert run.ended.value == "succeeded"


def test_an_error_in_a_condition_fails_the_switch_and_no_branch_is_taken():
    made = plan(
        switch("s", ("1/0 == 1", "a"), (None, "b")),
        step("a", after="s:#0"),
        step("b", after="s:#1"),
    )
    run = Driver(made).begin()
    assert (run.state("s"), run.error("s")) == ("failed", "guard")
    assert run.states("a", "b") == {"a": "skipped(upstream)", "b": "skipped(upstream)"}


def test_templates_are_rendered_once_and_secrets_stay_references():
    run = Driver(
        plan(step("a", given={"k": "=secrets.KEY", "n": "=inputs['n']"})), {"n": 3}
    ).begin()
    assert run.run.steps["a"].input == {"with": {"k": "\ue000secret:KEY\ue001", "n": 3}, "body": {}}


def test_output_is_visible_only_of_a_step_that_succeeded():
    made = plan(step("a"), step("b", awaits="a", given="=steps.a"))
    run = Driver(made).begin()
    run.bad("a")
    seen = run.run.steps["b"].input["with"]
    assert seen == {
        "status": "failed",
        "error": {"class": "user", "message": "it broke", "attempt": 1},
    }


def test_error_is_visible_of_a_step_that_failed_or_recovered_and_not_after_a_retry_that_went_well():
    made = plan(
        step("a", retry=retry(2)),
        step("b", on_error=[("user", {"continue": 7})]),
        step("c", awaits="a b", given={"a": "=steps.a", "b": "=steps.b"}),
    )
    run = Driver(made).begin()
    run.bad("a", "network")
    run.ok("a")
    run.bad("b", "user")
    seen = run.run.steps["c"].input["with"]
    assert seen["a"] == {"status": "succeeded", "output": None}
    assert seen["b"]["error"]["class"] == "user"
