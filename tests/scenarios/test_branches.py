"""Scenarios 1 to 7: branches, skips, joins and guards, from YAML to the end of the run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dagflow.core.plan import Plan
from dagflow.core.run import Run, RunState
from tests.acceptance.command import Shell
from tests.scenarios.flows import House, Script, compiled, errors, failing, ran, sqlite, states


def test_01_yaml_a_join_counts_only_edges_that_were_taken() -> None:
    run = ran(
        compiled("""\
dagflow: 1
name: branches
inputs: {way: string}
steps:
  B1: {switch: [{when: inputs.way != "p", then: B2}, {else: P}]}
  B2: {switch: [{when: inputs.way == "dead", then: dead}, {else: dummy}]}
  dead: {transform: '1'}
  dummy: {transform: '2'}
  P: {after: [dummy], join: any, transform: '3'}
outputs: {dead: "${{ steps.dead.status }}", p: "${{ steps.P.status }}"}
"""),
        {"way": "dead"},
    )

    assert states(run, "dead", "dummy", "P") == {
        "dead": "succeeded",
        "dummy": "skipped(upstream)",
        "P": "skipped(upstream)",
    }
    assert run.state is RunState.SUCCEEDED


def test_02_yaml_a_skip_is_judged_on_direct_parents() -> None:
    run = ran(
        compiled("""\
dagflow: 1
name: parents
inputs: {on: boolean}
steps:
  A: {when: inputs.on, transform: '1'}
  B: {after: {step: A, on: done}, transform: '2'}
  C: {after: B, transform: '3'}
"""),
        {"on": False},
    )

    assert states(run, "A", "B", "C") == {"A": "skipped(guard)", "B": "succeeded", "C": "succeeded"}


def test_03_yaml_a_guarded_off_foreach_is_skipped_as_a_whole() -> None:
    run = ran(
        compiled("""\
dagflow: 1
name: guarded
inputs: {on: boolean}
steps:
  M:
    when: inputs.on
    foreach: {items: "[1, 2]", as: it, max_items: 2, steps: {x: {transform: it}}}
  N: {after: M, transform: '1'}
  O: {after: {step: M, on: skipped}, transform: '2'}
"""),
        {"on": False},
    )

    assert states(run, "M", "N", "O") == {
        "M": "skipped(guard)",
        "N": "skipped(upstream)",
        "O": "succeeded",
    }
    assert not [path for path in run.steps if path.startswith("M[")]


ABSENT = """\
dagflow: 1
name: absent
inputs: {on: boolean}
steps:
  A: {when: inputs.on, transform: '"out of A"'}
  B: {after: {step: A, on: done}, transform: READ}
outputs: {b: "${{ steps.B.output }}"}
"""


def test_04_yaml_a_read_of_what_may_be_absent_is_an_error_with_its_path() -> None:
    (found,) = errors(ABSENT.replace("READ", "steps.A.output"))

    assert found.name == "maybe-absent"
    assert "'A'" in found.message
    assert "steps.?A.output" in found.help
    assert (found.span.line, found.path) == (6, "/steps/B/transform")


def test_04_yaml_a_default_is_given_exactly() -> None:
    plan = compiled(
        ABSENT.replace("READ", """'steps.?A.output.orValue("${{ not a template }}")'""")
    )

    assert ran(plan, {"on": False}).outputs == {"b": "${{ not a template }}"}
    assert ran(plan, {"on": True}).outputs == {"b": "out of A"}


def test_05_yaml_the_guard_comes_before_the_arguments() -> None:
    script = Script()
    plan = compiled("""\
dagflow: 1
name: order
inputs: {on: boolean, n: integer}
steps:
  S:
    when: inputs.on
    python: |
      def main(v): return v
    with: {v: "${{ 1 / inputs.n }}"}
    output: integer
