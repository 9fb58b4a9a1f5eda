"""What a case does beside answering: budgets, stops that come at once, secrets, real code."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dagflow.core.run import Fail, StepFailure, Succeed, Tick
from dagflow.executor.sandbox.cage import Action, Outcome
from dagflow.service.testing.agenda import Agenda
from dagflow.service.testing.paths import selector
from dagflow.service.testing.running import FileResult, run_file
from tests.unit.service.desk import failures

HEAD = "dagflow_test: 1\nworkflow: ./it.yaml\n"


def play(folder: Path, workflow: str, cases: str, cage: object = None) -> FileResult:
    """Run the cases of a workflow of their own."""
    (folder / "it.yaml").write_text(workflow)
    (folder / "it.test.yaml").write_text(HEAD + cases)
    return run_file(str(folder / "it.test.yaml"), cage=cage)


BUDGET = """\
dagflow: 1
name: it
models: {default: {route: local}}
budget: {tokens: 100}
steps:
  first: {llm: {prompt: "Hi", max_tokens: 50}, output: {word: {type: string, maxLength: 9}}}
  then:
    after: first
    llm: {prompt: "Ho", max_tokens: 50}
    output: {word: {type: string, maxLength: 9}}
outputs: {a: "${{ steps.first.output.word }}", b: "${{ steps.then.output.word }}"}
"""


@pytest.mark.parametrize(
    ("tokens", "expect"),
    [
        (50, "{path: [first, then], outputs: {a: x, b: x}}"),
        (51, "{error: budget, path: [first], steps: {then: {status: failed, attempts: 0}}}"),
    ],
)
def test_tokens_of_a_script_count_in_the_budget(tokens: int, expect: str, tmp_path: Path) -> None:
    cases = f"""\
cases:
  - name: it
    models: {{default: {{output: {{word: x}}, tokens: {tokens}}}}}
    expect: {expect}
"""

    assert failures(play(tmp_path, BUDGET, cases)) == []


STOPPED = """\
dagflow: 1
name: it
on_failure: stop
steps:
  ask: {approve: {message: "Go on?", expires: 1h}}
  boom: {fail: "no"}
"""


def test_nobody_is_asked_by_a_step_that_is_stopped_as_it_asks(tmp_path: Path) -> None:
    cases = "cases: [{name: it, expect: {error: user, steps: {ask: cancelled}}}]\n"

    assert failures(play(tmp_path, STOPPED, cases)) == []


ASKING = """\
dagflow: 1
name: it
steps:
  each:
    foreach:
      items: "[1, 2]"
      max_items: 2
      tolerate: 2
      steps: {ask: {approve: {message: "Go on?", expires: 1h}}}
      collect: steps.ask.output.by
outputs: {by: "${{ steps.each.output }}"}
"""


def test_what_a_case_says_goes_before_what_defaults_say_more_exactly(tmp_path: Path) -> None:
    cases = """\
defaults:
  approvals:
    each.ask: {decision: approve, by: ann}
    each[1].ask: {decision: approve, by: bob}
cases:
  - {name: both, expect: {outputs: {by: [ann, bob]}}}
  - {name: one, approvals: {each.ask: reject}, expect: {outputs: {by: [null, null]}}}
"""

    assert failures(play(tmp_path, ASKING, cases)) == []


PRUNED = """\
dagflow: 1
name: it
steps:
  a: {transform: "1"}
  # dagflow: allow unused — a reason
  b: {transform: "2"}
outputs: {a: "${{ steps.a.output }}"}
"""


def test_a_step_that_was_pruned_is_told_as_such(tmp_path: Path) -> None:
    found = play(tmp_path, PRUNED, "cases: [{name: it, expect: {steps: {b: succeeded}}}]\n")

    assert [it.message for it in found.findings] == ["step `b` was pruned: no run shows it"]


MERGED = """\
dagflow: 1
name: it
steps:
  a: {transform: "inputs.n + 1"}
  b: {transform: "inputs.n + 1"}
inputs: {n: integer}
outputs: {both: "${{ steps.a.output + steps.b.output }}"}
"""


def test_a_step_that_became_one_with_another_is_expected_under_its_name(tmp_path: Path) -> None:
    cases = "cases: [{name: it, inputs: {n: 1}, expect: {steps: {b: succeeded}}}]\n"

    (finding,) = play(tmp_path, MERGED, cases).findings

    assert finding.message == "step `b` does what `a` does, and became one with it"
    assert [edit.text for fix in finding.fixes for edit in fix.edits] == ["a"]


SECRET = """\
dagflow: 1
name: it
secrets: [TOKEN]
steps:
  use:
    python: |
      def main(token):
          return {"length": len(token)}
    with: {token: "${{ secrets.TOKEN }}"}
    output: {length: integer}
