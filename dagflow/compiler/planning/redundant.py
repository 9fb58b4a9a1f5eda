"""Edges that say only what other edges say already."""

from __future__ import annotations

from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.graph.edges import Edge
from dagflow.compiler.graph.rings import Pair
from dagflow.compiler.proofs.reach import needed


def redundant(block: BlockGraph) -> frozenset[Pair]:
    """Return the pairs u → w whose control edge can go, w joining `all`.

    That is where some other step v must have succeeded before w starts, and u before v: by
    success edges into steps that wait for all of theirs, and by plain reads. A pair that also
    has a data edge stays. Linear in the edges but for the bits.
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
    edges = block.incoming.get(step, ())
    needs = block.needs(step)
    if needed(block.join(step), len(edges)) < len(edges):
        return needs
    return (*needs, *(edge.source for edge in edges if set(edge.on) <= {"success"}))


def _may_go(block: BlockGraph, edge: Edge) -> bool:
    """Tell whether the success of its source is enough for the edge, and its target joins all."""
    if block.join(edge.target).mode != "all" or not {"success", "done"} & set(edge.on):
        return False
    return all(data.source != edge.source for data in block.reads.get(edge.target, ()))
