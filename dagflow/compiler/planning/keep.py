"""Which steps can leave the plan: those that never run, and those that nobody could notice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.graph.edges import Edge
from dagflow.compiler.model import TOPS, Model, StepFacts
from dagflow.compiler.proofs.reach import Cause, CauseKind, Reach
from dagflow.compiler.proofs.total import is_total
from dagflow.compiler.types.composites import collected
from dagflow.core.findings import Removal
from dagflow.core.records import dataclass

_CODES: Mapping[CauseKind, str] = {
    "guard": "DF401",
    "upstream": "DF302",
    "branch": "DF405",
    "edge": "DF302",
    "conflict": "DF303",
    "short": "DF304",
}


@dataclass(slots=True, kw_only=True)
class _Choice:
    """The steps that could leave, while it is found out which must stay after all.

    `readers` are the steps that read each step, None standing for the run's outputs and the like.
    """

    graphs: Graphs
    reach: Reach
    leaving: dict[str, Removal]
    readers: Mapping[str, tuple[str | None, ...]]
    outgoing: Mapping[str, tuple[Edge, ...]]
    stops_at_once: bool
    kept: list[str] = field(default_factory=list)

    def stays(self, step: str | None) -> bool:
        """Tell whether a reader (None: one outside the steps) stays."""
        return step is None or step not in self.leaving

    def keep(self, step: str) -> None:
        """Take a step off the list of those that leave."""
        if self.leaving.pop(step, None) is not None:
            self.kept.append(step)


def stops_at_once(model: Model) -> bool:
    """Tell whether a run starts nothing more once a step has failed (`on_failure: stop`)."""
    chosen = model.workflow.on_failure
    return chosen is not None and chosen.value == "stop"


def leaving(model: Model, graphs: Graphs, reach: Reach) -> dict[str, Removal]:
    """Return the steps that can leave, with the reason, in the order of the file.

    The top always keeps a step: a plan of none would show nothing of the run at all.
    """
    choice = _Choice(
        graphs=graphs,
        reach=reach,
        leaving={
            step: Removal("step", step, cause.text, _CODES[cause.kind])
            for step, cause in _causes(graphs, reach)
        },
        readers=_readers(model, graphs),
        outgoing=_outgoing(graphs),
        stops_at_once=stops_at_once(model),
    )
    _keep_what_shows(choice)
    _add_unnoticed(choice, model)
    return _with_inner(choice.leaving, graphs)


def _causes(graphs: Graphs, reach: Reach) -> Iterator[tuple[str, Cause]]:
    for block in graphs.blocks.values():
        for step in block.steps:
            cause = reach.cause(step)
            if cause is not None:
                yield step, cause


def _readers(model: Model, graphs: Graphs) -> dict[str, tuple[str | None, ...]]:
    """Return who reads each step; what a composite or a compensation reads counts for it."""
    found: dict[str, dict[str | None, None]] = {}
    for facts in graphs.facts.values():
        more = facts.compensate.reads if facts.compensate else ()
        for read in (*facts.reads, *more):
            if read.step != facts.path:
                found.setdefault(read.step, {})[facts.path] = None
    for read in model.output_reads:
        found.setdefault(read.step, {})[None] = None
    for path, block in model.blocks.items():
        if path not in TOPS:
            sink = collected(graphs.facts[path], block.steps)
            found.setdefault(sink or "", {})[path] = None
    return {step: tuple(readers) for step, readers in found.items()}


def _outgoing(graphs: Graphs) -> dict[str, tuple[Edge, ...]]:
    found: dict[str, list[Edge]] = {}
    for block in graphs.blocks.values():
        for edge in block.edges():
            found.setdefault(edge.source, []).append(edge)
    return {step: tuple(edges) for step, edges in found.items()}


def _keep_what_shows(choice: _Choice) -> None:
    """Keep the steps that never run whose being skipped is noticed, and what keeps them so."""
    pending = list(choice.leaving)
    while pending:
        step = pending.pop()
        if step in choice.leaving and _shows(choice, step):
            choice.keep(step)
            block = choice.graphs.block_of(step)
            for source in _sources(block, step):
                choice.keep(source)
            pending += choice.leaving


def _sources(block: BlockGraph, step: str) -> Iterator[str]:
    yield from (edge.source for edge in block.incoming.get(step, ()))
    yield from (edge.source for edge in block.reads.get(step, ()))


def _shows(choice: _Choice, step: str) -> bool:
    if any(choice.stays(reader) for reader in choice.readers.get(step, ())):
        return True
    block = choice.graphs.block_of(step)
    if any("goto" in e.on and choice.stays(e.source) for e in block.incoming.get(step, ())):
        return True
    waits = any(choice.stays(source) for source in _sources(block, step))
    return any(
        choice.stays(edge.target) and _is_felt(choice, block, edge, waits=waits)
        for edge in choice.outgoing.get(step, ())
    )


def _is_felt(choice: _Choice, block: BlockGraph, edge: Edge, *, waits: bool) -> bool:
    """Tell whether leaving out the edge from a step that never runs would be felt.

    An edge that is always taken (`skipped`, `done`) can leave a join of `all` when its source
    waits for nothing. An edge that is never taken can leave the other joins; only where a run
    stops at its first failure does it show that `any` need not wait for it any more. A target
    that itself never runs needs what keeps it from running.
    """
    mode = block.join(edge.target).mode
    if not choice.reach.runs(edge.target):
        return True
    if choice.reach.is_dead(edge):
        return mode == "any" and waits and choice.stops_at_once
    return mode != "all" or waits


def _add_unnoticed(choice: _Choice, model: Model) -> None:
    """Add pure, total steps that nobody reads, waits for or is led to by more than a branch."""
    for path, block in choice.graphs.blocks.items():
        staying = sum(step not in choice.leaving for step in block.steps)
        for step in block.steps:
            facts = choice.graphs.facts[step]
            if staying == 1 and path in TOPS:
                break
            if step not in choice.leaving and _is_unnoticed(choice, block, facts, model):
                reason = "nobody reads it, and it is pure and can't fail"
                choice.leaving[step] = Removal("step", step, reason, "DF004")
                staying -= 1


def _is_unnoticed(choice: _Choice, block: BlockGraph, facts: StepFacts, model: Model) -> bool:
    step = facts.path
    outgoing = (edge.target for edge in choice.outgoing.get(step, ()))
    if any(choice.stays(other) for other in (*outgoing, *choice.readers.get(step, ()))):
        return False
    edges = block.incoming.get(step, ())
    led_to = all(edge.branches and not edge.on for edge in edges)
    return led_to and not block.reads.get(step) and is_total(facts, model)


def _with_inner(leaving: Mapping[str, Removal], graphs: Graphs) -> dict[str, Removal]:
    """Add the steps inside the composites that leave, and put all in the order of the file."""
    found: dict[str, Removal] = {}
    for block in graphs.blocks.values():
        for step in block.steps:
            if block.path in found and block.path not in TOPS:
                reason = f"the step around it, {block.path!r}, was removed"
                found[step] = Removal("step", step, reason, found[block.path].code)
            elif step in leaving:
                found[step] = leaving[step]
    return found
