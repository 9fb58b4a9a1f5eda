"""How long runs take whose steps take drawn times: many runs at once, layer by layer."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dagflow.compiler.timing.network import Network, levels
from dagflow.core.records import dataclass

Seconds: TypeAlias = NDArray[np.float32]
"""Times: one row a step, one column a run."""

Places: TypeAlias = slice | NDArray[np.intp]
"""Rows of steps: a slice where they stand together, which is faster."""

FEW: Final = 4
"""Sources up to which the steps of a layer are compared with one after another."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Steps that wait for steps of earlier layers only.

    `ranks` has the first source of each step, then the second, and so on; a step with fewer has
    its first again. Where some step has many, `flat` has all of them instead, one step's after
    another's from `starts` on.
    """

    steps: Places
    ranks: tuple[NDArray[np.intp], ...] = ()
    flat: NDArray[np.intp] | None = None
    starts: NDArray[np.intp] | None = None


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
    steps = _places(numbers)
    sources = [before[number] for number in numbers]
    most = max(map(len, sources))
    if most == 0:
        return Layer(steps)
    if most <= FEW:
        ranks = [
            [each[rank if rank < len(each) else 0] for each in sources] for rank in range(most)
        ]
        return Layer(steps, ranks=tuple(np.array(rank, dtype=np.intp) for rank in ranks))
    flat = np.array([source for each in sources for source in each], dtype=np.intp)
    starts = np.cumsum([0, *(len(each) for each in sources[:-1])])
    return Layer(steps, flat=flat, starts=starts)


def _places(numbers: list[int]) -> Places:
    first, last = numbers[0], numbers[-1]
    if last - first + 1 == len(numbers):
        return slice(first, last + 1)
    return np.array(numbers, dtype=np.intp)


def _ready(found: Seconds, layer: Layer) -> Seconds | None:
    """Return when the steps of a layer may begin; None where they wait for nothing."""
    if layer.flat is not None and layer.starts is not None:
        latest: Seconds = np.maximum.reduceat(found[layer.flat], layer.starts, axis=0)
        return latest
    if not layer.ranks:
        return None
    latest = found[layer.ranks[0]]
    for rank in layer.ranks[1:]:
        np.maximum(latest, found[rank], out=latest)
    return latest


def ends(times: Seconds, order: list[Layer]) -> Seconds:
    """Return when each step of each run ends, where all begin as soon as they may."""
    found = np.empty_like(times)
    for layer in order:
        ready = _ready(found, layer)
        own = times[layer.steps]
        found[layer.steps] = own if ready is None else np.add(ready, own, out=ready)
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
    for layer in order:
        ready, own = _ready(found, layer), times[layer.steps]
        found[layer.steps] = (own if ready is None else own + ready) * certain[layer.steps, None]
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
