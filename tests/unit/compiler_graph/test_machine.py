"""The moves that a plan lists for each step, and their conditions."""

from __future__ import annotations

import pytest

from dagflow.core.plan import Plan
from dagflow.core.run import MOVES
from tests.unit.compiler_graph.compiling import compiled, planned


def moves(plan: Plan, step: str) -> dict[tuple[str, str], str]:
    return {(c.before, c.after): c.guard for c in plan.constraints if c.step == step}


WHOLE = """
    inputs: {go: boolean, items: {type: array, items: {type: integer}, maxItems: 9}}
    steps:
      plain: {transform: 'inputs.go ? 1 : 2'}
      guarded: {when: inputs.go, transform: steps.plain.output}
      again:
        python: "def main(): return 1"
        output: integer
        retry: {attempts: 3, on: [timeout, lost]}
        compensate: {transform: '1'}
      once: {python: "def main(): return 1", output: integer, effects: once}
      ask:
        approve: {message: ok?, expires: 1h, on_expiry: {goto: instead}}
      instead: {transform: '1'}
      pause: {wait: {for: 1s}}
      hear: {wait: {signal: hello}, output: string}
      loop:
        foreach:
          items: inputs.items
          max_items: 9
          steps:
            one: {python: "def main(): return 1", output: integer}
      refuse: {when: '!inputs.go', fail: refused}
      joined:
        after: [plain, guarded, {step: ask, on: done}]
        join: {at_least: 2}
        transform: '1'
      either: {after: [plain, guarded], join: any, transform: '1'}
    finally:
      note: {transform: run.status}
    """


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned(WHOLE)


def test_every_step_has_moves_of_the_languages_table_only(plan: Plan) -> None:
    steps = {constraint.step for constraint in plan.constraints}

    assert {"plain", "loop", "loop.one", "again.compensate", "note"} <= steps
    assert {(c.before, c.after) for c in plan.constraints} <= MOVES
    assert len({(c.step, c.before, c.after) for c in plan.constraints}) == len(plan.constraints)


def test_every_step_can_be_cancelled_wherever_it_is(plan: Plan) -> None:
    for step in {constraint.step for constraint in plan.constraints}:
        found = moves(plan, step)
        states = {before for before, _ in found}
        assert all((state, "cancelled") in found for state in states), step


def test_entry_without_guard_just_runs(plan: Plan) -> None:
    assert list(moves(plan, "plain")) == [
        ("pending", "ready"), ("pending", "cancelled"), ("ready", "running"),
        ("ready", "failed"), ("ready", "cancelled"), ("running", "ready"),
        ("running", "succeeded"), ("running", "failed"), ("running", "cancelled"),
    ]  # fmt: skip
    assert moves(plan, "plain")["pending", "ready"] == "true"


def test_guard_joins_what_the_step_waits_for(plan: Plan) -> None:
    found = moves(plan, "guarded")

    assert found["pending", "ready"] == 'steps.plain.status == "succeeded" && inputs.go'
    assert found["pending", "skipped(guard)"] == 'steps.plain.status == "succeeded" && !(inputs.go)'
    lost = 'steps.plain.status in ["failed", "timed_out", "skipped", "cancelled"]'
    assert found["pending", "skipped(upstream)"] == lost
    assert ("pending", "failed") in found


def test_retries_give_backoff_with_classes_and_attempts(plan: Plan) -> None:
    found = moves(plan, "again")

    assert found["running", "waiting(backoff)"] == (
        'error.class in ["timeout", "lost"] && attempt - lost < 3'
    )
    assert found["waiting(backoff)", "ready"] == "now >= due"
    assert ("running", "waiting(backoff)") not in moves(plan, "once")


def test_only_once_effects_can_have_an_unknown_outcome(plan: Plan) -> None:
    assert ("running", "waiting(unknown_outcome)") in moves(plan, "once")
    assert ("running", "waiting(unknown_outcome)") not in moves(plan, "again")


