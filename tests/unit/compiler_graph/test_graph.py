"""The step graph: which edges there are, in which order, and where it is not one."""

from __future__ import annotations

from dagflow.compiler.graph import build as graph
from dagflow.compiler.graph.edges import Edge
from dagflow.compiler.model import Model
from dagflow.compiler.planning import prune
from dagflow.compiler.proofs import reach
from dagflow.compiler.proofs.claims import claims_of
from dagflow.core.findings import GraphSize
from tests.unit.compiler_graph.models import made, model
from tests.unit.work import calls


def built(*steps, **more):
    return graph.build(model(*steps, **more)).blocks[""]


def edge(block: graph.BlockGraph, target: str) -> Edge:
    (only,) = block.incoming[target]
    return only


def test_two_afters_for_one_step_are_one_edge_taken_when_either_holds() -> None:
    block = built(made("a"), made("b", after=[("a", "skipped"), ("a", "success")]))

    assert edge(block, "b").on == ("success", "skipped")


def test_branches_of_one_switch_to_one_step_are_one_edge() -> None:
    switch = made("route", branches=[("x", ["a"]), ("y", ["b"]), (None, ["a"])])

    block = built(switch, made("a"), made("b"))

    assert edge(block, "a").branches == (0, 2)
    assert edge(block, "b").branches == (1,)


def test_goto_is_an_edge_into_its_target() -> None:
    block = built(made("a", goto="b"), made("b"))

    assert edge(block, "b").on == ("goto",)


def test_goto_to_an_earlier_step_is_set_apart() -> None:
    block = built(made("a"), made("b", after=["a"], goto="a"))

    assert [(e.source, e.target) for e in block.backward] == [("b", "a")]
    assert "a" not in block.incoming
    assert block.rings == ()


def test_plain_read_needs_and_guarded_read_awaits() -> None:
    block = built(made("a"), made("b"), made("c", reads=["a", "?b"]))

    assert block.needs("c") == ("a",)
    assert block.awaits("c") == ("b",)


def test_one_plain_read_among_guarded_ones_is_enough_to_need_the_step() -> None:
    block = built(made("a"), made("b", reads=["?a", "a"]))

    assert block.needs("b") == ("a",)
    assert block.awaits("b") == ()


def test_at_least_does_not_wait_for_a_control_producer_it_reads_guardedly() -> None:
    block = built(made("a"), made("b"), made("c", after=["a", "b"], join=1, reads=["?a"]))

    assert block.awaits("c") == ()


def test_read_inside_a_composite_is_an_edge_into_the_composite() -> None:
    loop = made("loop", inner=[made("one", reads=["^a"])])

    graphs = graph.build(model(made("a"), loop))

    assert graphs.blocks[""].needs("loop") == ("a",)
    assert graphs.blocks["loop"].pairs() == ()


def test_read_of_itself_is_no_edge() -> None:
    assert built(made("a", reads=["a"])).rings == ()


def test_reads_of_a_compensation_order_nothing() -> None:
    block = built(made("a", compensate=["b"]), made("b", reads=["a"]))

    assert block.pairs() == (("a", "b"),)


def test_control_and_data_between_two_steps_count_once() -> None:
    graphs = graph.build(model(made("a"), made("b", after=["a"], reads=["a"])))

    assert graphs.size == GraphSize(nodes=2, edges=1)


def test_unknown_names_make_no_edges() -> None:
    assert built(made("a", after=["nobody"])).pairs() == ()


def test_order_follows_edges_and_then_the_file() -> None:
    block = built(made("c", after=["a"]), made("b"), made("a"), made("d", reads=["c"]))

    assert block.order == ("b", "a", "c", "d")


def test_ring_is_told_from_its_first_step_and_cut_open() -> None:
    block = built(
        made("a", after=["c"]),
        made("b", after=["a"]),
        made("c", after=["b"]),
        made("d", after=["c"]),
    )

    (ring,) = block.rings
    assert ring.steps == ("a", "b", "c")
    assert ring.others == ()
    assert block.order == ("a", "b", "c", "d")
    assert block.pairs() == (("c", "d"),)


def test_two_rings_in_one_knot_are_one_ring_with_the_rest_named() -> None:
    block = built(made("a", after=["b", "c"]), made("b", after=["a"]), made("c", after=["b"]))

    (ring,) = block.rings
    assert ring.steps == ("a", "b")
    assert ring.others == ("c",)


def test_separate_rings_are_told_in_the_order_of_the_file() -> None:
    block = built(
        made("x", after=["y"]),
        made("y", reads=["x"]),
        made("a", after=["b"]),
        made("b", after=["a"]),
    )

    assert [ring.steps for ring in block.rings] == [("x", "y"), ("a", "b")]


def test_step_after_itself_is_a_ring_of_one() -> None:
    assert built(made("a", after=["a"])).rings[0].steps == ("a",)


def test_passes_over_a_chain_take_linear_work_and_no_recursion() -> None:
    short, long = chain(400), chain(2_000)

    assert calls(lambda: passes(long)) < 5.5 * calls(lambda: passes(short))
    passes(chain(10_000))


def chain(count: int) -> Model:
    steps = [made("s0")]
    return model(*steps, *(made(f"s{i}", after=[f"s{i - 1}"]) for i in range(1, count)))


def passes(long: Model) -> None:
    """Make the graph passes."""
    count = len(long.blocks[""].steps)
    graphs = graph.build(long)
    pruned = prune.prune(long, graphs, reach.analyse(long, graphs, claims_of(long, graphs)))
    assert pruned.after == GraphSize(count, count - 1)
