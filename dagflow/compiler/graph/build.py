"""The step graph of each block: control edges, data edges, joins, and one order of the steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from graphlib import CycleError, TopologicalSorter
from typing import Final

from dagflow.compiler.graph.edges import AnyEdge, DataEdge, Edge, control_edges, data_edges, join_of
from dagflow.compiler.graph.rings import Pair, Ring, rings_of
from dagflow.compiler.memory import Memory
from dagflow.compiler.model import Block, BlockKind, Model, StepFacts
from dagflow.core.findings import GraphSize
from dagflow.core.plan import Join
from dagflow.core.records import dataclass, replace

_PLAIN_JOIN: Final = Join()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockGraph:
    """One block as a graph. Steps are static paths.

    `steps` are in the order of the file, `order` in an order in which each comes after all that
    it waits for or reads (of several free ones the first in the file). `incoming` has the control
    edges and `reads` the data edges of each step that has any, both in the order of their
    sources. Edges inside a ring and goto edges that point backwards are left out (`rings` and
    `backward` have them), so what is here is always acyclic.
    """

    path: str
    kind: BlockKind
    steps: tuple[str, ...]
    order: tuple[str, ...]
    incoming: Mapping[str, tuple[Edge, ...]]
    reads: Mapping[str, tuple[DataEdge, ...]]
    joins: Mapping[str, Join]
    rings: tuple[Ring, ...] = ()
    backward: tuple[Edge, ...] = ()
    _pairs: tuple[Pair, ...] | None = field(default=None, init=False, repr=False, compare=False)
    _needs: dict[str, tuple[str, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def edges(self) -> Iterator[Edge]:
        """Yield the control edges, by target in the order of the file."""
        for step in self.steps:
            yield from self.incoming.get(step, ())

    def data(self) -> Iterator[DataEdge]:
        """Yield the data edges, by reader in the order of the file."""
        for step in self.steps:
            yield from self.reads.get(step, ())

    def pairs(self) -> tuple[Pair, ...]:
        """Return the distinct (from, to) pairs of steps that have an edge of either kind."""
        if self._pairs is None:
            control = [(edge.source, edge.target) for edge in self.edges()]
            data = [(edge.source, edge.target) for edge in self.data()]
            object.__setattr__(self, "_pairs", tuple(dict.fromkeys(control + data)))
        return self._pairs or ()

    def before(self) -> dict[str, list[str]]:
        """Return for each step those that it waits for or reads."""
        found: dict[str, list[str]] = {step: [] for step in self.steps}
        for source, target in self.pairs():
            found[target].append(source)
        return found

    def join(self, step: str) -> Join:
        """Return the join of a step."""
        return self.joins.get(step, _PLAIN_JOIN)

    def needs(self, step: str) -> tuple[str, ...]:
        """Return the steps whose success a plain read of `step` requires."""
        known = self._needs.get(step)
        if known is None:
            known = tuple([e.source for e in self.reads.get(step, ()) if e.required])
            self._needs[step] = known
        return known

    def awaits(self, step: str) -> tuple[str, ...]:
        """Return the steps that must only be decided before `step`.

        Under `at_least` a control producer is not waited for: the reader sees what it is then.
        """
        at_once = self.join(step).mode == "at_least"
        control = {edge.source for edge in self.incoming.get(step, ())} if at_once else set()
        return tuple(
            edge.source
            for edge in self.reads.get(step, ())
            if not edge.required and edge.source not in control
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Graphs:
    """The graphs of all blocks, by the block's path, and the facts of every step by its path."""

    blocks: Mapping[str, BlockGraph]
    facts: Mapping[str, StepFacts] = field(default_factory=dict)

    @property
    def size(self) -> GraphSize:
        """Count the steps, and the distinct pairs of steps that have an edge."""
        return GraphSize(
            nodes=sum(len(block.steps) for block in self.blocks.values()),
            edges=sum(len(block.pairs()) for block in self.blocks.values()),
        )

    def block_of(self, step: str) -> BlockGraph:
        """Return the graph of the block that a step stands in."""
        return self.blocks[self.facts[step].block]


