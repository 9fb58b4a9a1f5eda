"""Which steps can ever run, and what is certain about the others when one does.

Every claim is safe: "can't" is said only where no run can; guards are unknown unless they are
constant, and every step that runs may fail. `absence` answers the finer question of reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal, TypeAlias

from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.graph.edges import WAYS, Edge, wait_text
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.proofs.branches import live_branches, recovered
from dagflow.compiler.proofs.claims import Claims, conditions
from dagflow.compiler.proofs.guards import constant, tested
from dagflow.compiler.proofs.outcomes import NOTHING, Facts, Outcomes, at_least, layout
from dagflow.core.plan import Join
from dagflow.core.records import dataclass

CauseKind: TypeAlias = Literal["guard", "upstream", "branch", "edge", "conflict", "short"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a step can never run.

    guard: its own guard is constantly false · upstream: a step it needs never runs · branch: the
    branches that lead to it are never taken · edge: a step never ends in the way it waits for ·
    conflict: what it waits for excludes each other · short: fewer edges than its join counts.
    `by` are the steps that this is about, `text` says it.
    """

    kind: CauseKind
    by: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockReach:
    """What is known of one block. Facts and outcomes are bits of `outcomes`.

    `possible` are the outcomes that each step can have (bits of its `Ends`); `waits` is what is
    certain by its control edges alone when a step becomes ready, `ready` by its plain reads too,
    and `passed` by its guard too, once it is true. `dead` are the control edges that can never
    be taken.
    """

    outcomes: Outcomes
    possible: dict[str, int] = field(default_factory=dict)
    waits: dict[str, Facts] = field(default_factory=dict)
    ready: dict[str, Facts] = field(default_factory=dict)
    passed: dict[str, Facts] = field(default_factory=dict)
    causes: dict[str, Cause] = field(default_factory=dict)
    dead: set[tuple[str, str]] = field(default_factory=set)

    def known(self, step: str, bits: int) -> Facts:
        """Return what is certain when a step ended in one of these ways."""
        ends = self.outcomes.of[step]
        facts = self.outcomes.only(step, bits)
        if bits & ~ends.ran:
            return facts
        return facts | (self.ready[step] if bits & ~ends.success else self.passed[step])

    def implies(self, facts: Facts, step: str) -> bool:
        """Tell whether the facts make the step's success certain."""
        ends = self.outcomes.of[step]
        others = ends.all & ~ends.success
        return facts >> ends.at & others == others


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What can happen in each block, by the block's path."""

    blocks: Mapping[str, BlockReach]
    block_of: Mapping[str, str]

    def runs(self, step: str) -> bool:
        """Tell whether a step can ever run, in its own block."""
        return self.cause(step) is None

    def cause(self, step: str) -> Cause | None:
        """Return why a step can never run, or None when it may."""
        return self.blocks[self.block_of[step]].causes.get(step)

    def is_dead(self, edge: Edge) -> bool:
        """Tell whether a control edge can never be taken."""
        return (edge.source, edge.target) in self.blocks[self.block_of[edge.target]].dead


def analyse(model: Model, graphs: Graphs, claims: Claims) -> Reach:
    """Return what can happen in every block; linear in steps and edges but for the bits."""
    blocks = {path: _block(graphs.blocks[path], graphs.facts, claims) for path in model.blocks}
    return Reach(
        blocks=blocks, block_of={path: facts.block for path, facts in graphs.facts.items()}
    )


def needed(join: Join, edges: int) -> int:
    """Return how many of its control edges a join asks for; none where there are none."""
    if not edges:
        return 0
    return {"all": edges, "any": 1, "at_least": join.n}[join.mode]


def _block(graph: BlockGraph, facts: Mapping[str, StepFacts], claims: Claims) -> BlockReach:
    reach = BlockReach(outcomes=layout(graph.order, facts))
    impossible = NOTHING
    for step in graph.order:
        impossible |= _step(graph, facts[step], reach, impossible, claims)
        by = None if step in reach.causes else claims.contradict(facts[step])
        if by is not None:
            impossible |= _contradicted(step, by, reach)
    return reach


