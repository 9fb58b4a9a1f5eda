"""Verdicts on deadlines against the truth about random graphs."""

from __future__ import annotations

import os
from math import sqrt

import numpy as np
import pytest

from dagflow.compiler.timing.montecarlo import course, judge
from dagflow.compiler.timing.network import Network
from dagflow.compiler.timing.paths import ends, layers, queued, ways
from dagflow.compiler.timing.tables import Tables, table_of
from tests.unit.compiler_timing.graphs import known, network, simulated

FULL = os.environ.get("DAGFLOW_FULL") == "1"
FACTORS = (0.6, 0.8, 0.9, 0.97, 1.03, 1.1, 1.3, 1.6)
WORKERS = (None, 4, 16)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_played_runs_end_when_a_simulation_of_events_says(workers: int) -> None:
    random = np.random.default_rng(3)
    for _ in range(10):
        graph = network(random, int(random.choice([3, 10, 30])), 5)
        times, _ = known(random, len(graph.steps)).draw(random, 20)

        assert queued(times, graph, workers) == pytest.approx(
            simulated(times, graph, workers), rel=1e-4
        )
        found = ways(times, graph, layers(graph))
        assert (found.most <= queued(times, graph, workers) * 1.0001).all()


def test_without_a_limit_of_workers_a_run_takes_its_longest_way() -> None:
    random = np.random.default_rng(4)
    graph = network(random, 30, 5)
    times, _ = known(random, 30).draw(random, 20)

    longest = ends(times, layers(graph)).max(axis=0)

    assert longest == pytest.approx(simulated(times, graph, None), rel=1e-4)