def build(model: Model, memory: Memory | None = None) -> Graphs:
    """Return the graph of every block. Names that don't exist are left out, rings cut open.

    `memory` saves ordering the same graph anew; it changes nothing.
    """
    memory = Memory() if memory is None else memory
    facts = {step.path: step for step in model.steps()}
    reads = data_edges(facts)
    blocks = {path: _block(block, facts, reads, memory) for path, block in model.blocks.items()}
    return Graphs(blocks=blocks, facts=facts)


def _block(
    block: Block,
    facts: Mapping[str, StepFacts],
    reads: Mapping[str, tuple[DataEdge, ...]],
    memory: Memory,
) -> BlockGraph:
    steps = tuple(step.path for step in block.steps)
    place = {step: index for index, step in enumerate(steps)}
    found = control_edges(block, facts)
    incoming, backward = _forwards(found, place)
    graph = BlockGraph(
        path=block.path,
        kind=block.kind,
        steps=steps,
        order=(),
        incoming=_sorted(incoming, place),
        reads=_sorted({step: reads[step] for step in steps if step in reads}, place),
        joins={step.path: join_of(step.step) for step in block.steps if step.step.join},
        backward=backward,
    )
    return _ordered(graph, memory)


def _forwards(
    found: Mapping[str, tuple[Edge, ...]], place: Mapping[str, int]
) -> tuple[dict[str, tuple[Edge, ...]], tuple[Edge, ...]]:
    """Take the goto edges that point to an earlier step out."""
    backward = tuple(
        edge
        for edges in found.values()
        for edge in edges
        if "goto" in edge.on and place[edge.target] <= place[edge.source]
    )
    if not backward:
        return dict(found), ()
    kept = {
        target: tuple(part for edge in edges for part in _without_goto(edge, cut=edge in backward))
        for target, edges in found.items()
    }
    return {target: edges for target, edges in kept.items() if edges}, backward


def _without_goto(edge: Edge, *, cut: bool) -> Iterator[Edge]:
    rest = tuple(on for on in edge.on if not (cut and on == "goto"))
    if rest or edge.branches:
        yield replace(edge, on=rest)


def _ordered(graph: BlockGraph, memory: Memory) -> BlockGraph:
    """Fill in `order`; where there are rings, cut them first."""
    steps, pairs = graph.steps, graph.pairs()
    try:
        order = memory.recall("order", (steps, pairs), lambda: order_of(steps, pairs))
        return replace(graph, order=order)
    except CycleError:
        rings = rings_of(graph.steps, graph.pairs())
        knots = {step: index for index, ring in enumerate(rings) for step in _members(ring)}
        cut = replace(
            graph,
            incoming=_between(graph.incoming, knots),
            reads=_between(graph.reads, knots),
            rings=rings,
        )
        return replace(cut, order=order_of(cut.steps, cut.pairs()))


def _members(ring: Ring) -> tuple[str, ...]:
    return (*ring.steps, *ring.others)


def _between(
    edges: Mapping[str, tuple[AnyEdge, ...]], knots: Mapping[str, int]
) -> dict[str, tuple[AnyEdge, ...]]:
    """Keep the edges whose two ends are not in one knot."""
    return {
        target: tuple(
            edge for edge in group if target not in knots or knots.get(edge.source) != knots[target]
        )
        for target, group in edges.items()
    }


def order_of(steps: Iterable[str], pairs: Iterable[Pair]) -> tuple[str, ...]:
    """Return the steps in an order that agrees with the pairs, else with the order given.

    Raises `graphlib.CycleError` when there is none.
    """
    place = {step: index for index, step in enumerate(steps)}
    sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(place, ()))
    for source, target in pairs:
        sorter.add(target, source)
    sorter.prepare()
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=place.__getitem__)
        order.extend(ready)
        sorter.done(*ready)
    return tuple(order)


def _sorted(
    edges: Mapping[str, tuple[AnyEdge, ...]], place: Mapping[str, int]
) -> dict[str, tuple[AnyEdge, ...]]:
    return {
        target: tuple(sorted(group, key=lambda edge: place[edge.source]))
        for target, group in edges.items()
    }
