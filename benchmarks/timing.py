"""The algorithms of deadlines and bounds, on graphs of a thousand steps."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

import numpy as np

from benchmarks.measure import Figure, Round, interleaved
from dagflow.compiler.timing.antichain import heaviest
from dagflow.compiler.timing.length import longest
from dagflow.compiler.timing.network import Network
from dagflow.compiler.timing.paths import layers, ways
from dagflow.compiler.timing.tables import Tables
from dagflow.compiler.timing.workload import SUCCESS, Choice, Label, most, owners

STEPS: Final = 1000
WINDOWS: Final = 60
SAMPLES: Final = 64
BOUNDS: Final = f"bounds: {STEPS} steps, workload and longest way"
FEW: Final = f"latencies: {STEPS} steps x 512 runs"
MANY: Final = f"latencies: {STEPS} steps x 2,048 runs"
LIMITS: Final = {BOUNDS: 8.0, FEW: 15.0, MANY: 60.0}
"""The most milliseconds each may take."""


def network() -> Network:
    """Return layers of up to 40 steps, each waiting for up to three of the layer before."""
    random, last = Random(0), [0]
    before: list[tuple[int, ...]] = [()]
    while len(before) < STEPS:
        own = range(len(before), min(STEPS, len(before) + random.randrange(1, 41)))
        for _ in own:
            count = min(len(last), random.randrange(1, 4))
            before.append(tuple(sorted(random.sample(last, count))))
        last = list(own)
    names = tuple(f"s{number}" for number in range(STEPS))
    return Network(steps=names, before=tuple(before), certain=(True,) * STEPS)


def lines(count: int) -> list[Figure]:
    """Measure in so many rounds and return a line for each subject, against its limit."""
    taken = interleaved(_rounds(network()), count)
    return [_figure(name, statistics.median(values)) for name, values in taken.items()]


def _figure(name: str, value: float) -> Figure:
    limit = LIMITS.get(name)
    holds = None if limit is None else value <= limit
    return Figure(name=name, value=value, unit="ms", bar=limit, holds=holds)


def _rounds(graph: Network) -> Mapping[str, Round]:
    random = Random(1)
    weights = [float(random.randrange(1, 100)) for _ in graph.steps]
    nodes = _choices(graph)
    values = np.random.default_rng(0).lognormal(size=(STEPS, WINDOWS, SAMPLES)).astype(np.float32)
    tables = Tables(values)

    def bounds() -> None:
        longest(weights, graph.before)
        most(weights, owners(nodes), nodes)

    return {
        BOUNDS: _timed(bounds),
        f"bounds: {STEPS} steps, memory together": _timed(lambda: heaviest(weights, graph.before)),
        FEW: _timed(lambda: _drawn(tables, graph, 512)),
        MANY: _timed(lambda: _drawn(tables, graph, 2048)),
    }


def _choices(graph: Network) -> list[Choice]:
    """Return the steps of the graph, of which every third chooses what follows it."""
    random = Random(2)
    nodes: list[Choice] = []
    plain: frozenset[Label] = frozenset({SUCCESS})
    for sources in graph.before:
        edges = tuple(
            (source, plain if source % 3 else frozenset({random.randrange(2)}))
            for source in sources
        )
        endings = plain if len(nodes) % 3 else frozenset({0, 1})
        nodes.append(Choice(edges, every=random.random() < 0.5, endings=endings))
    return nodes


def _drawn(tables: Tables, graph: Network, runs: int) -> None:
    times, _ = tables.draw(np.random.default_rng(1), runs)
    ways(times, graph, layers(graph))


def _timed(work: Callable[[], object]) -> Round:
    def once() -> float:
        begun = time.perf_counter()
        work()
        return (time.perf_counter() - begun) * 1000

    return once
