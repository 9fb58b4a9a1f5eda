"""The most that steps can hold together which may run at the same time.

By Dilworth's theorem with weights, the heaviest set of steps of which none waits for another
weighs as much as the least flow that sends through each step its weight at least. Any such flow
is an upper bound: one is made in one pass, and lessened for as long as that is cheap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf
from typing import Final

EFFORT: Final = 3000
"""Edges that are looked at to lessen the flow: small graphs are done with then."""


def heaviest(weights: Sequence[float], before: Sequence[Sequence[int]]) -> float:
    """Return a bound of the weight of steps that may run together: no less than the true one.

    `before` are for each step those that are over, with all that they waited for, when it runs.
    """
    if not any(weights) or inf in weights:
        return max(weights, default=0.0)
    return _Flow(weights, before).lessened()


class _Flow:
    """A flow from one source to one sink through every node; `own` enters at a node itself."""

    def __init__(self, weights: Sequence[float], before: Sequence[Sequence[int]]) -> None:
        self._weights = weights
        self._before = before
        self._after: list[list[int]] = [[] for _ in before]
        for node, sources in enumerate(before):
            for source in sources:
                self._after[source].append(node)
        self._along: dict[tuple[int, int], float] = {}
        self._own = [0.0] * len(weights)
        self._left = [0.0] * len(weights)
        self._through = [0.0] * len(weights)
        self._fill()

    def _fill(self) -> None:
        """Let each node take from those before it what they have left, and the rest anew.

        Of what is left nothing is lost: the last of those behind a node takes all of it along.
        """
        for node, (weight, sources) in enumerate(zip(self._weights, self._before, strict=True)):
            got = 0.0
            for source in sorted(sources, key=lambda it: self._after[it][-1] != node):
                is_last = self._after[source][-1] == node
                taken = self._left[source] if is_last else min(self._left[source], weight - got)
                if taken > 0:
                    self._along[source, node] = taken
                    self._left[source] -= taken
                    got += taken
            self._own[node] = max(0.0, weight - got)
            self._through[node] = self._left[node] = got + self._own[node]

    def lessened(self) -> float:
        """Return the flow after lessening it while the effort lasts."""
        effort = EFFORT
        while effort > 0:
            way, looked = self._way()
            effort -= looked
            if not way:
                break
            self._lessen(way)
        return sum(self._own)

    def _way(self) -> tuple[list[tuple[str, int, int]], int]:
        """Find a way from source to sink along which less can flow.

        A place is (node, 0) before and (node, 1) behind its weight. Along edges with flow there
        can be less; against any edge, more.
        """
        came: dict[tuple[int, int], tuple[tuple[int, int] | None, tuple[str, int, int]]] = {}
        queue: deque[tuple[int, int]] = deque()
        for node, own in enumerate(self._own):
            if own > 0:
                came[node, 0] = (None, ("own", node, node))
                queue.append((node, 0))
        looked = 0
        while queue:
            place = queue.popleft()
            node, side = place
            if side and self._left[node] > 0:
                return self._back(place, came), looked
            for reached, move in self._moves(node, side):
                looked += 1
                if reached not in came:
                    came[reached] = (place, move)
                    queue.append(reached)
        return [], looked

    def _moves(self, node: int, side: int) -> list[tuple[tuple[int, int], tuple[str, int, int]]]:
        if side == 0:
            found = [((source, 1), ("more", source, node)) for source in self._before[node]]
            if self._through[node] > self._weights[node]:
                found.append(((node, 1), ("thin", node, node)))
            return found
        found = [
            ((target, 0), ("less", node, target))
            for target in self._after[node]
            if self._along.get((node, target), 0.0) > 0
        ]
        return [*found, ((node, 0), ("thick", node, node))]

    @staticmethod
    def _back(
        place: tuple[int, int],
        came: dict[tuple[int, int], tuple[tuple[int, int] | None, tuple[str, int, int]]],
    ) -> list[tuple[str, int, int]]:
        way = [("end", place[0], place[0])]
        at: tuple[int, int] | None = place
        while at is not None:
            at, move = came[at]
            way.append(move)
        return way

    def _lessen(self, way: list[tuple[str, int, int]]) -> None:
        room = min(self._room(move) for move in way)
        for kind, source, target in way:
            if kind == "own":
                self._own[source] -= room
            elif kind == "end":
                self._left[source] -= room
            elif kind in {"thin", "thick"}:
                self._through[source] += room if kind == "thick" else -room
            else:
                change = room if kind == "more" else -room
                self._along[source, target] = self._along.get((source, target), 0.0) + change

    def _room(self, move: tuple[str, int, int]) -> float:
        kind, source, target = move
        if kind == "own":
            return self._own[source]
        if kind == "end":
            return self._left[source]
        if kind == "thin":
            return self._through[source] - self._weights[source]
        return self._along[source, target] if kind == "less" else inf
