"""What a run can cost at most: steps, tokens, tool calls, and the longest way through it.

Counted as if every step ran, all attempts were needed and every loop went round as often as it
may: safe, not tight. `time_best` counts only what surely takes time (a `wait` of a fixed length).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import TypeVar

from dagflow.compiler.defaults import (
    MAX_TOKENS,
    cleanup_of,
    retry_of,
    seconds,
    timeout_of,
    worst_seconds,
)
from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.graph.edges import inside_out
from dagflow.compiler.model import TOPS, Model, StepFacts
from dagflow.compiler.planning.musts import fastest, pauses_the_clock
from dagflow.compiler.planning.prune import Pruned
from dagflow.core.findings import Bounds
from dagflow.core.records import dataclass
from dagflow.core.steps.approve import Approve
from dagflow.core.steps.foreach import Foreach
from dagflow.core.steps.llm import Llm
from dagflow.core.steps.repeat import Repeat
from dagflow.core.steps.wait import Wait

N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    """What a step, with all inside it and what undoes it, can come to; None is no bound.

    `worst` is the time of the step itself, `undo` that of the compensations, one after another.
    """

    steps: int | None = 1
    tokens: int | None = 0
    tool_calls: int | None = 0
    worst: float | None = 0.0
    undo: float | None = 0.0


def bounds(model: Model, pruned: Pruned) -> Bounds:
    """Return the bounds of a whole run, compensations and `finally` too; deadlines cut its time."""
    costs: dict[str, _Cost] = {}
    for path in inside_out(pruned.graphs.blocks):
        for step in pruned.graphs.blocks[path].steps:
            costs[step] = _cost(model, pruned, pruned.graphs.facts[step], costs)
    tops = [pruned.graphs.blocks[path] for path in TOPS if path in pruned.graphs.blocks]
    steps = [costs[step] for block in tops for step in block.steps]
    ways = [_longest(block, costs) for block in tops]
    return Bounds(
        steps=_sum(cost.steps for cost in steps),
        tokens=_least(_sum(cost.tokens for cost in steps), _budget(model, "tokens")),
        tool_calls=_least(_sum(cost.tool_calls for cost in steps), _budget(model, "tool_calls")),
        time_best=round(sum(fastest(pruned.graphs, block.path) for block in tops), 6),
        time_worst=_worst(model, pruned, ways, [cost.undo for cost in steps]),
        critical_path=tuple(step for way in ways for step in way.steps),
    )


def _budget(model: Model, name: str) -> int | None:
    value = getattr(model.workflow.budget, name, None)
    return value.value if value else None


def _worst(
    model: Model, pruned: Pruned, ways: list[_Way], undo: list[float | None]
) -> float | None:
    """Return the longest time: to the deadline, and after it to that of the clean-up."""
    main, *final = (way.worst for way in ways)
    clean = _least(_sum((*undo, *final)), cleanup_of(model.workflow))
    total = _sum((_least(main, _deadline(model, pruned)), clean))
    return None if total is None else round(total, 6)


def _deadline(model: Model, pruned: Pruned) -> float | None:
    """Return the run's deadline, None where it may stand still for as long as a step waits."""
    stops = any(pauses_the_clock(facts) for facts in pruned.graphs.facts.values())
    return None if stops else seconds(model.workflow.deadline)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """The longest way through a block, and the time of the slowest run of it."""

    worst: float | None
    steps: tuple[str, ...]


def _longest(block: BlockGraph, costs: Mapping[str, _Cost]) -> _Way:
    """Find the longest way by worst time, then by the number of steps on it."""
    before = block.before()
    weight: dict[str, tuple[float, int]] = {}
    came: dict[str, str | None] = {}
    for step in block.order:
        previous = max(before[step], key=weight.__getitem__, default=None)
        time, length = weight[previous] if previous else (0.0, 0)
        worst = costs[step].worst
        weight[step] = (time + (float("inf") if worst is None else worst), length + 1)
        came[step] = previous
    last = max(block.order, key=weight.__getitem__, default=None)
    worst_time = weight[last][0] if last else 0.0
    return _Way(
        worst=None if worst_time == float("inf") else worst_time,
        steps=_back(last, came),
    )


