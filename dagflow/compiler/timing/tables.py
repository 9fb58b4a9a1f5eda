"""Recorded latencies as one array, from which whole windows are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from dagflow.compiler.timing.paths import Seconds
from dagflow.core.records import dataclass

QUANTILES: Final = (16, 64, 256)
"""How many values stand for the latencies of a step in a window: as many as its samples need."""


class Draw(Protocol):
    """Where the times of runs come from."""

    @property
    def windows(self) -> int:
        """Return how many windows were recorded; 0 where the latencies are known, not recorded."""
        ...

    def draw(self, random: np.random.Generator, runs: int) -> tuple[Seconds, NDArray[np.intp]]:
        """Return the times of runs, step by step, and from which window each run was drawn."""
        ...


@dataclass(frozen=True, slots=True)
class Tables:
    """The latencies of steps (rows of `values`: step, window, quantile) in each window."""

    values: Seconds

    @property
    def windows(self) -> int:
        """Return how many windows were recorded."""
        return int(self.values.shape[1])

    def draw(self, random: np.random.Generator, runs: int) -> tuple[Seconds, NDArray[np.intp]]:
        """Draw a window for each run, and from it the times of all of its steps.

        Within a window the steps are drawn apart; what makes them slow together (a busy hour, a
        model under load) is the window. Drawing each step from all that was ever recorded of it
        loses that: see docs/timing.md.
        """
        window = random.integers(0, self.windows, runs)
        return self.of(window, random), window

    def of(self, window: NDArray[np.intp], random: np.random.Generator) -> Seconds:
        """Draw the times of runs from these windows."""
        steps, windows, size = self.values.shape
        place = random.integers(0, size, (steps, len(window)), dtype=np.uint8).astype(np.int32)
        place += (window * size).astype(np.int32)
        place += (np.arange(steps) * (windows * size)).astype(np.int32)[:, None]
        return self.values.reshape(-1).take(place, mode="clip")  # all are inside: no look twice


def table_of(samples: Sequence[Sequence[Sequence[float]]]) -> Tables:
    """Return the table of the samples of each step in each window, in the order of time.

    A window without samples of a step gets those of the nearest that has any, of two as near the
    earlier one. Each step must have samples in some window.
    """
    most = max(len(each) for step in samples for each in step)
    size = next((count for count in QUANTILES if count >= most), QUANTILES[-1])
    return Tables(np.stack([_filled(step, size) for step in samples]).astype(np.float32))


def _filled(windows: Sequence[Sequence[float]], size: int) -> NDArray[np.float64]:
    known = [index for index, samples in enumerate(windows) if len(samples)]
    rows = np.stack([quantiles(windows[index], size) for index in known])
    after = np.searchsorted(known, np.arange(len(windows)))
    later = np.minimum(after, len(known) - 1)
    earlier = np.maximum(after - 1, 0)
    at, places = np.arange(len(windows)), np.array(known)
    nearest = np.where(abs(places[earlier] - at) <= abs(places[later] - at), earlier, later)
    filled: NDArray[np.float64] = rows[nearest]
    return filled


def quantiles(samples: Sequence[float], size: int) -> NDArray[np.float64]:
    """Return the values in the middles of so many equal parts of the sorted samples.

    The last is the largest sample, so that where there are more samples none is forgotten that
    was slower than all that stay.
    """
    places = (np.arange(size) + 0.5) / size
    ordered = np.sort(np.asarray(samples, dtype=np.float64))
    index = np.minimum((places * len(ordered)).astype(np.intp), len(ordered) - 1)
    index[-1] = len(ordered) - 1
    found: NDArray[np.float64] = ordered[index]
    return found


@dataclass(frozen=True, slots=True)
class Sums:
    """Two tables of the same steps and windows, whose times add up."""

    one: Tables
    two: Tables

    @property
    def windows(self) -> int:
        """Return how many windows were recorded."""
        return self.one.windows

    def draw(self, random: np.random.Generator, runs: int) -> tuple[Seconds, NDArray[np.intp]]:
        """Draw a window for each run, and both parts from it."""
        window = random.integers(0, self.windows, runs)
        return self.one.of(window, random) + self.two.of(window, random), window
