"""Anchors and aliases: how much a document means once its aliases are followed."""

from __future__ import annotations

from dataclasses import field

from dagflow.core.node import Mapping, Node, Scalar, Sequence
from dagflow.core.records import dataclass
from dagflow.core.source import Span


@dataclass(frozen=True, slots=True)
class Extent:
    """How many nodes a tree has, and how many levels, aliases followed."""

    nodes: int
    levels: int


LEAF = Extent(1, 1)


@dataclass(slots=True)
class Anchors:
    """The anchors met so far; None while the value they name is being read."""

    known: dict[str, Node | None] = field(default_factory=dict)
    used: list[tuple[int, Span]] = field(default_factory=list)
    _extents: dict[int, Extent] = field(default_factory=dict)

    def extent(self, node: Node) -> Extent:
        """Measure a tree; each shared part is measured once."""
        if isinstance(node, Scalar):
            return LEAF
        found = self._extents.get(id(node))
        if found is None:
            found = self._extents[id(node)] = _sum([self.extent(part) for part in _parts(node)])
        return found

    def largest(self) -> tuple[int, Span]:
        """Return the alias that stands for most: how many nodes, and where it is."""
        return max(self.used, key=lambda item: item[0])


def _parts(node: Mapping | Sequence) -> list[Node]:
    if isinstance(node, Sequence):
        return list(node.items)
    return [part for entry in node.entries for part in entry]


def _sum(parts: list[Extent]) -> Extent:
    nodes = 1 + sum(part.nodes for part in parts)
    return Extent(nodes, 1 + max((part.levels for part in parts), default=0))
