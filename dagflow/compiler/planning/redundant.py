"""Edges that say only what other edges say already."""

from __future__ import annotations

from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.graph.edges import Edge
from dagflow.compiler.graph.rings import Pair


def redundant(block: BlockGraph) -> frozenset[Pair]:
    """Return the pairs u → w whose control edge can go.

    That is where it and every edge of some longer way from u to w waits for success and leads to
    a step that joins `all`: then u has surely succeeded before w starts, and w is skipped without
    it. A plain read is such an edge, too. A pair that also has a data edge stays. Linear in the
    edges but for the bits.
    """
    bit = {step: 1 << index for index, step in enumerate(block.order)}
    certain: dict[str, int] = {}  # the steps whose success is certain when one becomes ready
    found: set[Pair] = set()
    for step in block.order:
        strong = _strong(block, step)
        implied = 0
        for source in strong:
            implied |= certain[source]
        found |= {
            (edge.source, step)
            for edge in block.incoming.get(step, ())
            if _may_go(block, edge) and bit[edge.source] & implied
        }
        for source in strong:
            implied |= bit[source]
        certain[step] = implied
    return frozenset(found)


def _strong(block: BlockGraph, step: str) -> tuple[str, ...]:
    """Return the steps that must have succeeded for this one to become ready."""
    if block.join(step).mode != "all":
        return ()
    edges = block.incoming.get(step, ())
    return (*block.needs(step), *(edge.source for edge in edges if _waits_for_success(edge)))


def _waits_for_success(edge: Edge) -> bool:
    return edge.on == ("success",) and not edge.branches


def _may_go(block: BlockGraph, edge: Edge) -> bool:
    """Tell whether an edge waits for success, and no read makes the pair one anyway."""
    return _waits_for_success(edge) and all(
        data.source != edge.source for data in block.reads.get(edge.target, ())
    )