def _back(last: str | None, came: Mapping[str, str | None]) -> tuple[str, ...]:
    steps: list[str] = []
    while last is not None:
        steps.append(last)
        last = came[last]
    return tuple(reversed(steps))


def _cost(model: Model, pruned: Pruned, facts: StepFacts, costs: Mapping[str, _Cost]) -> _Cost:
    one = _once(model, pruned, facts, costs)
    retry = retry_of(facts.step, model.workflow)
    attempts = retry.attempts
    bound = _least(one.worst, timeout_of(facts.step, model.workflow))
    worst = None if bound is None else worst_seconds(retry, bound)
    cost = _Cost(
        steps=one.steps if one.steps is None else 1 + (one.steps - 1) * attempts,
        tokens=_times(one.tokens, attempts),
        tool_calls=_times(one.tool_calls, attempts),
        worst=_least(worst, seconds(facts.step.deadline)),
        undo=one.undo,
    )
    if facts.compensate is None:
        return cost
    undo = _cost(model, pruned, facts.compensate, costs)
    return _Cost(
        steps=_sum((cost.steps, undo.steps)),
        tokens=_sum((cost.tokens, undo.tokens)),
        tool_calls=_sum((cost.tool_calls, undo.tool_calls)),
        worst=cost.worst,
        undo=_sum((cost.undo, undo.worst)),
    )


def _once(model: Model, pruned: Pruned, facts: StepFacts, costs: Mapping[str, _Cost]) -> _Cost:
    """Return what one attempt comes to."""
    body = facts.step.body
    timeout = timeout_of(facts.step, model.workflow)
    if isinstance(body, Foreach | Repeat):
        return _composite(pruned.graphs.blocks.get(facts.path), body, costs)
    if isinstance(body, Wait):
        fixed = seconds(body.for_)
        limit = fixed if fixed is not None else seconds(body.expires)
        return _Cost(worst=_least(limit, timeout))
    if isinstance(body, Approve):
        return _Cost(worst=_least(seconds(body.expires), timeout))
    if isinstance(body, Llm):
        tokens = body.max_tokens.value if body.max_tokens else MAX_TOKENS
        return _Cost(tokens=tokens, worst=timeout)
    if facts.kind == "tool":
        return _Cost(tool_calls=1, worst=timeout)
    if facts.kind == "workflow":
        return _Cost(steps=None, tokens=None, tool_calls=None, worst=timeout)
    return _Cost(worst=timeout or 0.0)


def _composite(
    block: BlockGraph | None, body: Foreach | Repeat, costs: Mapping[str, _Cost]
) -> _Cost:
    inner = [costs[step] for step in block.steps] if block else []
    way = _longest(block, costs) if block else _Way(worst=0.0, steps=())
    if isinstance(body, Foreach):
        rounds = body.max_items.value
        waves = ceil(rounds / (body.concurrency.value if body.concurrency else 1))
    else:
        rounds = waves = body.max.value
    count = _times(_sum(cost.steps for cost in inner), rounds)
    return _Cost(
        steps=None if count is None else count + 1,
        tokens=_times(_sum(cost.tokens for cost in inner), rounds),
        tool_calls=_times(_sum(cost.tool_calls for cost in inner), rounds),
        worst=_times(way.worst, waves),
        undo=_times(_sum(cost.undo for cost in inner), rounds),
    )


def _sum(amounts: Iterable[N | None]) -> N | None:
    """Return the sum, None where one of them has no bound."""
    total: N = 0
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def _times(amount: N | None, factor: int) -> N | None:
    return None if amount is None else amount * factor


def _least(one: N | None, two: N | None) -> N | None:
    """Return the smaller bound, of those that are one."""
    return one if two is None else two if one is None else min(one, two)