def _contradicted(step: str, by: tuple[str, ...], reach: BlockReach) -> Facts:
    """Note that a step can't become ready: the conditions above it are never true together."""
    if len(by) == 1:
        text = f"it waits for {by[0]!r} in a way that never comes to be"
        reach.causes[step] = Cause(kind="upstream", by=by, text=text)
    else:
        text = "the guards of what it waits for are never true together"
        reach.causes[step] = Cause(kind="conflict", by=by, text=text)
    reach.possible[step] = reach.outcomes.of[step].skipped
    return reach.outcomes.only(step, reach.possible[step])


def _step(
    graph: BlockGraph, facts: StepFacts, reach: BlockReach, impossible: Facts, claims: Claims
) -> Facts:
    """Find out about one step, given those before it; return the outcomes it can't have."""
    step, ends = facts.path, reach.outcomes.of[facts.path]
    edges = graph.incoming.get(step, ())
    live = [edge for edge in edges if reach.possible[edge.source] & _taken(reach, edge)]
    reach.dead.update((edge.source, step) for edge in edges if edge not in live)
    needs = graph.needs(step)
    cases = [reach.known(e.source, reach.possible[e.source] & _taken(reach, e)) for e in live]
    waits = at_least(needed(graph.join(step), len(edges)), cases)
    ready = waits
    for need in needs:
        ready |= reach.known(need, reach.outcomes.of[need].success)
    reach.waits[step], reach.ready[step] = waits, ready
    reach.passed[step] = ready | guarded(reach, facts, wanted=True)
    cause = _cause(graph, facts, reach, live, impossible)
    if cause is not None:
        reach.causes[step] = cause
        reach.possible[step] = ends.skipped
    else:
        reach.possible[step] = _possible(graph, facts, reach, claims)
    return reach.outcomes.only(step, reach.possible[step])


def _taken(reach: BlockReach, edge: Edge) -> int:
    return reach.outcomes.of[edge.source].taken(edge)


def guarded(reach: BlockReach, facts: StepFacts, *, wanted: bool) -> Facts:
    """Return what the guard's own tests of other steps' states say when it is `wanted`."""
    found = NOTHING
    for other, status in tested(facts, wanted=wanted):
        ends = reach.outcomes.of.get(other)
        if ends is not None and other in reach.possible:
            bits = {
                "succeeded": ends.success,
                "failed": ends.failure | ends.handled,
                "timed_out": ends.failure | ends.handled,
                "skipped": ends.skipped,
            }
            found |= reach.known(other, bits[status]) if status in bits else NOTHING
    return found


def _possible(graph: BlockGraph, facts: StepFacts, reach: BlockReach, claims: Claims) -> int:
    ends = reach.outcomes.of[facts.path]
    possible = ends.ran | ends.skipped
    if facts.kind == "fail" and all(handler.continue_ is None for handler in facts.step.on_error):
        possible &= ~ends.success
    if ends.branches:
        live = live_branches(facts)
        none = live.none and not _takes_one(facts, claims)
        for bit, is_live in zip(ends.branches, (*live.branches, none), strict=True):
            possible &= possible if is_live else ~bit
    if _always_ready(graph, facts, reach):
        possible &= ~ends.skipped
    return possible


def _takes_one(facts: StepFacts, claims: Claims) -> bool:
    """Tell whether a switch without `else` surely takes one of its branches."""
    found = conditions(facts)
    if not found or len(found) in recovered(facts):
        return False
    nodes = [node for node in found if node is not None]
    return len(nodes) == len(found) and claims.excludes(facts, nodes, None)


def _always_ready(graph: BlockGraph, facts: StepFacts, reach: BlockReach) -> bool:
    """Tell whether nothing can skip the step."""
    if facts.step.when is not None and constant(facts, "when") is not True:
        return False
    if graph.needs(facts.path):
        return False
    edges = graph.incoming.get(facts.path, ())
    certain = sum(not reach.possible[edge.source] & ~_taken(reach, edge) for edge in edges)
    return certain >= needed(graph.join(facts.path), len(edges))


