"""The most that the nodes of one run can come to, where some exclude each other.

Melani et al., "Response-Time Analysis of Conditional DAG Tasks" (ECRTS 2015), take the worst
branch of each choice. Their recursion asks that no edge leads from inside of a branch to outside
but at its end; a workflow's graph may have such edges. Here each node is put under the innermost
choice that it certainly hangs on, and its other conditions are forgotten: the same on nested
graphs, and never too little on any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from dagflow.core.records import dataclass

Label: TypeAlias = int | str
"""How a node ended: the number of a branch, or one of the words below."""

SUCCESS: Final = "success"
FAILURE: Final = "failure"
SKIPPED: Final = "skipped"

Owner: TypeAlias = tuple[int, frozenset[Label]] | None
"""A choice by its number, and the ways in which it must have ended."""


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


def owners(nodes: Sequence[Choice]) -> list[Owner]:
    """Return for each node the innermost choice that it hangs on, and how that must have ended.

    Each node comes after those that it names. What a choice hangs on itself is found by asking
    for its own owner, so that all of it takes one entry a node.
    """
    found: list[Owner] = []
    for node in nodes:
        ways = [_through(source, labels, nodes, found) for source, labels in node.edges]
        parts = ways if node.every else [_either(ways, nodes, found)]
        for need in node.needs:
            won = nodes[need].endings - {FAILURE, SKIPPED}
            parts.append(_through(need, won, nodes, found))
        found.append(_innermost(parts))
    return found


def _through(
    source: int, labels: frozenset[Label], nodes: Sequence[Choice], found: Sequence[Owner]
) -> Owner:
    """Return what holds where the source ended in one of these ways.

    Nothing is said of one that may also have been skipped by what it hangs on: its own choice
    may then have gone any way.
    """
    endings = nodes[source].endings
    if SKIPPED in labels and (found[source] is not None or labels >= endings):
        return None
    if labels >= endings - {SKIPPED} and SKIPPED not in labels:
        return found[source]
    return source, labels & endings


def _innermost(parts: Sequence[Owner]) -> Owner:
    """Return the condition on the last choice of several that all hold; the others are dropped."""
    last: Owner = None
    for part in parts:
        if part is None:
            continue
        if last is None or part[0] > last[0]:
            last = part
        elif part[0] == last[0]:
            last = (part[0], part[1] & last[1])
    return last


def _either(ways: Sequence[Owner], nodes: Sequence[Choice], found: Sequence[Owner]) -> Owner:
    """Return what holds whichever of the ways it was: the choice that all of them hang on."""
    if not ways:
        return None
    shared = ways[0]
    for way in ways[1:]:
        other = way
        while shared is not None and other is not None and shared[0] != other[0]:
            if shared[0] > other[0]:
                shared = _outside(shared, found)
            else:
                other = _outside(other, found)
        if shared is None or other is None:
            return None
        shared = (shared[0], shared[1] | other[1])
    if shared is not None and shared[1] >= nodes[shared[0]].endings - {SKIPPED}:
        return _outside(shared, found)
    return shared


def _outside(owner: tuple[int, frozenset[Label]], found: Sequence[Owner]) -> Owner:
    """Return what a choice hangs on itself; nothing where it need not have run."""
    return None if SKIPPED in owner[1] else found[owner[0]]


def most(
    weights: Sequence[float],
    under: Sequence[Owner],
    nodes: Sequence[Choice],
) -> float:
    """Return the largest sum of weights over the nodes that may run together.

    `under` is what `owners` returned for the nodes.
    """
    if not any(weights):
        return 0
    hung: dict[int, list[tuple[frozenset[Label], float]]] = {}
    total: float = 0  # whole numbers stay whole
    for number in range(len(weights) - 1, -1, -1):
        worth, owner = weights[number], under[number]
        if number in hung:
            worth = _worth(worth, hung.pop(number), nodes[number].endings)
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
        sums[SKIPPED] = 0
    for labels, worth in hung:
        for label in labels:
            sums[label] = sums.get(label, weight) + worth
    return max(sums.values(), default=weight)
