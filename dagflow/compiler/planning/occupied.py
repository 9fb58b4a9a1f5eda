"""How long a run keeps workers busy, as recorded."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from dagflow.compiler.model import Model
from dagflow.compiler.planning.deadlines import took
from dagflow.compiler.planning.musts import certain_steps
from dagflow.compiler.planning.prune import Pruned
from dagflow.core.records import dataclass
from dagflow.core.site import Window
from dagflow.core.steps import KINDS

TARGET = 0.95


@dataclass(frozen=True, slots=True)
class Occupied:
    """Seconds of workers that a run takes: on average at least (`mean`), and at the 95th
    percentile of each step at most (`most`; None where loops or called workflows hide it).

    `way` is the longest way through what surely runs, `longest` the longest step.
    """

    queue: str
    mean: float
    most: float | None
    way: float
    longest: float

    def volume_bound(self, workers: int) -> float:
        """Return the time that no order of work on so many workers beats, on average."""
        return max(self.way, self.mean / workers)


def occupied(model: Model, pruned: Pruned, history: Sequence[Window]) -> Occupied | None:
    """Return what a run takes of the workers of its queue.

    None where its steps have several queues, or where nothing is recorded of one that surely runs.
    """
    block, facts = pruned.graphs.blocks[""], pruned.graphs.facts
    steps = [facts[step] for step in block.order if not KINDS[facts[step].kind].in_engine]
    queues = {step.step.queue.value if step.step.queue else "default" for step in steps}
    if len(queues) != 1:
        return None
    name = model.workflow.name.value
    known = {step.path: took(name, step, history) for step in steps}
    certain = [step.path for step in certain_steps(block, facts)]
    if any(known.get(path, ()) is None for path in certain):
        return None
    means = {path: fmean(_all(known[path])) for path in certain if known.get(path)}
    ends: dict[str, float] = {}
    before = block.before()
    for path in certain:
        start = max((ends.get(source, 0.0) for source in before[path]), default=0.0)
        ends[path] = start + means.get(path, 0.0)
    hidden = any(facts[step].kind in {"foreach", "repeat", "workflow"} for step in block.order)
    tops = [_high(_all(each)) for each in known.values() if each is not None]
    whole = None if hidden or len(tops) < len(steps) else sum(tops)
    return Occupied(
        queue=queues.pop(),
        mean=sum(means.values()),
        most=whole,
        way=max(ends.values(), default=0.0),
        longest=max(tops, default=0.0),
    )


def _all(windows: Sequence[Sequence[float]] | None) -> list[float]:
    return [each for window in windows or () for each in window] or [0.0]


def _high(samples: list[float]) -> float:
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(TARGET * len(ordered)))]