outputs: {length: "${{ steps.use.output.length }}"}
"""


class Box:
    """A cage that says what it was given, or what it is told to."""

    def __init__(self, result: bytes = b'{"value": {"length": 3}}', kind: str = "ok") -> None:
        self.actions: list[Action] = []
        self._result, self._kind = result, kind

    async def run(self, action: Action) -> Outcome:
        self.actions.append(action)
        message = "" if self._kind == "ok" else "no user namespaces"
        return Outcome(kind=self._kind, exit_code=0, result=self._result, message=message)


REAL = "cases: [{name: it, real: use, expect: {outputs: {length: 3}}}]\n"


def test_real_code_runs_in_the_sandbox_with_a_secret_made_up_from_its_name(tmp_path: Path) -> None:
    cage = Box()

    assert failures(play(tmp_path, SECRET, REAL, cage)) == []
    (action,) = cage.actions
    assert b"test-secret-TOKEN" in action.files["step.json"]


def test_a_secret_is_expected_as_it_is_written(tmp_path: Path) -> None:
    wanted = '{steps: {use: {with: {token: "${{ secrets.TOKEN }}"}}}}'
    cases = f"cases: [{{name: it, steps: {{use: {{output: {{length: 3}}}}}}, expect: {wanted}}}]\n"

    assert failures(play(tmp_path, SECRET, cases)) == []


def test_a_host_without_a_sandbox_is_a_failure_that_says_so(tmp_path: Path) -> None:
    found = play(tmp_path, SECRET, REAL, Box(kind="sandbox"))

    (said,) = failures(found)
    assert said.startswith("the code of step `use` could not run here: no user namespaces")


def test_a_case_that_names_all_runs_all_code(tmp_path: Path) -> None:
    cage = Box()

    assert failures(play(tmp_path, SECRET, REAL.replace("use", "all"), cage)) == []
    assert len(cage.actions) == 1


# ── paths and what is to come ──


@pytest.mark.parametrize(
    ("text", "picks", "not_"),
    [
        ("a", "a", "b"),
        ("loop.a", "loop[12].a", "loop[12].ab"),
        ("loop[3].a", "loop[3].a", "loop[13].a"),
        ("x.y.z", "x[0].y[1].z", "x[0].y[1].z.compensate"),
        ("x.y[1].z", "x[0].y[1].z", "x[1].y[0].z"),
        ("each.call/rows.check", "each[1].call/rows[2].check", "each[1].call/rows[2].checks"),
        ("a.compensate", "a.compensate", "a"),
    ],
)
def test_a_path_picks_executions_of_a_step(text: str, picks: str, not_: str) -> None:
    chosen = selector(text)

    assert chosen is not None
    assert chosen.picks(picks)
    assert not chosen.picks(not_)


@pytest.mark.parametrize(
    "text", ["", "a[1]", "a.", ".a", "a b", "a[x].b", "a[].b", "/a", "a[-1].b"]
)
def test_what_is_no_path_of_a_step_is_refused(text: str) -> None:
    assert selector(text) is None


START = datetime(2026, 1, 1, tzinfo=UTC)
FAILURE = StepFailure(error_class="user", message="")


def test_events_come_by_time_and_then_in_the_order_they_were_added() -> None:
    agenda = Agenda()
    for name, after in (("late", 2), ("first", 1), ("second", 1)):
        agenda.add(START + timedelta(seconds=after), name, Tick())

    assert agenda.next() == START + timedelta(seconds=1)
    assert agenda.take(START) is None
    later = START + timedelta(hours=1)
    assert [agenda.take(later).run_id for _ in range(3)] == ["first", "second", "late"]
    assert (agenda.next(), agenda.take(later)) == (None, None)


def test_the_ends_of_attempts_that_were_stopped_do_not_come() -> None:
    agenda = Agenda()
    agenda.add(START, "r", Succeed(path="a", token=1, output=None))
    agenda.add(START, "r", Fail(path="a", token=3, error=FAILURE))
    agenda.add(START, "r", Succeed(path="b", token=1, output=None))
    agenda.add(START, "s", Succeed(path="a", token=1, output=None))

    agenda.forget("r", "a", 2)

    left = [agenda.take(START) for _ in range(3)]
    assert [(it.run_id, it.event.path, it.event.token) for it in left] == [
        ("r", "a", 3), ("r", "b", 1), ("s", "a", 1),
    ]  # fmt: skip
