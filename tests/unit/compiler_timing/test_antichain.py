"""What may run together, against every set of nodes that don't wait for each other."""

from __future__ import annotations

import os
from itertools import combinations
from random import Random

import pytest

from dagflow.compiler.timing.antichain import heaviest

FULL = os.environ.get("DAGFLOW_FULL") == "1"


def every(weights: list[int], before: list[list[int]]) -> float:
    above: list[set[int]] = []
    for sources in before:
        above.append(set(sources).union(*(above[source] for source in sources)))
    nodes = range(len(weights))
    return max(
        sum(weights[node] for node in chosen)
        for size in range(len(weights) + 1)
        for chosen in combinations(nodes, size)
        if not any(a in above[b] for a, b in combinations(chosen, 2))
    )


def test_the_bound_is_never_too_small_and_nearly_always_exact() -> None:
    random, exact, count = Random(2), 0, 1000 if FULL else 150
    for _ in range(count):
        size = random.randrange(1, 10)
        before = [
            sorted(random.sample(range(node), min(node, random.randrange(4))))
            for node in range(size)
        ]
        weights = [random.choice([0, 0, 1, 2, 5]) for _ in range(size)]
        found, true = heaviest(weights, before), every(weights, before)
        assert found >= true
        exact += found == true
    assert exact >= 0.98 * count


@pytest.mark.parametrize(
    ("weights", "before", "most"),
    [
        ([], [], 0),
        ([4], [[]], 4),
        ([4, 3], [[], [0]], 4),
        ([4, 3], [[], []], 7),
        ([1, 2, 2, 3], [[], [0], [0], [1, 2]], 4),
        ([2, 2, 2, 0, 3, 3], [[], [], [], [0, 1, 2], [3], [3]], 6),
    ],
)
def test_small_graphs(weights: list[int], before: list[list[int]], most: int) -> None:
    assert heaviest(weights, before) == most
