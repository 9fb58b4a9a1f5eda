"""What a run can cost at most: steps, tokens, calls, items, memory, and the longest way through it.

Counted as if all attempts were needed and every loop went round as often as it may; of steps that
exclude each other the dearest. Safe: no run comes to more. `time_best` counts only what surely
takes time (a `wait` of a fixed length). Times are those of steps that wait for no worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from dagflow.compiler.defaults import cleanup_of, seconds
from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.graph.edges import inside_out
from dagflow.compiler.model import TOPS, Model, StepFacts
from dagflow.compiler.planning.choices import choices, over
from dagflow.compiler.planning.costs import AMOUNTS, NOTHING, Cost, Inside, cost_of
from dagflow.compiler.planning.musts import fastest, pauses_the_clock
from dagflow.compiler.planning.paid import paid
from dagflow.compiler.planning.prune import Pruned
from dagflow.compiler.timing.antichain import heaviest
from dagflow.compiler.timing.workload import most, owners
from dagflow.core.findings import Bounds, StepBounds
from dagflow.core.money import PriceList, units
from dagflow.core.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What every step comes to at most, by its static path, and each block as a whole."""

    steps: Mapping[str, Cost]
    blocks: Mapping[str, Inside]

    def total(self, amount: str) -> float:
        """Return how much of something a whole run uses at most, `finally` and undoing too."""
        return sum(self.blocks[path].amounts[amount] for path in TOPS if path in self.blocks)


def costs(
    model: Model, pruned: Pruned, *, retries: bool = True, prices: PriceList | None = None
) -> Costs:
    """Return what each step and block comes to; without `retries`, if every first attempt did.

    Without `prices` nothing costs any money.
    """
    found: dict[str, Cost] = {}
    blocks: dict[str, Inside] = {}
    graphs = pruned.graphs
    for path in inside_out(graphs.blocks):
        for step in graphs.blocks[path].steps:
            inside = blocks.get(step, NOTHING)
            found[step] = cost_of(
                graphs.facts[step], model.workflow, inside, retries=retries, prices=prices
            )
        blocks[path] = _together(graphs.blocks[path], graphs.facts, found)
    return Costs(steps=found, blocks=blocks)


def bounds(model: Model, pruned: Pruned, found: Costs, prices: PriceList | None = None) -> Bounds:
    """Return the bounds of a whole run, compensations and `finally` too; deadlines cut its time.

    `prices` are those that the costs were found with.
    """
    tops = [pruned.graphs.blocks[path] for path in TOPS if path in pruned.graphs.blocks]
    inside = [found.blocks[block.path] for block in tops]
    return Bounds(
        steps=_whole(found.total("steps")),
        tokens=_within(found.total("tokens"), model, "tokens"),
        tool_calls=_within(found.total("tool_calls"), model, "tool_calls"),
        items=_within(found.total("items"), model, "items"),
        time_best=round(sum(fastest(pruned.graphs, block.path).seconds for block in tops), 6),
        time_worst=_worst(model, pruned, inside),
        peak_memory=_whole(max((max(it.memory, it.undo_memory) for it in inside), default=0)),
        peak_concurrency=_whole(max((it.workers for it in inside), default=0)),
        critical_path=tuple(step for each in inside for step in each.way),
        each=tuple(_each(step, cost, prices) for step, cost in found.steps.items()),
        cost=None if prices is None else paid(model, pruned.graphs, found.total("cost"), prices),
    )


def _together(
    block: BlockGraph, facts: Mapping[str, StepFacts], found: Mapping[str, Cost]
) -> Inside:
    """Return what the steps of a block come to together, once."""
    if not block.order:
        return NOTHING
    nodes = choices(block, facts)
    under = owners(nodes)
    mine = [found[step] for step in block.order]
    waits = over(block)
    worst, way = _longest(block, found)
    return Inside(
        amounts={
            name: most([getattr(cost, name) for cost in mine], under, nodes) for name in AMOUNTS
        },
        worst=worst,
        way=way,
        undo=sum(cost.undo for cost in mine),
        memory=heaviest([cost.memory for cost in mine], waits),
        undo_memory=max(cost.undo_memory for cost in mine),
        workers=heaviest([cost.workers for cost in mine], waits),
    )


def _each(step: str, cost: Cost, prices: PriceList | None) -> StepBounds:
    worst = None if cost.worst == inf else round(cost.worst, 6)
    return StepBounds(
        step=step,
        time_worst=worst,
        tokens=_whole(cost.tokens),
        tool_calls=_whole(cost.tool_calls),
        memory=_whole(cost.memory),
        cost=None if prices is None or cost.cost == inf else units(cost.cost),
    )


def _whole(amount: float) -> int | None:
    return None if amount == inf else int(amount)


def _within(amount: float, model: Model, name: str) -> int | None:
    """Return an amount, cut by the budget."""
    limit = getattr(model.workflow.budget, name, None)
    return _whole(amount if limit is None else min(amount, limit.value))


def _worst(model: Model, pruned: Pruned, inside: list[Inside]) -> float | None:
    """Return the longest time: to the deadline, and after it to that of the clean-up."""
    main, *final = (each.worst for each in inside)
    undo = sum(each.undo for each in inside)
    clean = min(undo + sum(final), cleanup_of(model.workflow))
    total = min(main, _deadline(model, pruned)) + clean
    return None if total == inf else round(total, 6)


def _deadline(model: Model, pruned: Pruned) -> float:
    """Return the run's deadline, no bound where it may stand still for as long as a step waits."""
    stops = any(pauses_the_clock(facts) for facts in pruned.graphs.facts.values())
    limit = None if stops else seconds(model.workflow.deadline)
    return inf if limit is None else limit


def _longest(block: BlockGraph, found: Mapping[str, Cost]) -> tuple[float, tuple[str, ...]]:
    """Return the longest way by worst time, then by the number of steps on it."""
    before = block.before()
    weight: dict[str, tuple[float, int]] = {}
    came: dict[str, str | None] = {}
    for step in block.order:
        previous = max(before[step], key=weight.__getitem__, default=None)
        time, length = weight[previous] if previous else (0.0, 0)
        weight[step] = (time + found[step].worst, length + 1)
        came[step] = previous
    last = max(block.order, key=weight.__getitem__, default=None)
    return (weight[last][0] if last else 0.0), _back(last, came)


def _back(last: str | None, came: Mapping[str, str | None]) -> tuple[str, ...]:
    steps: list[str] = []
    while last is not None:
        steps.append(last)
        last = came[last]
    return tuple(reversed(steps))
