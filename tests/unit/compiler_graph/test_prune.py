"""What pruning takes out, what it must not, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagflow.compiler import compile_workflow
from dagflow.compiler.graph import build as graph
from dagflow.compiler.planning.prune import Pruned, prune
from dagflow.compiler.proofs import reach
from dagflow.compiler.proofs.claims import claims_of
from dagflow.core.findings import GraphSize, Severity
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog
from dagflow.expr import ast
from tests.unit.compiler_graph.compiling import compiled, planned
from tests.unit.compiler_graph.models import Made, false, made, model, true

REFERENCE = Path(__file__).parents[3] / "workflows" / "reference_graph.yaml"
ONE = ast.Const("int", 1)


def pruned(*steps: Made, **more) -> Pruned:
    whole = model(*steps, **more)
    graphs = graph.build(whole)
    return prune(whole, graphs, reach.analyse(whole, graphs, claims_of(whole, graphs)))


def steps_of(*steps: Made, **more) -> tuple[str, ...]:
    return pruned(*steps, **more).graphs.blocks[""].steps


def pairs_of(*steps: Made, **more) -> set[tuple[str, str]]:
    return set(pruned(*steps, **more).graphs.blocks[""].pairs())


def test_reference_graph_goes_from_27_and_41_to_19_and_26() -> None:
    source = Source(REFERENCE.name, REFERENCE.read_text())

    made_ = compile_workflow(source, ToolCatalog())

    assert made_.plan is not None
    report = made_.report
    assert (report.before, report.after) == (GraphSize(27, 41), GraphSize(19, 26))
    assert [f for f in report.findings if f.severity is not Severity.NOTE] == []
    kinds = [removal.kind for removal in report.removed]
    assert (kinds.count("step"), kinds.count("edge")) == (27 - 19, 41 - 26)
    assert {"step", "edge", "branch"} <= set(kinds)
    assert len({removal.reason for removal in report.removed if removal.kind == "step"}) >= 3


def test_unpruned_plan_has_everything() -> None:
    whole = model(made("a"), made("b", after=[("a", "skipped")]))
    graphs = graph.build(whole)

    kept = prune(
        whole, graphs, reach.analyse(whole, graphs, claims_of(whole, graphs)), enabled=False
    )

    assert kept.graphs.blocks[""].steps == ("a", "b")
    assert kept.removals == ()
    assert set(kept.idle) == {"b"}


# ── redundant edges, with the counter-examples of the design ─────────────────────────────────


def test_edge_over_a_chain_of_successes_goes() -> None:
    steps = made("u"), made("v", after=["u"]), made("w", after=["u", "v"])

    assert pairs_of(*steps) == {("u", "v"), ("v", "w")}


def test_edge_stays_where_the_target_joins_any_and_the_middle_may_be_guarded_off() -> None:
    steps = made("u"), made("v", after=["u"], when="x"), made("w", after=["u", "v"], join="any")

    assert ("u", "w") in pairs_of(*steps)


def test_edge_stays_where_the_middle_need_only_be_done() -> None:
    steps = made("a"), made("b", after=["a"]), made("c", after=["a", ("b", "done")])

    assert ("a", "c") in pairs_of(*steps)


def test_edge_stays_where_the_middle_joins_any() -> None:
    steps = (
        made("u"),
        made("x"),
        made("v", after=["u", "x"], join="any"),
        made("w", after=["u", "v"]),
    )

    assert ("u", "w") in pairs_of(*steps)


def test_edge_stays_where_it_waits_for_something_else_than_success() -> None:
    steps = (
        made("u", when="x"),
        made("v", after=[("u", "done")]),
        made("w", after=[("u", "skipped"), "v"]),
    )

    assert ("u", "w") in pairs_of(*steps)


def test_edge_that_fires_whatever_its_source_came_to_stays() -> None:
    steps = made("u"), made("v", after=["u"]), made("w", after=[("u", "done"), "v"])

    assert ("u", "w") in pairs_of(*steps)


def test_edge_stays_where_a_failure_would_still_lead_to_the_target() -> None:
    steps = (
        made("a", goto="c", effects="once"),
        made("b", after=["a"]),
        made("c", after=["a", ("b", "done")]),
    )

    assert ("a", "c") in pairs_of(*steps)


def test_edge_stays_where_the_way_leads_over_a_branch() -> None:
    switch = made("route", after=["u"], branches=[("x", ["w"]), (None, [])])

    assert ("u", "w") in pairs_of(made("u"), switch, made("w", after=["u"]))


def test_edge_over_a_plain_read_goes() -> None:
    steps = made("u"), made("v", reads=["u"]), made("w", after=["u", "v"])

    assert ("u", "w") not in pairs_of(*steps)


def test_edge_over_a_plain_read_stays_where_the_reader_joins_any() -> None:
    steps = (
        made("u"),
        made("x"),
        made("v", after=["x"], join="any", reads=["u"]),
        made("w", after=["u", "v"]),
    )

    assert ("u", "w") in pairs_of(*steps)


def test_edge_stays_in_a_join_of_any_though_a_read_makes_it_certain() -> None:
    steps = (
        made("u"),
        made("x"),
        made("v", after=["u"]),
        made("w", after=["u", "x"], join="any", reads=["v"]),
    )

    assert ("u", "w") in pairs_of(*steps)


def test_edge_with_data_on_it_stays() -> None:
    steps = made("u"), made("v", after=["u"]), made("w", after=["u", "v"], reads=["u"])

    result = pruned(*steps)

    assert ("u", "w") in result.graphs.blocks[""].pairs()
    assert result.removals == ()


def test_all_edges_over_a_long_chain_go() -> None:
    steps = [made("s0")]
    steps += [made(f"s{i}", after=[f"s{j}" for j in range(i)]) for i in range(1, 12)]

    assert pairs_of(*steps) == {(f"s{i - 1}", f"s{i}") for i in range(1, 12)}


def test_branch_edge_is_never_redundant() -> None:
    switch = made("route", branches=[("x", ["a", "b"]), (None, [])])

    assert ("route", "b") in pairs_of(switch, made("a"), made("b", after=["a"]))


# ── steps that never run ──────────────────────────────────────────────────────────────────────


def test_steps_that_never_run_go_with_their_edges() -> None:
    result = pruned(
        made("a", effects="once"), made("b", after=[("a", "skipped")]), made("c", after=["b"])
    )

    assert result.graphs.blocks[""].steps == ("a",)
    assert [(r.kind, r.name) for r in result.removals] == [
        ("step", "b"), ("step", "c"), ("edge", "a -> b"), ("edge", "b -> c"),
    ]  # fmt: skip
    assert result.removals[0].reason == "it waits for 'a' to be skipped, which can't be"


def test_dead_step_that_is_read_stays_with_what_keeps_it_from_running() -> None:
    steps = (
        made("a", effects="once"),
        made("b", after=[("a", "skipped")]),
        made("c", after=["b"]),
        made("d", reads=["?c"], effects="once"),
    )

    result = pruned(*steps)

    assert result.graphs.blocks[""].steps == ("a", "b", "c", "d")
    assert set(result.idle) == {"b", "c"}


def test_dead_step_that_the_outputs_read_stays() -> None:
    assert steps_of(made("a", when=false(), effects="once"), outputs=["?a"]) == ("a",)


def test_dead_step_whose_skip_another_waits_for_goes_when_it_waits_for_nothing_itself() -> None:
    steps = made("a", when=false()), made("b", after=[("a", "skipped")], effects="once")

    assert steps_of(*steps) == ("b",)


def test_dead_step_whose_skip_another_waits_for_stays_when_it_orders_the_two() -> None:
    steps = (
        made("z", effects="once"),
        made("a", after=["z"], when=false()),
        made("b", after=[("a", "skipped")], effects="once"),
    )

    assert steps_of(*steps) == ("z", "a", "b")


def test_dead_step_that_counts_for_a_join_stays() -> None:
    steps = made("a", when=false()), made("c"), made("b", after=[("a", "skipped"), "c"], join="any")

    assert "a" in steps_of(*steps)


def test_step_that_a_failure_goes_to_stays() -> None:
    steps = made("a", goto="b", effects="once"), made("b", after=["c"]), made("c", when=false())

    assert "b" in steps_of(*steps)


def test_inner_steps_go_with_their_composite() -> None:
    loop = made("loop", when=false(), inner=[made("one"), made("two", after=["one"])])

    result = pruned(made("a", effects="once"), loop)

    assert "loop" not in result.graphs.blocks
    assert result.after == GraphSize(1, 0)
    assert [r.name for r in result.removals if r.kind == "step"] == ["loop", "loop.one", "loop.two"]


def test_edge_that_is_never_taken_leaves_a_join_of_any() -> None:
    steps = made("a"), made("b"), made("c", after=["a", ("b", "skipped")], join="any")

    assert ("b", "c") not in pairs_of(*steps)


def test_edge_that_is_never_taken_stays_where_a_run_stops_at_its_first_failure() -> None:
    steps = made("a"), made("b"), made("c", after=["a", ("b", "skipped")], join="any")

    assert ("b", "c") in pairs_of(*steps, on_failure="stop")


# ── steps that nobody could notice ────────────────────────────────────────────────────────────


def test_isolated_pure_total_step_goes() -> None:
    assert steps_of(made("a", effects="once"), made("b", expression=ONE)) == ("a",)


def test_isolated_step_with_an_effect_stays() -> None:
    assert steps_of(made("a", effects="once"), made("b", expression=ONE, effects="once")) == (
        "a",
        "b",
    )


def test_isolated_step_that_may_fail_stays() -> None:
    divided = ast.Call("_/_", (ONE, ast.Select(ast.Var("inputs"), "n")))

    assert steps_of(made("a", effects="once"), made("b", expression=divided)) == ("a", "b")


def test_isolated_step_that_is_read_stays() -> None:
    assert steps_of(made("a", effects="once"), made("b", expression=ONE), outputs=["b"]) == (
        "a",
        "b",
    )


def test_isolated_step_that_finally_reads_stays() -> None:
    last = [made("note", reads=["?b"], effects="once")]

    assert "b" in steps_of(made("a", effects="once"), made("b", expression=ONE), finally_=last)


def test_pure_step_after_another_stays() -> None:
    assert steps_of(made("a", effects="once"), made("b", after=["a"], expression=ONE)) == ("a", "b")


def test_plan_always_keeps_a_step() -> None:
    assert steps_of(made("a", expression=ONE), made("b", expression=ONE)) == ("b",)


def test_branch_that_leads_to_nothing_noticeable_leads_nowhere() -> None:
    switch = made("route", branches=[("x", ["a"]), (None, ["b"])])

    result = pruned(switch, made("a", effects="once"), made("b", expression=ONE))

    assert result.targets["route"] == (("a",), ())
    assert ("branch", "route[1]") in [(r.kind, r.name) for r in result.removals]


def test_only_last_step_of_a_loop_stays_since_it_is_the_loops_output() -> None:
    loop = made("loop", inner=[made("one", expression=ONE)], effects="once")

    assert pruned(loop, outputs=["loop"]).graphs.blocks["loop"].steps == ("loop.one",)


def test_constantly_true_guard_is_folded() -> None:
    result = pruned(made("a", when=true(), effects="once"))

    assert result.folded == {"a"}


def test_text_input_without_bound_may_be_too_large_to_be_total() -> None:
    plan = planned(
        """
        inputs: {text: string, book: {type: string, maxLength: 9999999}, n: integer}
        steps:
          long: {transform: inputs.text}
          longer: {transform: inputs.book}
          short: {transform: inputs.n}
          kept: {transform: inputs.n + 1}
        outputs:
          n: ${{ steps.kept.output }}
        """
    )

    assert [step.path for step in plan.steps] == ["long", "longer", "kept"]


@pytest.mark.parametrize(
    "expression", ["inputs.?n.orValue(1)", "inputs.n", "inputs.n == 1 ? 1 : 2"]
)
def test_optional_input_is_not_always_there(expression: str) -> None:
    report = compiled(
        f"""
        inputs: {{n: "integer?"}}
        steps:
          a: {{transform: '{expression}'}}
          b: {{transform: 1 + 1}}
        outputs:
          b: ${{{{ steps.b.output }}}}
        """
    ).report

    assert "a" not in [removal.name for removal in report.removed]
