"""Which steps make a chain that one worker does in one go, and which keep their own dispatch."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import pytest

from dagflow.compiler import compile_workflow
from dagflow.core.plan_json import from_json, to_json
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog
from tests.unit.compiler_graph.compiling import planned

MAIN = 'python: "def main(**a): return 1"'


def chains(steps: str) -> list[str]:
    text = "inputs: {n: integer}\nsteps:\n" + textwrap.indent(textwrap.dedent(steps), "  ")
    return [" ".join(chain) for chain in planned(text).fused]


def test_steps_after_one_another_are_one_chain() -> None:
    found = chains(
        """
        a: {transform: inputs.n / 2}
        b: {transform: inputs.n / 3, after: a}
        c: {transform: steps.a.output / steps.b.output, when: steps.b.output > 1}
        """
    )

    assert found == ["a b c"]


def test_switch_between_two_steps_is_part_of_their_chain() -> None:
    found = chains(
        """
        a: {transform: inputs.n / 2}
        route: {after: a, switch: [{when: inputs.n > 1, then: b}, {else: end}]}
        b: {transform: inputs.n / 3}
        """
    )

    assert found == ["a route b"]


def test_code_in_equal_cages_is_one_chain() -> None:
    assert chains(f"a: {{{MAIN}}}\nb: {{{MAIN}, after: a}}\nc: {{shell: [ls], after: b}}") == [
        "a b c"
    ]


def test_code_in_other_cages_is_not() -> None:
    quota = "quota: {memory: 1GiB}"

    assert chains(f"a: {{{MAIN}}}\nb: {{{MAIN}, after: a, {quota}}}") == []
    assert chains(
        f"a: {{{MAIN}}}\nb: {{transform: '1', after: a}}\nc: {{{MAIN}, after: b, {quota}}}"
    ) == ["a b"]


def test_chain_ends_where_two_ways_begin_and_begins_where_two_meet() -> None:
    found = chains(
        """
        a: {transform: inputs.n / 2}
        b: {transform: inputs.n / 3, after: a}
        c: {transform: inputs.n / 4, after: b}
        d: {transform: inputs.n / 5, after: b}
        e: {transform: inputs.n / 6, after: [c, d]}
        f: {transform: inputs.n / 7, after: e}
        """
    )

    assert found == ["a b", "e f"]


def test_step_that_another_reads_later_ends_a_chain() -> None:
    found = chains(
        f"""
        a: {{transform: inputs.n / 2}}
        b: {{transform: inputs.n / 3, after: a}}
        c: {{transform: inputs.n / 4, after: b}}
        d: {{{MAIN}, effects: once, with: {{x: "${{{{ steps.b.output }}}}"}}, after: c}}
        """
    )

    assert found == ["a b"]


@pytest.mark.parametrize(
    "own",
    [
        "retry: {attempts: 2}",
        "timeout: 1s",
        "deadline: 1m",
        "on_error: [{continue: 1}]",
        "compensate: {transform: '1'}",
        "effects: once",
        "priority: 9",
        "queue: other",
        "join: any",
    ],
)
def test_step_with_rules_of_its_own_is_dispatched_by_itself(own: str) -> None:
    assert (
        chains(f"a: {{transform: inputs.n / 2}}\nb: {{transform: inputs.n / 3, after: a, {own}}}")
        == []
    )


def test_code_with_a_network_is_dispatched_by_itself() -> None:
    wide = 'python: {code: "def main(): return 1", network: true}, effects: idempotent'

    assert chains(f"a: {{{MAIN}}}\nb: {{{wide}, after: a}}") == []


def test_chains_inside_a_loop_are_found() -> None:
    found = chains(
        """
        loop:
          foreach:
            items: "[1, 2]"
            max_items: 2
            steps:
              a: {transform: item + 1}
              b: {transform: steps.a.output + 1}
        """
    )

    assert found == ["loop.a loop.b"]


def test_plan_without_pruning_has_no_chains() -> None:
    text = "dagflow: 1\nname: w\nsteps:\n  a: {transform: '1'}\n  b: {transform: '2', after: a}\n"

    whole = compile_workflow(Source("w.yaml", text), ToolCatalog(), prune=False)

    assert whole.plan is not None
    assert whole.plan.fused == whole.report.fused == ()


def test_plan_without_chains_is_written_as_before_there_were_any() -> None:
    alone = planned("steps:\n  a: {transform: '1'}\n")
    fused = planned("steps:\n  a: {transform: '1'}\n  b: {transform: '2', after: a}\n")

    assert "fused" not in to_json(alone)
    assert from_json(to_json(alone)) == alone
    assert to_json(fused)["fused"] == [["a", "b"]]
    assert from_json(to_json(fused)) == fused
    assert fused.digest != replace(fused, fused=()).digest
