"""The most that the nodes of one run can come to, where some exclude each other.

Melani et al., "Response-Time Analysis of Conditional DAG Tasks" (ECRTS 2015), take the worst
branch of each choice. Their recursion asks that no edge leads from inside of a branch to outside
but at its end; a workflow's graph may have such edges. Here each node is put under the innermost
choice that it certainly hangs on and its other conditions are forgotten: the same on nested
graphs, and never too little on any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from dagflow.core.records import dataclass

Label: TypeAlias = int | str
"""How a node ended: the number of a branch, or one of the words below."""

SUCCESS: Final = "success"
FAILURE: Final = "failure"
SKIPPED: Final = "skipped"

Conditions: TypeAlias = Mapping[int, frozenset[Label]]
"""The ways in which some nodes must have ended, by their numbers."""

NONE: Final[Conditions] = {}


@dataclass(frozen=True, slots=True)
class Choice:
    """A node as far as others hang on it.

    `edges` are (source, ways it may have ended in) of which `every` one, or else any one, must
    hold for the node to run; `needs` are sources that must have succeeded besides. `endings` are
    all the ways in which the node itself can end, having run or not.
    """

    edges: tuple[tuple[int, frozenset[Label]], ...] = ()
    every: bool = True
    needs: tuple[int, ...] = ()
    endings: frozenset[Label] = frozenset({SUCCESS, FAILURE, SKIPPED})


def owners(nodes: Sequence[Choice]) -> list[tuple[int, frozenset[Label]] | None]:
    """Return for each node the last one whose ending it hangs on, and how that must have ended.

    Each node comes after those that it names.
    """
    conditions: list[Conditions] = []
    found: list[tuple[int, frozenset[Label]] | None] = []
    for node in nodes:
        held = _held(node, nodes, conditions)
        conditions.append(held)
        last = max(held, default=None)
        found.append(None if last is None else (last, held[last]))
    return found


def _held(node: Choice, nodes: Sequence[Choice], before: Sequence[Conditions]) -> Conditions:
    """Return what certainly holds wherever the node runs."""
    ways = [_through(source, labels, nodes, before) for source, labels in node.edges]
    parts = ways if node.every else [_either(ways)] if ways else []
    for need in node.needs:
        won = nodes[need].endings - {FAILURE, SKIPPED}
        parts = [*parts, _through(need, won, nodes, before)]
    if len(parts) == 1:
        return parts[0]
    return _all(parts) if parts else NONE


def _through(
    source: int, labels: frozenset[Label], nodes: Sequence[Choice], before: Sequence[Conditions]
) -> Conditions:
    """Return what holds where the source ended in one of these ways."""
    ran = before[source] if SKIPPED not in labels else NONE
    if labels >= nodes[source].endings:
        return ran
    return {**ran, source: labels & nodes[source].endings}


def _all(parts: Iterable[Conditions]) -> Conditions:
    found: dict[int, frozenset[Label]] = {}
    for part in parts:
        for node, labels in part.items():
            found[node] = found[node] & labels if node in found else labels
    return found


def _either(ways: Sequence[Conditions]) -> Conditions:
    first, *others = ways
    if not others:
        return first
    shared = [node for node in first if all(node in way for way in others)]
    return {node: frozenset().union(*(way[node] for way in ways)) for node in shared}


def most(
    weights: Sequence[float],
    under: Sequence[tuple[int, frozenset[Label]] | None],
    nodes: Sequence[Choice],
) -> float:
    """Return the largest sum of weights over the nodes that may run together.

    `under` is what `owners` returned for the nodes.
    """
    hung: dict[int, list[tuple[frozenset[Label], float]]] = {}
    total = 0.0
    for number in range(len(weights) - 1, -1, -1):
        worth = _worth(weights[number], hung.pop(number, ()), nodes[number].endings)
        owner = under[number]
        if owner is None:
            total += worth
        else:
            hung.setdefault(owner[0], []).append((owner[1], worth))
    return total


def _worth(
    weight: float, hung: Iterable[tuple[frozenset[Label], float]], endings: frozenset[Label]
) -> float:
    """Return what a node and all under it come to at most, over the ways it can end."""
    sums: dict[Label, float] = dict.fromkeys(endings, weight)
    if SKIPPED in sums:
        sums[SKIPPED] = 0.0
    for labels, worth in hung:
        for label in labels:
            sums[label] = sums.get(label, weight) + worth
    return max(sums.values(), default=weight)
