"""What can be said of the run's deadline: by the bounds of the steps, else by what was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final, TypeAlias

from dagflow.compiler.defaults import seconds
from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.planning.bodies import DEFAULT_MODEL
from dagflow.compiler.planning.bounds import Costs
from dagflow.compiler.planning.musts import certain_steps, fastest, pauses_the_clock
from dagflow.compiler.planning.prune import Pruned
from dagflow.compiler.timing.network import Network
from dagflow.core.findings import Bounds, DeadlineVerdict
from dagflow.core.records import dataclass
from dagflow.core.site import Site, Window
from dagflow.core.steps import KINDS
from dagflow.core.steps.wait import Wait

if TYPE_CHECKING:
    from dagflow.compiler.timing.tables import Draw

Samples: TypeAlias = Sequence[Sequence[float]]
"""The latencies of one step, window by window."""

WINDOWS: Final = 512
"""Windows that are looked at, the last ones: how it was long ago says little, and takes memory."""

AT_ONCE: Final = frozenset({"switch", "fail", "transform"})
"""Kinds that take no time worth counting where nothing is recorded of them."""


def judged(bounds: Bounds, model: Model, pruned: Pruned, found: Costs, site: Site) -> Bounds:
    """Return the bounds with the verdicts on the run's deadline, and what the history tells.

    The seed of what is drawn comes from the text of the workflow. Nothing is guessed: where a
    step has no recorded latency and no fixed one, the verdict is "no data".
    """
    graphs, limit = pruned.graphs, seconds(model.workflow.deadline)
    if "" not in graphs.blocks or not graphs.blocks[""].order:
        return bounds
    proof = None if limit is None else _proof(pruned, found, limit)
    if proof is not None:
        return replace(bounds, deadlines=(proof,))
    known = _recorded(model, graphs.blocks[""], graphs.facts, site.history[-WINDOWS:])
    if known.missing or not site.history:
        missing = DeadlineVerdict(verdict="no_data", deadline=limit or 0, missing=known.missing)
        return bounds if limit is None else replace(bounds, deadlines=(missing,))
    return _simulated(bounds, pruned, known, site, limit=limit, seed=seed_of(model))


def seed_of(model: Model) -> int:
    """Return the seed that the text of a workflow gives."""
    return int.from_bytes(sha256(model.workflow.source.text.encode()).digest()[:4])


def _proof(pruned: Pruned, found: Costs, limit: float) -> DeadlineVerdict | None:
    """Return the verdict that needs no record: no run can, or every run must keep the deadline."""
    if fastest(pruned.graphs, on_the_clock=True).seconds > limit:
        return DeadlineVerdict(verdict="impossible", deadline=limit, low=0.0, high=0.0)
    if found.blocks[""].worst <= limit:
        return DeadlineVerdict(verdict="proven", deadline=limit, low=1.0, high=1.0)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is recorded of the steps of the top, in their order; `missing` those without."""

    took: tuple[Samples, ...]
    waited: tuple[Samples, ...]
    missing: tuple[str, ...]


def _recorded(
    model: Model, block: BlockGraph, facts: Mapping[str, StepFacts], history: Sequence[Window]
) -> _Known:
    workflow = model.workflow.name.value
    known = [took(workflow, facts[step], history) for step in block.order]
    paused = [pauses_the_clock(facts[step]) for step in block.order]
    found = zip(block.order, known, paused, strict=True)
    return _Known(
        took=tuple(each or () for each in known),
        waited=tuple(_waited(workflow, facts[step], history) for step in block.order),
        missing=tuple(step for step, each, pauses in found if each is None or pauses),
    )


def took(workflow: str, facts: StepFacts, history: Sequence[Window]) -> Samples | None:
    """Return what is known of how long a step takes, None where that is nothing."""
    own = [window.steps.get(f"{workflow}.{facts.path}", ()) for window in history]
    if any(own):
        return own
    if facts.operation is not None:
        tool, _, _ = facts.operation.id.partition(".")
        named = f"{tool}.{facts.operation.operation_id}"
        parts = [window.operations for window in history]
        called = [part.get(facts.operation.id, part.get(named, ())) for part in parts]
        return called if any(called) else None
    if facts.kind == "llm":
        name = facts.step.body.model.value if facts.step.body.model else DEFAULT_MODEL
        asked = [window.models.get(name, ()) for window in history]
        return asked if any(asked) else None
    if facts.kind in AT_ONCE:
        return [(0.0,)] * len(history)
    if isinstance(facts.step.body, Wait) and facts.step.body.for_ is not None:
        return [(facts.step.body.for_.value.total_seconds(),)] * len(history)
    return None


def _waited(workflow: str, facts: StepFacts, history: Sequence[Window]) -> Samples:
    """Return how long a step waited for a worker; nothing where it needs none."""
    if KINDS[facts.kind].in_engine:
        return ()
    own = [window.waits.get(f"{workflow}.{facts.path}", ()) for window in history]
    if any(own):
        return own
    queue = facts.step.queue.value if facts.step.queue else "default"
    return [window.waits.get(queue, ()) for window in history]


def _simulated(
    bounds: Bounds,
    pruned: Pruned,
    known: _Known,
    site: Site,
    *,
    limit: float | None,
    seed: int,
) -> Bounds:
    """Return the bounds with what drawn runs tell."""
    from dagflow.compiler.timing.montecarlo import course, judge
    from dagflow.compiler.timing.tables import table_of

    network = _network(pruned)
    times = table_of(known.took)
    seen = course(network, times, limit, seed=seed)
    verdicts = []
    if limit is not None:
        workers, is_exact = _workers(bounds, pruned, site)
        alone = judge(network, times, limit, seed=seed, workers=workers)
        if not is_exact and alone.verdict == "safe":
            alone = replace(alone, verdict="undecided", low=0.0)
        verdicts.append(alone)
        if any(any(waits) for waits in known.waited):
            found = judge(network, _queued(known), limit, seed=seed)
            verdicts.append(replace(found, scope="queued"))
    return replace(
        bounds, percentiles=seen.percentiles, slack=seen.slack, deadlines=tuple(verdicts)
    )


def _network(pruned: Pruned) -> Network:
    """Return the top of the graph as the simulation sees it."""
    block = pruned.graphs.blocks[""]
    number = {step: index for index, step in enumerate(block.order)}
    before = block.before()
    certain = {facts.path for facts in certain_steps(block, pruned.graphs.facts)}
    return Network(
        steps=block.order,
        before=tuple(tuple(number[source] for source in before[step]) for step in block.order),
        certain=tuple(step in certain for step in block.order),
    )


def _workers(bounds: Bounds, pruned: Pruned, site: Site) -> tuple[int | None, bool]:
    """Return how many workers a run has at most, None where they can't be too few for it.

    And whether it is known what the steps do with them: inside a loop they are not told apart.
    """
    slots = sum(each.count * each.slots for each in site.workers)
    peak = bounds.peak_concurrency
    if not slots or (peak is not None and peak <= slots):
        return None, True
    facts = (pruned.graphs.facts[step] for step in pruned.graphs.blocks[""].order)
    is_plain = all(not KINDS[each.kind].in_engine or each.kind in AT_ONCE for each in facts)
    return (slots, True) if is_plain else (None, False)


def _queued(known: _Known) -> Draw:
    """Return the times of steps with what they waited, both drawn from the same window."""
    from dagflow.compiler.timing.tables import Sums, table_of

    nothing = [(0.0,)] * len(known.took[0])
    waits = [each if any(each) else nothing for each in known.waited]
    return Sums(table_of(known.took), table_of(waits))