def _cause(
    graph: BlockGraph,
    facts: StepFacts,
    reach: BlockReach,
    live: Sequence[Edge],
    impossible: Facts,
) -> Cause | None:
    step = facts.path
    if constant(facts, "when") is False:
        return Cause(kind="guard", by=(step,), text="its guard is always false")
    for need in graph.needs(step):
        if not reach.possible[need] & reach.outcomes.of[need].success:
            return _never(reach, need, f"it reads the output of {need!r}")
    edges = graph.incoming.get(step, ())
    count = needed(graph.join(step), len(edges))
    if len(live) < count:
        return _too_few(graph, facts, reach, edges, count)
    if reach.outcomes.contradict(reach.ready[step] | impossible):
        return _conflict(graph, step, reach, live, impossible)
    return None


def _never(reach: BlockReach, step: str, text: str) -> Cause:
    if step in reach.causes:
        return Cause(kind="upstream", by=(step,), text=f"{text}, which never runs")
    return Cause(kind="edge", by=(step,), text=f"{text}, which never succeeds")


def _too_few(
    graph: BlockGraph,
    facts: StepFacts,
    reach: BlockReach,
    edges: Sequence[Edge],
    count: int,
) -> Cause:
    dead = [edge for edge in edges if (edge.source, edge.target) in reach.dead]
    inborn = [edge for edge in dead if why_dead(reach, edge).kind == "edge"]
    mode = graph.join(facts.path).mode
    if mode == "at_least" and len(edges) - len(inborn) < count:
        live = len(edges) - len(inborn)
        text = f"its join asks for {count} edges and only {live} can be taken"
        return Cause(kind="short", by=tuple(edge.source for edge in inborn), text=text)
    if mode == "all":
        return why_dead(reach, (inborn or dead)[0])
    return why_dead(reach, next((edge for edge in dead if edge not in inborn), dead[0]))


def why_dead(reach: BlockReach, edge: Edge) -> Cause:
    """Say why an edge that can't be taken can't be."""
    source = edge.source
    if source in reach.causes:
        return Cause(
            kind="upstream", by=(source,), text=f"it waits for {source!r}, which never runs"
        )
    if edge.branches and not edge.on:
        text = f"{source!r} never takes a branch that leads to it"
        return Cause(kind="branch", by=(source,), text=text)
    ways = " or ".join(WAYS[on] for on in edge.on)
    return Cause(
        kind="edge", by=(source,), text=f"it waits for {source!r} to {ways}, which can't be"
    )


def _conflict(
    graph: BlockGraph, step: str, reach: BlockReach, live: Sequence[Edge], impossible: Facts
) -> Cause:
    """Name the two things that exclude each other, where two do."""
    every = list(_waits_of(graph, step, reach, live))
    so_far = NOTHING
    for index, (one, facts) in enumerate(every):
        so_far |= facts
        if reach.outcomes.contradict(so_far | impossible):
            for other, earlier in every[:index]:
                if reach.outcomes.contradict(earlier | facts | impossible):
                    text = f"it waits for {other} and for {one}, and never are both so"
                    return Cause(kind="conflict", by=_sources(live), text=text)
            break
    text = "the steps it waits for never end so that enough of its edges are taken"
    return Cause(kind="conflict", by=_sources(live), text=text)


def _sources(edges: Sequence[Edge]) -> tuple[str, ...]:
    return tuple(edge.source for edge in edges)


def _waits_of(
    graph: BlockGraph, step: str, reach: BlockReach, live: Sequence[Edge]
) -> Iterator[tuple[str, Facts]]:
    if len(live) == needed(graph.join(step), len(graph.incoming.get(step, ()))):
        for edge in live:
            bits = reach.possible[edge.source] & _taken(reach, edge)
            yield wait_text(edge), reach.known(edge.source, bits)
    for need in graph.needs(step):
        success = reach.outcomes.of[need].success
        yield f"the output of {need!r}", reach.known(need, success)
