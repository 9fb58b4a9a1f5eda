"""Equal pure steps: one is made, and whoever reads another of them reads that one.

Two steps of a block are equal when the same must have happened before them and they then do the
same to the same: their control edges, joins, reads, guards, expressions and output types are the
same, steps that were merged before counting as one. What each of them comes to is then the same
in every run.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import field, replace

from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.graph.edges import AnyEdge, DataEdge, Edge
from dagflow.compiler.memory import Memory
from dagflow.compiler.model import TOPS, Model, StepFacts
from dagflow.compiler.planning.rename import in_expression, names_in
from dagflow.compiler.proofs.reach import Reach
from dagflow.compiler.types.composites import collected
from dagflow.core.plan import Expression
from dagflow.core.records import dataclass
from dagflow.core.values import canonical
from dagflow.expr.ast import without_places

_OPEN = frozenset({"output", "status", "reason"})
"""What may be read of a step that is merged: its error tells the text of its expression."""


@dataclass(slots=True, kw_only=True)
class Merger:
    """Merges the equal steps of blocks, those of outer blocks before those inside them.

    `into` has the static path of the step that each merged step became one with.
    """

    model: Model
    facts: Mapping[str, StepFacts]
    reach: Reach
    memory: Memory
    into: dict[str, str] = field(default_factory=dict)
    _told: frozenset[str] | None = None

    def block(self, graph: BlockGraph) -> BlockGraph:
        """Return a block in which equal pure steps are one, the first of them in the file."""
        able = [step for step in graph.order if self._may_merge(graph, step)]
        if len(able) < 2:  # noqa: PLR2004  # it takes two
            return graph
        before = len(self.into)
        _InBlock(self, graph).merge(able)
        return graph if len(self.into) == before else _rewired(graph, self.into)

    def _may_merge(self, graph: BlockGraph, step: str) -> bool:
        """Tell whether a step is made of what `_InBlock` compares, and of nothing else."""
        facts = self.facts[step]
        written = facts.step
        more = (
            written.with_, written.input, written.timeout, written.deadline, written.retry,
            written.compensate, written.cache, written.quota,
        )  # fmt: skip
        return (
            facts.kind == "transform"
            and facts.effects == "pure"
            and "expression" in facts.lowered
            and not written.on_error
            and all(part is None for part in more)
            and self.reach.runs(step)
            and graph.join(step).mode != "at_least"
        )

    @property
    def told(self) -> frozenset[str]:
        """Return the steps of which more is read than what they came to."""
        if self._told is None:
            self._told = frozenset(_told(self.model))
        return self._told


def _told(model: Model) -> Iterator[str]:
    for facts in model.steps():
        more = facts.compensate.reads if facts.compensate else ()
        yield from (read.step for read in (*facts.reads, *more) if read.field not in _OPEN)
    yield from (read.step for read in model.output_reads if read.field not in _OPEN)


class _InBlock:
    """The steps of one block while it is found out which are equal."""

    def __init__(self, merger: Merger, graph: BlockGraph) -> None:
        self._merger = merger
        self._graph = graph
        self._place = {step: index for index, step in enumerate(graph.steps)}
        self._edges: dict[str, dict[str, Edge]] = {}
        self._readers: dict[str, list[str]] = {}
        self._known: dict[str, Hashable] = {}
        for edge in graph.edges():
            self._edges.setdefault(edge.source, {})[edge.target] = edge
        for data in graph.data():
            self._readers.setdefault(data.source, []).append(data.target)
        self._sink = _sink(merger, graph.path)
        self._names = dict(names_in(merger.model, merger.into, graph.path))

    def merge(self, able: Iterable[str]) -> None:
        alike: dict[object, list[str]] = {}
        for step in able:
            others = alike.setdefault(self._before(step), [])
            first = self._equal(step, others)
            if first is None:
                others.append(step)
            else:
                self._merger.into[step] = first
                self._names[step.rpartition(".")[2]] = first.rpartition(".")[2]
                self._edges.setdefault(first, {}).update(self._edges.get(step, {}))
                self._readers.setdefault(first, []).extend(self._readers.get(step, ()))

    def _equal(self, step: str, others: list[str]) -> str | None:
        if not others:
            return None
        says = self._said(step)
        found = next((other for other in others if self._said(other) == says), None)
        return found if found is not None and self._can_be(step, found) else None

    def _before(self, step: str) -> object:
        """Return what must have happened before a step, and what it sees of it."""
        graph, into = self._graph, self._merger.into
        edges = {
            into.get(edge.source, edge.source): (edge.on, edge.branches)
            for edge in graph.incoming.get(step, ())
        }
        reads: dict[str, bool] = {}
        for data in graph.reads.get(step, ()):
            source = into.get(data.source, data.source)
            reads[source] = reads.get(source, False) or data.required
        join = graph.join(step).mode if len(edges) > 1 else "all"
        return frozenset(edges.items()), frozenset(reads.items()), join

    def _said(self, step: str) -> Hashable:
        """Return what a step does; what it reads was looked at before it."""
        if step not in self._known:
            self._known[step] = self._says(step)
        return self._known[step]

    def _says(self, step: str) -> Hashable:
        """Return what a step does, in one form."""
        facts, number = self._merger.facts[step], self._merger.memory.number
        written = facts.step
        return (
            *(self._meant(facts.lowered.get(name)) for name in ("when", "expression")),
            number(facts.output),
            facts.check_output,
            *(None if at is None else at.value for at in (written.priority, written.queue)),
        )

    def _meant(self, written: Expression | None) -> bytes | None:
        """Return what an expression means among the steps that are left."""
        if written is None:
            return None
        meant = in_expression(written, self._names)
        if meant is not written:
            return _one_form(meant)
        return self._merger.memory.about("meant", written.ast, lambda: _one_form(meant))

    def _can_be(self, step: str, first: str) -> bool:
        """Tell whether nobody could tell that a step has become another.

        Not where a join counts, or asks two things of the two; and the first in the file must
        stay, since a run fails by the first of its steps that failed.
        """
        if self._place[first] > self._place[step] or step == self._sink:
            return False
        if {step, first} & self._merger.told:
            return False
        mine, its = self._edges.get(step, {}), self._edges.get(first, {})
        readers = (*self._readers.get(step, ()), *self._readers.get(first, ()))
        if any(self._graph.join(it).mode == "at_least" for it in (*mine, *its, *readers)):
            return False
        return all(
            (mine[it].on, mine[it].branches) == (its[it].on, its[it].branches)
            for it in mine.keys() & its.keys()
        )


def _one_form(expression: Expression) -> bytes:
    return canonical(without_places(expression.ast))


def _sink(merger: Merger, block: str) -> str | None:
    """Return the step whose output is what the composite around it gives."""
    if block in TOPS:
        return None
    return collected(merger.facts[block], merger.model.blocks[block].steps)


def _rewired(graph: BlockGraph, into: Mapping[str, str]) -> BlockGraph:
    """Return a block without the steps that were merged, their edges being the others'."""
    place = {step: index for index, step in enumerate(graph.steps)}
    kept = tuple(step for step in graph.steps if step not in into)
    incoming = ((step, _joined(graph.incoming.get(step, ()), into, place)) for step in kept)
    reads = ((step, _joined(graph.reads.get(step, ()), into, place)) for step in kept)
    return replace(
        graph,
        steps=kept,
        order=tuple(step for step in graph.order if step not in into),
        incoming={step: edges for step, edges in incoming if edges},
        reads={step: edges for step, edges in reads if edges},
    )


def _joined(
    edges: tuple[AnyEdge, ...], into: Mapping[str, str], place: Mapping[str, int]
) -> tuple[AnyEdge, ...]:
    if not any(edge.source in into for edge in edges):
        return edges
    found: dict[str, AnyEdge] = {}
    for edge in edges:
        source = into.get(edge.source, edge.source)
        moved = replace(edge, source=source)
        found[source] = _both(found[source], moved) if source in found else moved
    return tuple(found[source] for source in sorted(found, key=place.__getitem__))


def _both(one: AnyEdge, two: AnyEdge) -> AnyEdge:
    """Return the edge that stands for two from what is one step now."""
    if isinstance(one, DataEdge) and isinstance(two, DataEdge):
        reads = sorted((*one.reads, *two.reads), key=lambda it: (not it.required, it.span))
        return replace(one, required=one.required or two.required, reads=tuple(reads))
    return one  # control edges of the two are equal, or they were not merged
