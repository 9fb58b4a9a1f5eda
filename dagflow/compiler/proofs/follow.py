"""Whether facts about the steps of a block go together with all that follows from them.

Facts say of each step which outcomes it did not have. A step that ran had enough of its edges
taken, and so something is known of their sources; a step that was skipped was so for a reason.
Going through the block from its end until nothing more follows takes time in proportion to its
size, so it is asked only before something is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.proofs.outcomes import NOTHING, Facts, at_least
from dagflow.compiler.proofs.reach import BlockReach, needed

NO_REASONS: Final[Mapping[str, Facts]] = MappingProxyType({})

ROUNDS: Final = 8
"""How often a block is gone through at most: what follows further on is rarely of use."""


def can_be(
    graph: BlockGraph, reach: BlockReach, facts: Facts, skipped: Mapping[str, Facts] = NO_REASONS
) -> bool:
    """Tell whether the facts can hold in one run; `skipped` is what is certain of skipped steps."""
    for _ in range(ROUNDS):
        if reach.outcomes.contradict(facts):
            return False
        more = _followed(graph, reach, facts, skipped)
        if more is None:
            return False
        if more == facts:
            return True
        facts = more
    return not reach.outcomes.contradict(facts)


def _followed(
    graph: BlockGraph, reach: BlockReach, facts: Facts, skipped: Mapping[str, Facts]
) -> Facts | None:
    """Return the facts with what the outcomes that are left say of the steps before them.

    None where some step that ran had too few edges taken.
    """
    for step in reversed(graph.order):
        ends, left = reach.outcomes.of[step], _left(reach, step, facts)
        if left == ends.skipped:
            facts |= skipped.get(step, NOTHING)
        elif not left & ends.skipped:
            joined = _joined(graph, reach, step, facts)
            if joined is None:
                return None
            facts |= joined | reach.known(step, left)
    return facts


def _joined(graph: BlockGraph, reach: BlockReach, step: str, facts: Facts) -> Facts | None:
    """Return what is certain of the sources of the edges of a step that ran."""
    edges = graph.incoming.get(step, ())
    taken = [
        (edge.source, _left(reach, edge.source, facts) & reach.outcomes.of[edge.source].taken(edge))
        for edge in edges
    ]
    open_ = [reach.known(source, bits) for source, bits in taken if bits]
    count = needed(graph.join(step), len(edges))
    return None if len(open_) < count else at_least(count, open_)


def _left(reach: BlockReach, step: str, facts: Facts) -> int:
    """Return the outcomes that a step may have had."""
    ends = reach.outcomes.of[step]
    return ends.all & ~(facts >> ends.at)
