"""The verdict on a deadline: runs are drawn until it is clear, or until there were enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dagflow.compiler.timing import confidence
from dagflow.compiler.timing.bootstrap import window_interval
from dagflow.compiler.timing.length import graham
from dagflow.compiler.timing.network import Network
from dagflow.compiler.timing.paths import (
    Layer,
    Seconds,
    Ways,
    ends,
    layers,
    queued,
    through,
    ways,
)
from dagflow.compiler.timing.tables import Draw
from dagflow.core.findings import DeadlineVerdict, StepSlack, Verdict
from dagflow.core.records import dataclass

TARGET: Final = 0.95
"""The share of runs that must keep the deadline: it is compared with the 95th percentile."""

SAMPLING: Final = 1e-3
"""How likely the drawing itself may mislead, each way."""

WINDOWS: Final = 0.05
"""How likely the choice of the recorded windows may mislead, each way."""

BATCH: Final = 128
MOST: Final = 2048
SHOWN: Final = 512
"""Runs drawn for the percentiles and the table of slack."""


@dataclass(slots=True)
class _Counts:
    """How many runs were drawn of each window, and kept the deadline surely, and perhaps."""

    runs: NDArray[np.intp]
    surely: NDArray[np.intp]
    perhaps: NDArray[np.intp]

    def add(self, window: NDArray[np.intp], late: Seconds, early: Seconds, limit: float) -> None:
        """Count more runs, whose times are at most `late` and at least `early`."""
        size = len(self.runs)
        self.runs += np.bincount(window, minlength=size)
        self.surely += np.bincount(window[late <= limit], minlength=size)
        self.perhaps += np.bincount(window[early <= limit], minlength=size)


def judge(
    network: Network, times: Draw, limit: float, *, seed: int, workers: int | None = None
) -> DeadlineVerdict:
    """Tell whether 95 of 100 runs take no longer than `limit` seconds.

    SAFE and CANNOT are said only where the drawing (1 in 1,000 each way, however often it was
    looked at) and the choice of windows (1 in 20) bear it out. A run takes between the longest
    way of its certain steps and that of all, with Graham's bound where it has `workers` of its
    own; one that always makes the same steps is played as the engine's queue would.
    """
    random = np.random.default_rng(seed)
    order = layers(network)
    size = max(times.windows, 1)
    counts = _Counts(*(np.zeros(size, dtype=np.intp) for _ in range(3)))
    for batch in _batches():
        drawn, window = times.draw(random, batch)
        late, early = _bracket(drawn, network, order, workers)
        counts.add(window, late, early, limit)
        if _clear(counts) is not None:
            break
    return _verdict(counts, limit, times.windows, seed, random)


def _batches() -> Iterator[int]:
    done = 0
    while done < MOST:
        batch = done or BATCH
        yield batch
        done += batch


def _bracket(
    drawn: Seconds, network: Network, order: list[Layer], workers: int | None
) -> tuple[Seconds, Seconds]:
    """Return how long each run takes at most and at least."""
    found = ways(drawn, network, order)
    if workers is None:
        return found.most, found.least
    if network.is_fixed:
        exact = queued(drawn, network, workers)
        return exact, exact
    return _grahams(found, workers), found.least


def _grahams(found: Ways, workers: int) -> Seconds:
    most: Seconds = graham(found.most, found.volume, workers)  # type: ignore[arg-type, assignment]  # the same arithmetic, for many runs at once
    return most


def _clear(counts: _Counts) -> Verdict | None:
    """Return the verdict that the drawing bears out so far, whatever the windows say."""
    runs = int(counts.runs.sum())
    if confidence.exceeds(int(counts.surely.sum()), runs, TARGET, SAMPLING / 2):
        return "safe"
    if confidence.falls_short(int(counts.perhaps.sum()), runs, TARGET, SAMPLING / 2):
        return "cannot"
    return None


def _verdict(
    counts: _Counts, limit: float, windows: int, seed: int, random: np.random.Generator
) -> DeadlineVerdict:
    """Give the verdict: half of what the drawing may err is left for this last look."""
    runs = int(counts.runs.sum())
    low = confidence.interval(int(counts.surely.sum()), runs, SAMPLING / 2)[0]
    high = confidence.interval(int(counts.perhaps.sum()), runs, SAMPLING / 2)[1]
    clear = _clear(counts)
    if windows:
        low = min(low, window_interval(counts.surely, counts.runs, WINDOWS, random)[0])
        high = max(high, window_interval(counts.perhaps, counts.runs, WINDOWS, random)[1])
        sure, missed = low >= TARGET, high < TARGET
    else:
        sure, missed = low >= TARGET or clear == "safe", high < TARGET or clear == "cannot"
    return DeadlineVerdict(
        verdict="safe" if sure else "cannot" if missed else "undecided",
        deadline=limit,
        low=round(low, 4),
        high=round(high, 4),
        runs=runs,
        windows=windows,
        seed=seed,
    )


@dataclass(frozen=True, slots=True)
class Course:
    """How long runs take, in seconds, and what each step adds to that."""

    percentiles: tuple[float, float, float]
    slack: tuple[StepSlack, ...]


def course(network: Network, times: Draw, limit: float | None, *, seed: int) -> Course:
    """Return the 50th, 95th and 99th percentile of the time with every step made, and the slack.

    The slack of a step is how much longer it may take until 1 run in 20 is late by a way through
    it; `share` in how many runs it lies on the longest way.
    """
    order = layers(network)
    drawn, _ = times.draw(np.random.default_rng(seed), SHOWN)
    most = ends(drawn, order).max(axis=0)
    p50, p95, p99 = (round(float(it), 3) for it in np.quantile(most, (0.5, TARGET, 0.99)))
    ways_of = through(drawn, network, order)
    shares = (ways_of >= most * (1 - 1e-5)).mean(axis=1)
    long = np.quantile(ways_of, TARGET, axis=1)
    slack = tuple(
        StepSlack(
            step=step,
            share=round(float(share), 3),
            slack=None if limit is None else round(limit - float(way), 3),
        )
        for step, share, way in zip(network.steps, shares, long, strict=True)
    )
    return Course((p50, p95, p99), slack)
