"""Rings: which steps wait for each other, said the same way for the same file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from dagflow.core.records import dataclass

if TYPE_CHECKING:
    import networkx as nx

Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """Steps that wait for each other: `steps` once around, from the one written first.

    `others` are further steps that are tied into the same knot.
    """

    steps: tuple[str, ...]
    others: tuple[str, ...] = ()


def rings_of(steps: Iterable[str], pairs: Iterable[Pair]) -> tuple[Ring, ...]:
    """Return a ring for each knot of steps that wait for each other, first in the file first.

    The ring is a shortest one through the knot's first step, so it always reads from there.
    """
    import networkx as nx

    place = {step: index for index, step in enumerate(steps)}
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(place)
    graph.add_edges_from(sorted(pairs, key=lambda pair: (place[pair[0]], place[pair[1]])))
    knots = [
        sorted(knot, key=place.__getitem__)
        for knot in nx.strongly_connected_components(graph)
        if len(knot) > 1 or graph.has_edge(*(2 * tuple(knot)))
    ]
    return tuple(_ring(graph, knot) for knot in sorted(knots, key=lambda knot: place[knot[0]]))


def _ring(graph: nx.DiGraph[str], knot: list[str]) -> Ring:
    import networkx as nx

    first = knot[0]
    if graph.has_edge(first, first):
        return Ring(steps=(first,), others=tuple(knot[1:]))
    inside = nx.DiGraph([(a, b) for a, b in graph.edges if a in set(knot) and b in set(knot)])
    back = (nx.shortest_path(inside, after, first) for after in inside.successors(first))
    around = min(back, key=len)
    ring = (first, *around[:-1])
    return Ring(steps=ring, others=tuple(step for step in knot if step not in ring))
