"""Random graphs with random latencies, and the truth about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dagflow.compiler.timing.network import Network


def network(random: np.random.Generator, count: int, width: int) -> Network:
    """Return steps in layers of up to `width`, each waiting for up to three of the layer before."""
    layers: list[list[int]] = []
    before: list[tuple[int, ...]] = []
    while len(before) < count:
        size = min(count - len(before), int(random.integers(1, width + 1)))
        own = list(range(len(before), len(before) + size))
        for _ in own:
            sources: set[int] = set()
            if layers:
                wanted = min(len(layers[-1]), int(random.integers(1, 4)))
                sources |= set(random.choice(layers[-1], wanted, replace=False).tolist())
            if len(layers) > 1 and random.random() < 0.2:
                sources.add(int(random.choice(layers[-2])))
            before.append(tuple(sorted(sources)))
        layers.append(own)
    return Network(
        steps=tuple(f"s{number}" for number in range(count)),
        before=tuple(before),
        certain=(True,) * count,
    )


@dataclass(frozen=True)
class Known:
    """Latencies that are lognormal, apart from each other, and end at a cap."""

    median: np.ndarray
    spread: np.ndarray
    windows: int = 0

    def draw(self, random: np.random.Generator, runs: int) -> tuple[np.ndarray, np.ndarray]:
        normal = random.standard_normal((len(self.median), runs))
        times = self.median[:, None] * np.exp(self.spread[:, None] * normal)
        capped = np.minimum(times, 10 * self.median[:, None])
        return capped.astype(np.float32), np.zeros(runs, dtype=np.intp)


def known(random: np.random.Generator, count: int) -> Known:
    median = np.exp(random.normal(np.log(60), 0.8, count))
    return Known(median, random.uniform(0.2, 1.0, count))


def simulated(times: np.ndarray, graph: Network, workers: int | None) -> np.ndarray:
    """Return when runs end, one after another, event by event; written apart from the product."""
    return np.array([_one(times[:, run], graph, workers) for run in range(times.shape[1])])


def _one(times: np.ndarray, graph: Network, workers: int | None) -> float:
    if workers is None:
        ends: list[float] = []
        for number, sources in enumerate(graph.before):
            ends.append(times[number] + max((ends[source] for source in sources), default=0.0))
        return max(ends)
    left = [len(sources) for sources in graph.before]
    after: list[list[int]] = [[] for _ in left]
    for number, sources in enumerate(graph.before):
        for source in sources:
            after[source].append(number)
    queue = [number for number, count in enumerate(left) if not count]
    running: list[tuple[float, int]] = []
    now = 0.0
    while queue or running:
        while queue and len(running) < workers:
            number = queue.pop(0)
            running.append((now + times[number], number))
        now = min(running)[0]
        ended = [each for each in running if each[0] == now]
        running = [each for each in running if each[0] != now]
        freed = []
        for _, number in ended:
            for target in after[number]:
                left[target] -= 1
                if not left[target]:
                    freed.append(target)
        queue += sorted(freed)
    return now