""")
    off = ran(plan, {"on": False, "n": 0}, script=script)
    on = ran(plan, {"on": True, "n": 0}, script=script)

    assert (states(off, "S"), off.state) == ({"S": "skipped(guard)"}, RunState.SUCCEEDED)
    assert on.steps["S"].error is not None
    assert on.steps["S"].error.error_class == "expression"
    assert script.done == []


def test_06_yaml_a_step_reached_on_two_ways_runs_once() -> None:
    script = Script()
    code = "{after: AFTER, python: 'def main(): return 1', output: integer}"
    lines = {"a": "[]", "b": "a", "b2": "b", "c": "a", "d": "[b2, c]"}
    steps = "\n".join(
        f"  {name}: {code.replace('AFTER', after)}" for name, after in lines.items()
    ).replace("after: [], ", "")
    run = ran(
        compiled(f"dagflow: 1\nname: ways\nsteps:\n{steps}\n"),
        script=Script(dict.fromkeys(lines, 1), script.done),
    )

    assert run.state is RunState.SUCCEEDED
    assert sorted(script.done) == sorted(lines)


@pytest.mark.parametrize(("join", "state"), [("any", "succeeded"), ("all", "skipped(upstream)")])
def test_06_yaml_a_join_with_an_unselected_branch_is_decided(join: str, state: str) -> None:
    text = f"""\
dagflow: 1
name: joined
inputs: {{way: string}}
steps:
  s: {{switch: [{{when: inputs.way == "b", then: b}}, {{else: c}}]}}
  b: {{transform: '1'}}
  c: {{transform: '2'}}
  d: {{after: [b, c], join: {join}, transform: '3'}}
"""
    if join == "all":
        assert [finding.name for finding in errors(text)] == ["join-dead"]
        return

    run = ran(compiled(text), {"way": "b"})

    assert states(run, "c", "d") == {"c": "skipped(upstream)", "d": state}


FAILS = """\
dagflow: 1
name: fails
inputs: {n: integer}
steps:
  A: {transform: '1 / inputs.n'}
  B: {after: A, transform: '1'}
  C: {after: {step: A, on: failure}, transform: '2'}
"""


def embedded(plan: Plan, folder: Path) -> Run:
    return ran(plan, {"n": 0})


def in_a_file(plan: Plan, folder: Path) -> Run:
    with sqlite(folder) as store:
        return ran(plan, {"n": 0}, store=store)


def from_a_thread(plan: Plan, folder: Path) -> Run:
    """The run is submitted and waited for in one thread, and worked on in another."""
    with sqlite(folder) as store:
        house = House(store)
        done: list[Run] = []
        started, over = threading.Event(), threading.Event()

        async def work() -> None:
            async with house.at_work():
                started.set()
                await asyncio.to_thread(over.wait, 30)

        thread = threading.Thread(target=lambda: asyncio.run(work()))
        thread.start()
        started.wait(10)
        run_id = house.runs.submit(plan, {"n": 0})
        done.append(asyncio.run(house.end(run_id)))
        over.set()
        thread.join(30)
        return done[0]


@pytest.mark.parametrize("way", [embedded, in_a_file, from_a_thread])
def test_07_a_step_after_a_failed_one_ends_the_same_on_every_executor(
    way: Callable[[Plan, Path], Run], tmp_path: Path
) -> None:
    run = way(compiled(FAILS), tmp_path)

    assert states(run, "A", "B", "C") == {
        "A": "failed",
        "B": "skipped(upstream)",
        "C": "succeeded",
    }
    assert run.state is RunState.FAILED


def test_07_and_in_a_process_of_its_own(tmp_path: Path) -> None:
    shell = Shell(tmp_path)

    answer = shell("run", shell.write("fails.yaml", FAILS), "-i", "n=0", "--format", "json")

    steps: dict[str, Any] = answer.json["steps"]
    assert answer.code == 1
    assert {name: step["status"] for name, step in steps.items()} == {
        "A": "failed",
        "B": "skipped",
        "C": "succeeded",
    }


def test_07_a_failing_worker_is_the_same_as_a_failing_step() -> None:
    text = FAILS.replace("{transform: '1 / inputs.n'}", "{python: 'def main(): return 1'}")
    run = ran(compiled(text), {"n": 1}, script=Script({"A": failing()}))

    assert states(run, "B", "C") == {"B": "skipped(upstream)", "C": "succeeded"}
    assert run.state is RunState.FAILED