def test_no_verdict_on_a_random_graph_is_wrong_and_most_are_decided() -> None:
    """The deadlines lie around the true 95th percentile; near it nothing need be decided."""
    random = np.random.default_rng(11)
    count, truths = (600, 20_000) if FULL else (48, 4_000)
    decided = 0
    for number in range(count):
        size = int(random.choice([10, 30, 100] if FULL else [10, 30]))
        graph = network(random, size, int(random.choice([2, 5, 12])))
        times, workers = known(random, size), WORKERS[number % 3]
        drawn, _ = times.draw(random, truths)
        took = (
            ends(drawn, layers(graph)).max(axis=0)
            if workers is None
            else queued(drawn, graph, workers)
        )
        limit = float(np.quantile(took, 0.95)) * FACTORS[number // 3 % len(FACTORS)]
        kept, noise = (took <= limit).mean(), 3 * sqrt(0.05 * 0.95 / truths)

        found = judge(graph, times, limit, seed=number, workers=workers)

        assert found.verdict != "safe" or kept > 0.95 - noise
        assert found.verdict != "cannot" or kept < 0.95 + noise
        assert found.low - noise <= kept <= found.high + noise
        decided += found.verdict != "undecided"
    assert decided >= 0.75 * count


class Correlated:
    """Latencies of six kinds of steps that a common factor slows together, window by window."""

    def __init__(self, random: np.random.Generator, rho: float) -> None:
        size = int(random.choice([10, 30]))
        self.graph = network(random, size, 3)
        self.kinds = random.integers(0, 6, size)
        self.median = np.exp(random.normal(np.log(60), 0.8, 6))
        self.spread = random.uniform(0.3, 1.0, 6)
        self.rho, self.random = rho, random

    def _times(self, factor: np.ndarray, shape: tuple[int, ...], kinds: np.ndarray) -> np.ndarray:
        own = self.random.standard_normal(shape)
        shift = sqrt(self.rho) * factor + sqrt(1 - self.rho) * own
        at = kinds.reshape(-1, *(1,) * (len(shape) - 1))
        return self.median[at] * np.exp(self.spread[at] * shift)

    def took(self, runs: int) -> np.ndarray:
        factor = self.random.standard_normal((1, runs))
        times = self._times(factor, (len(self.kinds), runs), self.kinds)
        return ends(times, layers(self.graph)).max(axis=0)

    def recorded(self, windows: int, each: int = 40) -> Tables:
        factor = self.random.standard_normal((1, windows, 1))
        samples = self._times(factor, (6, windows, each), np.arange(6))
        return table_of(samples[self.kinds])


def said_apart(world: Correlated, table: Tables, limit: float) -> bool:
    """Say "safe" as independent drawing does: each step from all that it ever took."""
    pool = table_of(table.values.reshape(table.values.shape[0], 1, -1))
    times, _ = pool.draw(world.random, 2048)
    return bool((ends(times, layers(world.graph)).max(axis=0) <= limit).mean() >= 0.95)


def shares_safe(rho: float, factor: float, windows: int, count: int) -> tuple[float, float]:
    """Return how often SAFE is said by whole windows, and by steps drawn apart."""
    random = np.random.default_rng(5)
    whole = apart = 0
    for number in range(count):
        world = Correlated(random, rho)
        limit = float(np.quantile(world.took(8_000), 0.95)) * factor
        table = world.recorded(windows)
        whole += judge(world.graph, table, limit, seed=number).verdict == "safe"
        apart += said_apart(world, table, limit)
    return whole / count, apart / count


@pytest.mark.parametrize("rho", [0.3, 0.6])
def test_steps_that_are_slow_together_are_not_called_safe_where_drawing_them_apart_does(
    rho: float,
) -> None:
    whole, apart = shares_safe(rho, 0.9, windows=60, count=200 if FULL else 20)

    assert whole <= 0.05
    assert apart >= 0.6  # the trap: far below the deadline's true share, and yet "safe"


def test_two_hundred_windows_are_enough_to_call_a_run_safe_that_has_a_third_to_spare() -> None:
    assert shares_safe(0.3, 1.3, windows=200, count=100 if FULL else 10)[0] >= 0.9


def test_few_windows_can_show_that_a_deadline_is_missed_but_never_that_it_is_kept() -> None:
    graph = Network(steps=("a",), before=((),), certain=(True,))
    table = table_of([[[1.0, 2.0]] * 10])

    assert judge(graph, table, 0.5, seed=1).verdict == "cannot"
    assert judge(graph, table, 5.0, seed=1).verdict == "undecided"
    assert judge(graph, table_of([[[1.0, 2.0]] * 100]), 5.0, seed=1).verdict == "safe"


def test_what_only_some_runs_do_is_needed_for_safe_and_not_for_cannot() -> None:
    graph = Network(steps=("a", "b"), before=((), (0,)), certain=(True, False))
    table = table_of([[[1.0]] * 100, [[9.0]] * 100])

    assert judge(graph, table, 5.0, seed=1).verdict == "undecided"
    assert judge(graph, table, 11.0, seed=1).verdict == "safe"
    assert judge(graph, table, 0.5, seed=1).verdict == "cannot"


def test_a_window_without_records_of_a_step_takes_those_of_the_nearest() -> None:
    table = table_of([[[], [1.0], [], [], [5.0]]])

    assert table.values[0, :, 0].tolist() == [1.0, 1.0, 1.0, 5.0, 5.0]


def test_slack_is_what_a_step_may_take_longer() -> None:
    graph = Network(steps=("a", "b", "c"), before=((), (), (0, 1)), certain=(True,) * 3)
    table = table_of([[[1.0]], [[4.0]], [[2.0]]])

    found = course(graph, table, 10.0, seed=1)

    assert found.percentiles == (6.0, 6.0, 6.0)
    assert [(each.step, each.share, each.slack) for each in found.slack] == [
        ("a", 0.0, 7.0),
        ("b", 1.0, 4.0),
        ("c", 1.0, 4.0),
    ]


def test_the_same_seed_gives_the_same_verdict() -> None:
    random = np.random.default_rng(6)
    world = Correlated(random, 0.3)
    table = world.recorded(30)

    assert judge(world.graph, table, 500.0, seed=9) == judge(world.graph, table, 500.0, seed=9)
