"""Pruning: what can be left out of the graph without any run showing it, and why.

Law: for every input, the outputs, the effects and the outcome of a run stay what they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.graph.edges import Edge, branch_targets, sibling
from dagflow.compiler.memory import Memory
from dagflow.compiler.model import TOPS, Model, StepFacts
from dagflow.compiler.planning.fuse import fused
from dagflow.compiler.planning.keep import leaving, stops_at_once
from dagflow.compiler.planning.merge import Merger
from dagflow.compiler.planning.redundant import redundant
from dagflow.compiler.proofs.branches import live_branches
from dagflow.compiler.proofs.guards import constant
from dagflow.compiler.proofs.reach import Cause, Reach
from dagflow.core.findings import GraphSize, Removal
from dagflow.core.records import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """The graphs after pruning, and what was taken out of them.

    `graphs` has the steps, their facts and the edges that are left. `folded` are
    the steps whose guard is constantly true and needs no evaluation. `targets` has, for each
    switch, the static paths that each of its branches still leads to: branches keep their
    numbers, and one that can't be taken leads nowhere. There is one removal of kind "step" for
    each step that is gone, and one of kind "edge" for each pair of steps without an edge now.
    `idle` are steps that never run and are still there, since their being skipped shows.
    `merged` has the path of the step that each merged one became one with, `fused` the chains of
    steps that one worker does one after another.
    """

    graphs: Graphs
    before: GraphSize
    after: GraphSize
    removals: tuple[Removal, ...] = ()
    folded: frozenset[str] = frozenset()
    idle: Mapping[str, Cause] = field(default_factory=dict)
    targets: Mapping[str, tuple[tuple[str, ...], ...]]
    merged: Mapping[str, str] = field(default_factory=dict)
    fused: tuple[tuple[str, ...], ...] = ()


def prune(
    model: Model,
    graphs: Graphs,
    reach: Reach,
    *,
    enabled: bool = True,
    memory: Memory | None = None,
) -> Pruned:
    """Return the graphs without what no run can show; with `enabled` false, as they are."""
    if not enabled:
        size = graphs.size
        idle, targets = dict(_idle(graphs, reach)), _targets(graphs, {})
        return Pruned(graphs=graphs, before=size, after=size, idle=idle, targets=targets)
    gone = leaving(model, graphs, reach)
    patient = stops_at_once(model)
    memory = Memory() if memory is None else memory
    merger = Merger(model=model, facts=graphs.facts, reach=reach, memory=memory)
    blocks = {
        path: _lean(merger.block(_block(block, gone, reach, patient=patient)))
        for path, block in graphs.blocks.items()
        if not _inside(path, gone)
    }
    left = {step for block in blocks.values() for step in block.steps}
    facts = {path: facts for path, facts in graphs.facts.items() if path in left}
    after = Graphs(blocks=blocks, facts=facts)
    removals = (
        *_step_removals(graphs, gone, merger.into),
        *_edge_removals(graphs, after, reach, gone, merger.into),
        *_branch_removals(after, gone),
    )
    return Pruned(
        graphs=after,
        before=graphs.size,
        after=after.size,
        removals=removals,
        folded=frozenset(_folded(after)),
        idle=dict(_idle(after, reach)),
        targets=_targets(after, merger.into),
        merged=merger.into,
        fused=fused(model, after, reach),
    )


def _inside(block: str, gone: Iterable[str]) -> bool:
    """Tell whether a block stands in a step that is gone."""
    return block not in TOPS and block in gone


def _block(
    block: BlockGraph, gone: Mapping[str, Removal], reach: Reach, *, patient: bool
) -> BlockGraph:
    kept = tuple(step for step in block.steps if step not in gone)
    incoming = {
        step: tuple(
            edge
            for edge in block.incoming.get(step, ())
            if edge.source not in gone and not _can_go(block, edge, reach, patient=patient)
        )
        for step in kept
    }
    reads = {
        step: tuple(edge for edge in block.reads.get(step, ()) if edge.source not in gone)
        for step in kept
    }
    return replace(
        block,
        steps=kept,
        order=tuple(step for step in block.order if step not in gone),
        incoming={step: edges for step, edges in incoming.items() if edges},
        reads={step: edges for step, edges in reads.items() if edges},
    )


def _lean(block: BlockGraph) -> BlockGraph:
    """Return a block without the edges that say only what others say."""
    doubled = redundant(block)
    return replace(
        block,
        incoming={
            step: left
            for step, edges in block.incoming.items()
            if (left := tuple(e for e in edges if (e.source, step) not in doubled))
        },
    )


def _can_go(block: BlockGraph, edge: Edge, reach: Reach, *, patient: bool) -> bool:
    """Tell whether an edge that is never taken can be left out of its target's join.

    Not where the target can't run (its join would be easier), not where the steps also have a
    data edge (nothing would be gained), and under `any` not where a run stops at its first
    failure: the edge makes the target wait, and starting sooner would show.
    """
    if not reach.is_dead(edge) or not reach.runs(edge.target):
        return False
    if any(data.source == edge.source for data in block.reads.get(edge.target, ())):
        return False
    return not (patient and block.join(edge.target).mode == "any")


def _step_removals(
    before: Graphs, gone: Mapping[str, Removal], into: Mapping[str, str]
) -> Iterator[Removal]:
    """Yield a removal for each step that is gone, in the order of the file."""
    for block in before.blocks.values():
        for step in block.steps:
            if step in gone:
                yield gone[step]
            elif step in into:
                yield Removal("step", step, f"merged into {into[step]!r}, which does the same")


def _edge_removals(
    before: Graphs,
    after: Graphs,
    reach: Reach,
    gone: Mapping[str, Removal],
    into: Mapping[str, str],
) -> Iterator[Removal]:
    """Yield a removal for each pair that is gone; one that comes from elsewhere now is not."""
    left = {pair for block in after.blocks.values() for pair in block.pairs()}
    moved = left - {pair for block in before.blocks.values() for pair in block.pairs()}
    for block in before.blocks.values():
        dead = reach.blocks[block.path].dead
        for source, target in block.pairs():
            new = (into.get(source, source), target)
            if (source, target) in left:
                continue
            if new in moved:
                moved.discard(new)
                continue
            step = next((end for end in (source, target) if end in gone), None)
            one = next((end for end in (target, source) if end in into), None)
            name = f"{source} -> {target}"
            if step is not None or _inside(block.path, gone):
                yield Removal("edge", name, f"{step or block.path!r} was removed")
            elif (source, target) in dead:
                yield Removal("edge", name, "it can never be taken", "DF303")
            elif one is not None:
                yield Removal("edge", name, f"{one!r} is merged into {into[one]!r}")
            else:
                reason = f"other edges make sure that {source!r} has succeeded before {target!r}"
                yield Removal("edge", name, reason)


def _branch_removals(after: Graphs, gone: Mapping[str, Removal]) -> Iterator[Removal]:
    for facts in _kept(after):
        live = live_branches(facts).branches
        for index, names in enumerate(branch_targets(facts.step)):
            name = f"{facts.name}[{index}]"
            if not live[index]:
                yield Removal("branch", name, "it can never be taken", "DF405")
            elif names and all(sibling(facts.block, each.value) in gone for each in names):
                yield Removal("branch", name, "nothing that it leads to can be noticed")


def _kept(graphs: Graphs) -> Iterator[StepFacts]:
    for block in graphs.blocks.values():
        for step in block.steps:
            yield graphs.facts[step]


def _folded(after: Graphs) -> Iterator[str]:
    for facts in _kept(after):
        if facts.step.when is not None and constant(facts, "when") is True:
            yield facts.path


def _idle(after: Graphs, reach: Reach) -> Iterator[tuple[str, Cause]]:
    for facts in _kept(after):
        cause = reach.cause(facts.path)
        if cause is not None:
            yield facts.path, cause


def _targets(after: Graphs, into: Mapping[str, str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    found = {}
    inside = {path: frozenset(block.steps) for path, block in after.blocks.items()}
    for facts in _kept(after):
        if facts.kind == "switch":
            here = inside[facts.block]
            live = live_branches(facts).branches
            led = (
                (into.get(to, to) for to in (sibling(facts.block, name.value) for name in names))
                for names in branch_targets(facts.step)
            )
            found[facts.path] = tuple(
                tuple(dict.fromkeys(to for to in targets if to in here and live[index]))
                for index, targets in enumerate(led)
            )
    return found
