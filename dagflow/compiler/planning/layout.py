"""Where each step is drawn: layers by the longest way from an entry, rows by barycentres.

The same graph always gives the same drawing; all of it is linear in edges and steps but for the
sorting of layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.graph.rings import Pair
from dagflow.compiler.memory import Memory
from dagflow.compiler.planning.prune import Pruned
from dagflow.core.plan import Place

SWEEPS: Final = 4
"""How often the rows are ordered by their neighbours, there and back."""


def places(pruned: Pruned, memory: Memory | None = None) -> dict[str, Place]:
    """Return the place of every step, in its own block."""
    return places_of(pruned.graphs, memory)


def places_of(graphs: Graphs, memory: Memory | None = None) -> dict[str, Place]:
    """Return the place of every step of graphs, each block by itself; not anew what is known."""
    memory = Memory() if memory is None else memory
    found: dict[str, Place] = {}
    for block in graphs.blocks.values():
        pairs = block.pairs()
        key = (block.steps, block.order, pairs)
        found |= memory.recall("places", key, partial(_places, block, pairs))
    return found


def _places(block: BlockGraph, pairs: tuple[Pair, ...]) -> Mapping[str, Place]:
    before: dict[str, list[str]] = {step: [] for step in block.steps}
    after: dict[str, list[str]] = {step: [] for step in block.steps}
    for source, target in pairs:
        before[target].append(source)
        after[source].append(target)
    layers = _layers(block.order, before)
    rows = _rows(layers, before, after)
    return {
        step: Place(layer=layer, row=rows[step])
        for layer, steps in enumerate(layers)
        for step in steps
    }


def _layers(order: Sequence[str], before: Mapping[str, list[str]]) -> list[list[str]]:
    rank: dict[str, int] = {}
    layers: list[list[str]] = []
    for step in order:
        rank[step] = max((rank[source] + 1 for source in before[step]), default=0)
        while len(layers) <= rank[step]:
            layers.append([])
        layers[rank[step]].append(step)
    return layers


def _rows(
    layers: list[list[str]], before: Mapping[str, list[str]], after: Mapping[str, list[str]]
) -> dict[str, int]:
    """Order each layer by the middle of its neighbours, forwards and backwards in turn."""
    rows = {step: row for steps in layers for row, step in enumerate(steps)}
    for _ in range(SWEEPS):
        for steps in layers:
            _order(steps, before, rows)
        for steps in reversed(layers):
            _order(steps, after, rows)
    return rows


def _order(steps: list[str], near: Mapping[str, list[str]], rows: dict[str, int]) -> None:
    middle = {step: _middle(step, near[step], rows) for step in steps}
    steps.sort(key=lambda step: (middle[step], rows[step]))
    rows.update({step: row for row, step in enumerate(steps)})


def _middle(step: str, near: Sequence[str], rows: Mapping[str, int]) -> float:
    if not near:
        return float(rows[step])
    return sum(rows[other] for other in near) / len(near)
