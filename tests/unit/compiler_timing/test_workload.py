"""The workload over choices: exact on nested graphs, and never too little on others."""

from __future__ import annotations

import os
from itertools import product
from random import Random
from typing import Any

import pytest

from dagflow.compiler.timing.length import graham, longest
from dagflow.compiler.timing.workload import FAILURE, SKIPPED, SUCCESS, Choice, most, owners

FULL = os.environ.get("DAGFLOW_FULL") == "1"
PLAIN = frozenset({SUCCESS})


def nested(random: Random, depth: int) -> Any:
    """Return a random term of weights: ("step", w), or "seq", "par", "xor" of several terms."""
    if depth == 0 or random.random() < 0.2:
        return ("step", random.randrange(1, 20))
    kind = random.choice(("seq", "par", "xor"))
    return (kind, [nested(random, depth - 1) for _ in range(random.randrange(2, 4))])


class Built:
    """A term as a graph: weights, choices, and for each node those before it."""

    def __init__(self, term: Any) -> None:
        self.weights: list[float] = []
        self.nodes: list[Choice] = []
        self._add(term, ())

    def _node(self, weight: float, node: Choice) -> int:
        self.weights.append(weight)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _add(self, term: Any, edges: Any) -> tuple[tuple[int, frozenset[Any]], ...]:
        kind, inside = term
        if kind == "step":
            return ((self._node(inside, Choice(edges, endings=PLAIN)), PLAIN),)
        if kind == "seq":
            for part in inside:
                edges = self._add(part, edges)
            return edges
        ways = frozenset(range(len(inside))) if kind == "xor" else PLAIN
        fork = self._node(0, Choice(edges, endings=ways))
        ends: list[Any] = []
        for number, part in enumerate(inside):
            taken = frozenset({number}) if kind == "xor" else PLAIN
            ends += self._add(part, ((fork, taken),))
        join = self._node(0, Choice(tuple(ends), every=kind == "par", endings=PLAIN))
        return ((join, PLAIN),)

    @property
    def before(self) -> list[list[int]]:
        return [[source for source, _ in node.edges] for node in self.nodes]

    @property
    def most(self) -> float:
        return most(self.weights, owners(self.nodes), self.nodes)


def outcomes(term: Any) -> set[tuple[float, float]] | None:
    """Return (length, volume) of everything that a term can come to; None when that is too much."""
    kind, inside = term
    if kind == "step":
        return {(inside, inside)}
    parts = [outcomes(part) for part in inside]
    if any(part is None for part in parts):
        return None
    if kind == "xor":
        return set().union(*parts)
    found = {(0.0, 0.0)}
    for part in parts:
        found = {
            (a + c if kind == "seq" else max(a, c), b + d)
            for (a, b), (c, d) in product(found, part)
        }
        if len(found) > 4000:
            return None
    return found


def test_nested_choices_come_to_what_the_worst_of_all_runs_does() -> None:
    random, tried, inflated = Random(1), 0, []
    while tried < (1000 if FULL else 200):
        term = nested(random, 4)
        every = outcomes(term)
        if every is None:
            continue
        tried += 1
        graph = Built(term)
        length = longest(graph.weights, graph.before)
        assert length == max(long for long, _ in every)
        assert graph.most == max(volume for _, volume in every)
        worst = max(graham(long, volume, 4) for long, volume in every)
        inflated.append(graham(length, sum(graph.weights), 4) / worst)
        assert graham(length, graph.most, 4) >= worst
    assert sum(inflated) / tried > 1.2  # what the bound would be that ignores the choices


def tangled(random: Random, count: int) -> list[Choice]:
    """Return a random graph whose edges lead from any branch to any other node."""
    nodes: list[Choice] = []
    for number in range(count):
        sources = random.sample(range(number), min(number, random.randrange(4)))
        edges = tuple((source, labels(random, nodes[source])) for source in sorted(sources))
        needs = tuple(random.sample(range(number), 1)) if number and random.random() < 0.2 else ()
        ways = random.choice((PLAIN, frozenset({0, 1}), frozenset({0, 1, 2})))
        endings = ways | {FAILURE, SKIPPED}
        nodes.append(Choice(edges, every=random.random() < 0.6, needs=needs, endings=endings))
    return nodes


def labels(random: Random, source: Choice) -> frozenset[Any]:
    ways = sorted(source.endings, key=str)
    return frozenset(random.sample(ways, random.randrange(1, len(ways) + 1)))


def runs(nodes: list[Choice]) -> Any:
    """Yield, for every way in which all that runs can end, the numbers of what ran."""

    def go(number: int, ended: list[Any]) -> Any:
        if number == len(nodes):
            yield frozenset(n for n, label in enumerate(ended) if label != SKIPPED)
            return
        node = nodes[number]
        taken = [ended[source] in ways for source, ways in node.edges]
        may = (all(taken) if node.every else any(taken)) if taken else True
        may = may and all(ended[need] not in {FAILURE, SKIPPED} for need in node.needs)
        for label in node.endings - {SKIPPED} if may else ():
            yield from go(number + 1, [*ended, label])
        yield from go(number + 1, [*ended, SKIPPED])  # its guard may skip it

    return go(0, [])


@pytest.mark.parametrize("seed", range(60 if not FULL else 600))
def test_no_run_of_a_tangled_graph_comes_to_more(seed: int) -> None:
    random = Random(seed)
    nodes = tangled(random, 6)
    weights = [random.randrange(1, 20) for _ in nodes]

    worst = max(sum(weights[number] for number in run) for run in runs(nodes))

    assert most(weights, owners(nodes), nodes) >= worst
