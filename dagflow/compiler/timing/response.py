"""Response times of periodic work on one worker, and what several workers can carry.

Fixed priorities: Joseph and Pandya 1986, Audsley et al. 1993. A worker does not stop a step that
it has begun, so that work of lower priority may block for one step at most (`blocking`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from dagflow.core.records import dataclass


@dataclass(frozen=True, slots=True)
class Periodic:
    """Work that comes again: `time` seconds of a worker every `period`, due within `deadline`."""

    name: str
    time: float
    period: float
    deadline: float
    blocking: float = 0.0


def responses(loads: Sequence[Periodic]) -> tuple[float | None, ...]:
    """Return the longest response of each load on one worker, the first the most urgent.

    None: longer than its deadline. Exact for deadlines up to the period; where a deadline is
    longer than the period, that is what it is held to.
    """
    return tuple(_response(load, loads[:index]) for index, load in enumerate(loads))


def _response(load: Periodic, urgent: Sequence[Periodic]) -> float | None:
    limit = min(load.deadline, load.period)
    found = load.time + load.blocking
    while found <= limit:
        others = sum(ceil(round(found / each.period, 9)) * each.time for each in urgent)
        longer = load.time + load.blocking + others
        if longer <= found:
            return found
        found = longer
    return None


def utilisation(loads: Sequence[Periodic]) -> float:
    """Return how many workers the work keeps busy on average; more than there are never ends."""
    return sum(load.time / load.period for load in loads)