@pytest.mark.parametrize(
    ("step", "reason"),
    [("ask", "approval"), ("pause", "timer"), ("hear", "signal"), ("loop", "child")],
)
def test_kinds_wait_for_what_they_wait_for(plan: Plan, step: str, reason: str) -> None:
    waits = {after for _, after in moves(plan, step) if after.startswith("waiting")}

    assert waits == {f"waiting({reason})"}


def test_only_what_has_a_time_bound_times_out(plan: Plan) -> None:
    timed = {c.step for c in plan.constraints if c.after == "timed_out"}

    assert timed == {"again", "again.compensate", "once", "loop", "loop.one", "note"}


def test_fail_step_never_succeeds(plan: Plan) -> None:
    assert all(after != "succeeded" for _, after in moves(plan, "refuse"))


def test_engines_own_kinds_lose_no_lease(plan: Plan) -> None:
    assert ("running", "ready") not in moves(plan, "pause")
    assert ("running", "ready") in moves(plan, "plain")


def test_at_least_counts(plan: Plan) -> None:
    found = moves(plan, "joined")

    assert found["pending", "ready"].startswith("sum([steps.plain.status")
    assert found["pending", "ready"].endswith(">= 2")


def test_any_waits_until_all_are_decided(plan: Plan) -> None:
    ready = moves(plan, "either")["pending", "ready"]

    assert ready.startswith(
        '(steps.plain.status == "succeeded" || steps.guarded.status == "succeeded")'
    )
    assert ready.count('"cancelled"]') == 2


def test_expiry_is_the_condition_of_its_goto(plan: Plan) -> None:
    assert moves(plan, "instead")["pending", "ready"] == (
        'steps.ask.status in ["failed", "timed_out"] && steps.ask.error.class == "expired"'
    )


def test_always_true_guard_leaves_no_way_to_skip_and_that_is_told() -> None:
    made = compiled(
        """
        inputs: {n: integer}
        steps:
          a: {when: 'true || inputs.n > 1', transform: inputs.n + 1}
        outputs:
          a: ${{ steps.a.output }}
        """
    )

    assert made.plan is not None
    assert ("pending", "skipped(guard)") not in moves(made.plan, "a")
    assert moves(made.plan, "a")["pending", "ready"] == "true"
    assert [(r.kind, r.name) for r in made.report.removed] == [
        ("transition", "a: pending -> skipped(guard)"),
        ("transition", "a: pending -> failed"),
    ]


def test_step_that_never_runs_but_is_read_can_only_be_skipped() -> None:
    made = compiled(
        """
        inputs: {n: integer}
        steps:
          a: {transform: inputs.n + 1}
          b: {after: {step: a, on: skipped}, transform: inputs.n}
        outputs:
          a: ${{ steps.a.output }}
          b: ${{ steps.?b.output.orValue(0) }}
        """
    )

    assert made.plan is not None
    assert set(moves(made.plan, "b")) == {
        ("pending", "skipped(upstream)"),
        ("pending", "cancelled"),
    }
    assert [(r.kind, r.name) for r in made.report.removed] == [
        ("transition", "b: pending -> ready")
    ]


def test_names_that_are_no_words_of_the_expression_language_are_quoted() -> None:
    plan = planned(
        """
        inputs: {n: integer}
        steps:
          my-step: {transform: inputs.n + 1}
          b: {after: my-step, transform: inputs.n + 2}
        outputs:
          b: ${{ steps.b.output }}
        """
    )

    assert moves(plan, "b")["pending", "ready"] == 'steps.`my-step`.status == "succeeded"'


def test_a_guard_keeps_its_strings_and_loses_its_comments() -> None:
    made = planned(
        """
        inputs: {text: string}
        steps:
          first: {transform: '1'}
          second:
            after: first
            when: |
              inputs.text == "a  b"  // two blanks
              || inputs.text  ==  "http://c"  // the end
            transform: '1'
        """
    )

    found = moves(made, "second")
    guard = 'inputs.text == "a  b" || inputs.text == "http://c"'
    begun = 'steps.first.status == "succeeded"'
    assert found["pending", "ready"] == f"{begun} && ({guard})"
    assert found["pending", "skipped(guard)"] == f"{begun} && (!({guard}))"
