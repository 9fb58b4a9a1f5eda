"""Laws of the graph passes, against a small interpreter of joins written from the language alone.

The interpreter knows no time: a step is decided once all it looks at is, which is what every
order of events comes to as long as no join counts (`at_least` fires in any order alike, too, since
its readers here look at outcomes only through plain reads).
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from dagflow.compiler.graph import build as graph
from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.graph.edges import Edge
from dagflow.compiler.model import Model
from dagflow.compiler.planning.prune import prune
from dagflow.compiler.proofs import reach
from dagflow.compiler.proofs.absence import absences
from dagflow.compiler.proofs.claims import claims_of
from dagflow.expr import ast
from tests.unit.compiler_graph.models import Made, false, made, model, true

ON = st.sampled_from(["success", "success", "success", "failure", "skipped", "done"])


@dataclass(frozen=True)
class Ended:
    """How a step ended: its state, the branch it took, the step its failure went to."""

    state: str
    branch: int | None = None
    goto: str = ""


@dataclass(frozen=True)
class Script:
    """What each step would do if it ran: (guard, succeeds, branch)."""

    of: dict[str, tuple[bool, bool, int]]


@st.composite
def workflows(draw: st.DrawFn) -> tuple[Model, Script]:
    count = draw(st.integers(2, 8))
    names = [f"s{index}" for index in range(count)]
    steps = [draw(steps_at(names, index)) for index in range(count)]
    outputs = draw(st.lists(st.sampled_from(names), max_size=2))
    stop = draw(st.sampled_from([None, "stop"]))
    of = {name: draw(st.tuples(st.booleans(), st.booleans(), st.integers(0, 2))) for name in names}
    return model(*steps, outputs=outputs, on_failure=stop), Script(of)


@st.composite
def steps_at(draw: st.DrawFn, names: list[str], index: int) -> Made:
    earlier, later = names[:index], names[index + 1 :]
    some = st.lists(st.sampled_from(earlier), max_size=3, unique=True) if earlier else st.just([])
    after = [(name, draw(ON)) for name in draw(some)]
    reads = [draw(st.sampled_from(["", "?"])) + name for name in draw(some)]
    kind = draw(st.sampled_from(["transform", "transform", "switch", "fail", "goto"]))
    more: dict[str, object] = {}
    if kind == "switch" and later:
        targets = st.lists(st.sampled_from(later), max_size=2, unique=True)
        whens = [draw(st.sampled_from(["x", true(), false()])), "y"]
        whens = [*whens, None] if draw(st.booleans()) else whens
        more["branches"] = [(when, draw(targets)) for when in whens]
    elif kind == "fail":
        more["kind"] = "fail"
    elif kind == "goto" and later:
        more["goto"] = draw(st.sampled_from(later))
    elif draw(st.booleans()):
        more["expression"] = ast.Const("int", 1)
    return made(
        names[index],
        after=after,
        reads=reads,
        join=draw(st.sampled_from([None, None, "any", 1, 2])),
        when=draw(st.sampled_from([None, None, None, "x", true(), false()])),
        effects=draw(st.sampled_from(["pure", "once"])),
        **more,
    )


def ran(graphs: Graphs, script: Script) -> dict[str, Ended]:
    """Return how every step of the top ends."""
    block = graphs.blocks[""]
    ended: dict[str, Ended] = {}
    for step in block.order:
        ended[step] = _one(graphs, block, step, script, ended)
    return ended


def _one(
    graphs: Graphs, block: BlockGraph, step: str, script: Script, ended: dict[str, Ended]
) -> Ended:
    if not joins(block, step, ended):
        return Ended("skipped")
    if any(ended[need].state != "succeeded" for need in block.needs(step)):
        return Ended("skipped")
    facts = graphs.facts[step]
    guard, succeeds, branch = script.of[step]
    if facts.step.when is not None and not _known(facts.lowered["when"].ast, guard):
        return Ended("skipped")
    if facts.kind == "fail" or (not succeeds and not _is_total(facts)):
        handlers = [h.goto.value for h in facts.step.on_error if h.goto is not None]
        return Ended("failed", goto=handlers[0] if handlers else "")
    return Ended("succeeded", branch=_branch(facts, branch))


def _known(node: dict[str, object], otherwise: bool) -> bool:
    return bool(node["bool"]) if "bool" in node else otherwise


def _is_total(facts: object) -> bool:
    return "expression" in facts.lowered and facts.step.when is None  # type: ignore[attr-defined]


def _branch(facts: object, wanted: int) -> int | None:
    """Take the first branch that is constantly true, `else`, or wanted."""
    branches = getattr(facts.step.body, "branches", ())  # type: ignore[attr-defined]
    for index, branch in enumerate(branches):
        node = None if branch.when is None else facts.lowered[f"branches.{index}"].ast  # type: ignore[attr-defined]
        if node is None or _known(node, index == wanted):
            return index
    return None


def taken(edge: Edge, source: Ended) -> bool:
    ways = {
        "success": source.state == "succeeded",
        "failure": source.state == "failed",
        "skipped": source.state == "skipped",
        "done": True,
        "goto": source.goto == edge.target,
    }
    return any(ways[on] for on in edge.on) or (
        source.state == "succeeded" and source.branch in edge.branches
    )


def joins(block: BlockGraph, step: str, ended: dict[str, Ended]) -> bool:
    edges = block.incoming.get(step, ())
    count = sum(taken(edge, ended[edge.source]) for edge in edges)
    join = block.join(step)
    return not edges or count >= {"all": len(edges), "any": 1, "at_least": join.n}[join.mode]


@settings(max_examples=200, deadline=None)
@given(workflows())
def test_what_is_said_to_be_impossible_never_happens(drawn: tuple[Model, Script]) -> None:
    whole, script = drawn
    graphs = graph.build(whole)
    found = reach.analyse(whole, graphs, claims_of(whole, graphs))

    ended = ran(graphs, script)

    block = graphs.blocks[""]
    for step, end in ended.items():
        assert found.runs(step) or end.state == "skipped", step
    for edge in block.edges():
        assert not (found.is_dead(edge) and taken(edge, ended[edge.source])), edge


@settings(max_examples=200, deadline=None)
@given(workflows())
def test_pruning_changes_no_step_that_is_left(drawn: tuple[Model, Script]) -> None:
    whole, script = drawn
    graphs = graph.build(whole)

    pruned = prune(whole, graphs, reach.analyse(whole, graphs, claims_of(whole, graphs)))

    before, after = ran(graphs, script), ran(pruned.graphs, script)
    assert after == {step: before[step] for step in after}
    for step in before.keys() - after.keys():
        facts = graphs.facts[step]
        assert before[step].state == "skipped" or (
            facts.effects == "pure" and before[step].state == "succeeded"
        ), step


@settings(max_examples=100, deadline=None)
@given(workflows())
def test_every_removal_is_counted_and_told_once(drawn: tuple[Model, Script]) -> None:
    whole, _ = drawn
    graphs = graph.build(whole)

    pruned = prune(whole, graphs, reach.analyse(whole, graphs, claims_of(whole, graphs)))

    kinds = [removal.kind for removal in pruned.removals]
    assert kinds.count("step") == pruned.before.nodes - pruned.after.nodes
    assert kinds.count("edge") == pruned.before.edges - pruned.after.edges
    assert len({(r.kind, r.name) for r in pruned.removals}) == len(pruned.removals)


@settings(max_examples=300, deadline=None)
@given(workflows())
def test_reader_that_misses_its_producer_was_told(drawn: tuple[Model, Script]) -> None:
    whole, script = drawn
    graphs = graph.build(whole)
    found = reach.analyse(whole, graphs, claims_of(whole, graphs))
    told = absences(whole, graphs, found, claims_of(whole, graphs))

    ended = ran(graphs, script)

    if told or any(end.state == "failed" and not end.goto for end in ended.values()):
        return
    block = graphs.blocks[""]
    for step in block.steps:
        missing = [n for n in block.needs(step) if ended[n].state != "succeeded"]
        if found.runs(step) and block.incoming.get(step) and joins(block, step, ended):
            assert missing == [], step
    for read in whole.output_reads:
        assert ended[read.step].state == "succeeded", read.step
