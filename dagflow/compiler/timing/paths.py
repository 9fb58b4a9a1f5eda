"""How long runs take whose steps take drawn times: many runs at once, layer by layer."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dagflow.compiler.timing.network import Network, levels
from dagflow.core.records import dataclass

Seconds: TypeAlias = NDArray[np.float32]
"""Times: one row a step, one column a run."""

Layer: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp] | None, NDArray[np.intp] | None]
"""Steps, and what they wait for: one flat list, with where each step's own begin in it."""


@dataclass(frozen=True, slots=True)
class Ways:
    """The longest ways of the runs: at least, at most, and all the work that they may do."""

    least: Seconds
    most: Seconds
    volume: Seconds


def layers(network: Network) -> list[Layer]:
    """Return the layers of a network, ready to be gone through."""
    return [_layer(numbers, network.before) for numbers in levels(network)]


def _layer(numbers: list[int], before: tuple[tuple[int, ...], ...]) -> Layer:
    steps = np.array(numbers, dtype=np.intp)
    if not before[numbers[0]]:
        return steps, None, None
    counts = [len(before[number]) for number in numbers]
    flat = np.array([source for number in numbers for source in before[number]], dtype=np.intp)
    return steps, flat, np.concatenate(([0], np.cumsum(counts[:-1]))).astype(np.intp)


def ends(times: Seconds, order: list[Layer]) -> Seconds:
    """Return when each step of each run ends, where all begin as soon as they may."""
    found = np.empty_like(times)
    for steps, flat, starts in order:
        if flat is None or starts is None:
            found[steps] = times[steps]
        else:
            found[steps] = times[steps] + np.maximum.reduceat(found[flat], starts, axis=0)
    return found


def ways(times: Seconds, network: Network, order: list[Layer]) -> Ways:
    """Return the longest ways of the runs, with the steps that each makes at least and at most.

    At least: the certain steps, which wait for certain ones only. At most: all of them; the
    longest of all ways is the longest of any choice of branches, too.
    """
    most = ends(times, order).max(axis=0)
    if network.is_fixed:
        return Ways(most, most, times.sum(axis=0))
    certain = np.array(network.certain)
    found = np.zeros_like(times)
    for steps, flat, starts in order:
        kept = times[steps] if flat is None or starts is None else (
            times[steps] + np.maximum.reduceat(found[flat], starts, axis=0)
        )  # fmt: skip
        found[steps] = kept * certain[steps, None]
    return Ways(found.max(axis=0), most, times.sum(axis=0))


def queued(times: Seconds, network: Network, workers: int) -> Seconds:
    """Return when runs end that have so many workers to themselves and make every step.

    A free worker takes the step that has been ready longest, as the engine's queue does. Steps
    are begun in that order, so that the next one always is a step whose start is known.
    """
    count, runs = times.shape
    before = network.before
    waiting = np.array([len(sources) for sources in before])[:, None].repeat(runs, axis=1)
    after: list[list[int]] = [[] for _ in before]
    for number, sources in enumerate(before):
        for source in sources:
            after[source].append(number)
    follow = np.zeros((count, count), dtype=bool)
    for number, targets in enumerate(after):
        follow[number, targets] = True
    ready = np.where(waiting == 0, np.float32(0), np.float32(np.inf))
    earliest = np.zeros((count, runs), dtype=np.float32)
    free = np.zeros((workers, runs), dtype=np.float32)
    column = np.arange(runs)
    last = np.zeros(runs, dtype=np.float32)
    for _ in range(count):
        step = ready.argmin(axis=0)
        worker = free.argmin(axis=0)
        end = np.maximum(ready[step, column], free[worker, column]) + times[step, column]
        free[worker, column] = end
        ready[step, column] = np.inf
        last = np.maximum(last, end)
        targets = follow[step].T
        waiting -= targets
        earliest = np.where(targets, np.maximum(earliest, end), earliest)
        ready = np.where(targets & (waiting == 0), earliest, ready)
    return last


def through(times: Seconds, network: Network, order: list[Layer]) -> Seconds:
    """Return the longest way of each run that goes through each step."""
    until = ends(times, order)
    rest = np.zeros_like(times)
    for number in range(len(network.steps) - 1, -1, -1):
        tail = rest[number] + times[number]
        for source in network.before[number]:
            np.maximum(rest[source], tail, out=rest[source])
    return until + rest
