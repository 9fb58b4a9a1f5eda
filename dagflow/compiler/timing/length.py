"""Longest ways through a graph, and the bound of Graham for a number of workers."""

from __future__ import annotations

from collections.abc import Sequence

Before = Sequence[Sequence[int]]
"""For each node those that it waits for, which come before it."""


def longest(weights: Sequence[float], before: Before) -> float:
    """Return the length of the longest way; 0 for no node."""
    ends: list[float] = []
    for weight, sources in zip(weights, before, strict=True):
        ends.append(weight + max((ends[source] for source in sources), default=0.0))
    return max(ends, default=0.0)


def graham(length: float, volume: float, workers: int) -> float:
    """Return the longest that any order of work takes that leaves no worker idle in vain.

    `length` is that of the longest way and `volume` the sum of all weights (Graham 1969). Unlike
    the time of one schedule, the bound does not grow when a node takes less than said, when an
    order is dropped, or when there are more workers: so it may be taken at the longest times.
    """
    return length + (volume - length) / workers
