"""The graph of a block as the bounds see it: which steps exclude each other, and which wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.graph.edges import Edge
from dagflow.compiler.model import StepFacts
from dagflow.compiler.timing.workload import FAILURE, SKIPPED, SUCCESS, Choice, Label
from dagflow.core.steps.switch import Switch

_CAN_END: Final[Mapping[str, frozenset[Label]]] = {
    "failure": frozenset({FAILURE}),
    "goto": frozenset({FAILURE}),
    "skipped": frozenset({SKIPPED}),
}
_PLAIN: Final[frozenset[Label]] = frozenset({SUCCESS})
_FREE: Final = Choice(endings=_PLAIN)
_ALL: Final[frozenset[Label]] = frozenset({SUCCESS, FAILURE, SKIPPED})


def choices(block: BlockGraph, facts: Mapping[str, StepFacts]) -> list[Choice]:
    """Return the steps of a block, in its order, with what each hangs on.

    A step that no other asks more of than to succeed is no choice: it counts as one that can end
    in one way only, since nothing runs instead of what waits for it.
    """
    number = {step: index for index, step in enumerate(block.order)}
    endings = _endings(block, facts)
    return [
        _FREE
        if endings[step] is _PLAIN and step not in block.incoming and step not in block.reads
        else Choice(
            edges=tuple(
                (number[edge.source], _labels(edge, endings[edge.source]))
                for edge in block.incoming.get(step, ())
            ),
            every=_is_every(block, step),
            needs=tuple(number[need] for need in block.needs(step)),
            endings=endings[step],
        )
        for step in block.order
    ]


def _is_every(block: BlockGraph, step: str) -> bool:
    join = block.join(step)
    if join.mode == "at_least":
        return join.n >= len(block.incoming.get(step, ()))
    return join.mode == "all"


def _endings(block: BlockGraph, facts: Mapping[str, StepFacts]) -> dict[str, frozenset[Label]]:
    found = dict.fromkeys(block.order, _PLAIN)
    for edge in block.edges():
        if edge.branches or set(edge.on) & {"failure", "goto", "skipped", "done"}:
            body = facts[edge.source].step.body
            ways = range(len(body.branches)) if isinstance(body, Switch) else ()
            found[edge.source] = _ALL | frozenset(ways)
    return found


def _labels(edge: Edge, endings: frozenset[Label]) -> frozenset[Label]:
    """Return the ways in which the source may have ended for the edge to be taken."""
    if "done" in edge.on:
        return endings
    found: frozenset[Label] = frozenset(edge.branches)
    for on in edge.on:
        found |= _CAN_END.get(on, endings - {FAILURE, SKIPPED})
    return found


def over(block: BlockGraph) -> list[list[int]]:
    """Return for each step, in the order of the block, those that are over when it runs.

    And all that these waited for is over as well. A join of all is skipped as soon as one edge is
    not taken, when others before it may be at work still: of a step that waits for such a join to
    be skipped, or for one of several, nothing more is known than that.
    """
    number = {step: index for index, step in enumerate(block.order)}
    settled: dict[str, bool] = {}
    found: list[list[int]] = []
    for step in block.order:
        sources = list(_waited_for(block, step))
        settled[step] = _is_settled(block, step, sources, settled)
        ran = (source for source, has_run in sources if has_run or settled[source])
        found.append([number[source] for source in dict.fromkeys(ran)])
    return found


def _waited_for(block: BlockGraph, step: str) -> Iterator[tuple[str, bool]]:
    """Yield what is final when a step runs, and whether it certainly has run."""
    edges = block.incoming.get(step, ())
    every = _is_every(block, step)
    if block.join(step).mode != "at_least" or every:
        for edge in edges:
            yield edge.source, every and not {"skipped", "done"} & set(edge.on)
    for need in block.needs(step):
        yield need, True
    for other in block.awaits(step):
        yield other, False


def _is_settled(
    block: BlockGraph,
    step: str,
    sources: list[tuple[str, bool]],
    settled: Mapping[str, bool],
) -> bool:
    """Tell whether all that a step waited for is over once it is final, skipped or not."""
    names = {source for source, _ in sources}
    if block.join(step).mode == "at_least" and len(block.incoming.get(step, ())) > 1:
        return False
    if not all(settled[name] for name in names):
        return False
    patient = block.join(step).mode == "any" and not block.needs(step)
    return len(names) <= 1 or patient
