"""Which equal pure steps become one, which must not, and what reads them then."""

from __future__ import annotations

import pytest

from dagflow.core.plan import PlanStep
from tests.unit.compiler_graph.compiling import compiled, planned

READ = "${{ [steps.a.output, steps.b.output] }}"


def steps_of(text: str) -> list[str]:
    return [step.path for step in planned(text).steps]


def two(first: str, second: str, more: str = "", outputs: str = READ) -> list[str]:
    """Return the steps of a plan with `a` and `b` written so."""
    return steps_of(
        f"""
        inputs: {{n: integer, m: integer}}
        steps:
          x: {{transform: 'inputs.n / 2'}}
          a: {{{first}}}
          b: {{{second}}}
          {more}
        outputs: {{x: "${{{{ steps.x.output }}}}", o: "{outputs}"}}
        """
    )


def test_equal_steps_are_one_and_the_readers_of_both_read_it() -> None:
    found = compiled(
        """
        inputs: {n: integer}
        steps:
          a: {transform: inputs.n + 1}
          b: {transform: 'inputs.n  +  1'}
          c: {transform: steps.b.output * 2, when: steps.b.output > 0}
          d: {transform: '"{0}".format([steps.?b.output.orValue(0)])', after: b}
        outputs:
          b: ${{ steps["b"].output }}
          c: ${{ steps.?c.output.orValue(0) }}
          d: ${{ steps.d.output }}
        """
    )

    plan = found.plan
    assert plan is not None
    c, d = plan.steps[1:]
    assert [step.path for step in plan.steps] == ["a", "c", "d"]
    assert (c.needs, d.needs or d.awaits) == (("a",), ("a",))
    assert [edge.step for edge in d.after] == ["a"]
    assert c.when is not None
    assert c.when.reads == (("steps", "a", "output"),)
    assert c.when.text == "steps.b.output > 0"
    assert "steps.b" not in "".join(it.guard for it in plan.constraints)
    assert found.report.merged == (("b", "a"),)
    assert ("step", "b", "merged into 'a', which does the same") in [
        (it.kind, it.name, it.reason) for it in found.report.removed
    ]


def test_what_follows_equal_steps_and_is_equal_itself_is_one_too() -> None:
    text = """
        inputs: {n: integer}
        steps:
          a: {transform: inputs.n + 1}
          b: {transform: inputs.n + 1}
          c: {transform: steps.a.output * 2, after: a}
          d: {transform: steps.b.output * 2, after: b}
        outputs: {o: "${{ [steps.c.output, steps.d.output] }}"}
        """

    assert steps_of(text) == ["a", "c"]


def test_steps_inside_a_loop_are_one_and_see_what_was_merged_around_it() -> None:
    plan = planned(
        """
        inputs: {n: integer}
        steps:
          a: {transform: inputs.n + 1}
          b: {transform: inputs.n + 1}
          loop:
            foreach:
              items: "[1, 2]"
              max_items: 2
              collect: steps.c.output + steps.d.output
              steps:
                c: {transform: item + steps.a.output}
                d: {transform: item + steps.b.output}
        outputs: {o: "${{ steps.loop.output }}"}
        """
    )

    loop: PlanStep = plan.steps[-1]
    assert [step.path for step in plan.steps] == ["a", "loop"]
    assert [step.path for step in loop.block] == ["loop.c"]
    assert ("steps", "c", "output") in loop.expressions["collect"].reads
    assert ("steps", "d", "output") not in loop.expressions["collect"].reads
    assert loop.needs == ("a",)


def test_finally_reads_the_step_that_is_left() -> None:
    plan = planned(
        """
        inputs: {n: integer}
        steps:
          a: {transform: inputs.n + 1}
          b: {transform: inputs.n + 1}
        finally:
          tell: {transform: "steps.?b.output.orValue(0)"}
        outputs: {a: "${{ steps.a.output }}"}
        """
    )

    assert plan.finally_[0].expressions["expression"].reads == (("steps", "a", "output"),)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("transform: inputs.n", "transform: inputs.m"),
        ("transform: inputs.n, when: inputs.n > 1", "transform: inputs.n, when: inputs.n > 2"),
        ("transform: inputs.n, after: x", "transform: inputs.n"),
        ("transform: inputs.n, after: x", "transform: inputs.n, after: [{step: x, on: done}]"),
        ("transform: inputs.n", "transform: inputs.n, output: {schema: {type: [integer, string]}}"),
        ("transform: inputs.n", "transform: inputs.n, timeout: 1s"),
        ("transform: inputs.n, effects: once", "transform: inputs.n, effects: once"),
        ("transform: 1 / inputs.n, on_error: [{continue: 0}]",) * 2,
        ('python: "def main(): return 1", effects: pure',) * 2,
    ],
)
def test_steps_that_differ_or_may_differ_stay_two(first: str, second: str) -> None:
    output = "${{ [steps.?a.output.orValue(null), steps.?b.output.orValue(null)] }}"

    assert {"a", "b"} <= set(two(first, second, outputs=output))


@pytest.mark.parametrize(
    "reader",
    [
        "c: {transform: '1', after: [a, b], join: {at_least: 2}}",
        "c: {transform: '1', after: [a, {step: b, on: done}]}",
        "c: {transform: steps.?b.error.?message.orValue('')}",
    ],
)
def test_steps_that_somebody_tells_apart_stay_two(reader: str) -> None:
    assert {"a", "b"} <= set(two("transform: 1 / inputs.n", "transform: 1 / inputs.n", more=reader))


def test_both_steps_of_an_edge_into_one_join_become_one_edge() -> None:
    found = compiled(
        """
        inputs: {n: integer}
        steps:
          a: {transform: inputs.n / 2}
          b: {transform: inputs.n / 2}
          c: {transform: inputs.n + 1, after: [a, b], join: any}
        outputs: {c: "${{ steps.c.output }}"}
        """
    )

    assert found.plan is not None
    assert [edge.step for edge in found.plan.steps[-1].after] == ["a"]
    assert (found.report.before.edges, found.report.after.edges) == (2, 1)
    assert [r.name for r in found.report.removed if r.kind == "edge"] == ["b -> c"]


def test_output_of_a_loop_stays_where_it_is() -> None:
    plan = planned(
        """
        inputs: {n: integer}
        steps:
          loop:
            foreach:
              items: "[1, 2]"
              max_items: 2
              steps:
                a: {transform: item + 1}
                z: {transform: steps.a.output, after: a}
                b: {transform: item + 1, after: []}
              collect: steps.z.output
        outputs: {o: "${{ steps.loop.output }}"}
        """
    )

    assert [step.path for step in plan.steps[0].block] == ["loop.a", "loop.z"]
