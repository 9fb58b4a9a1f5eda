"""What a run can cost at most: steps, tokens, tool calls, and the longest way through it.

Counted as if every step ran, all attempts were needed and every loop went round as often as it
may: safe, not tight. `time_best` counts only what surely takes time (a `wait` of a fixed length).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil

from dagflow.compiler.defaults import MAX_TOKENS, retry_of, seconds, timeout_of, worst_seconds
from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.graph.edges import inside_out
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.planning.prune import Pruned
from dagflow.core.findings import Bounds
from dagflow.core.records import dataclass
from dagflow.core.steps.approve import Approve
from dagflow.core.steps.foreach import Foreach
from dagflow.core.steps.llm import Llm
from dagflow.core.steps.repeat import Repeat
from dagflow.core.steps.wait import Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    """What one execution of a step, with all inside it, can come to; None is no bound.

    `surely` tells that nothing in the step itself lets a successful run do without it.
    """

    steps: int | None = 1
    tokens: int | None = 0
    tool_calls: int | None = 0
    best: float = 0.0
    worst: float | None = 0.0
    surely: bool = True


def bounds(model: Model, pruned: Pruned) -> Bounds:
    """Return the bounds of a whole run, its `finally` included; a run's deadline cuts its time."""
    costs: dict[str, _Cost] = {}
    for path in inside_out(pruned.graphs.blocks):
        for step in pruned.graphs.blocks[path].steps:
            costs[step] = _cost(model, pruned, pruned.graphs.facts[step], costs)
    tops = [pruned.graphs.blocks[path] for path in ("", "finally") if path in pruned.graphs.blocks]
    steps = [costs[step] for block in tops for step in block.steps]
    ways = [_longest(block, costs) for block in tops]
    deadline, cleanup = seconds(model.workflow.deadline), _cleanup(model)
    return Bounds(
        steps=_sum(cost.steps for cost in steps),
        tokens=_least(_sum(cost.tokens for cost in steps), _budget(model, "tokens")),
        tool_calls=_least(_sum(cost.tool_calls for cost in steps), _budget(model, "tool_calls")),
        time_best=round(sum(way.best for way in ways), 6),
        time_worst=_worst(ways, deadline, cleanup),
        critical_path=tuple(step for way in ways for step in way.steps),
    )


def _cleanup(model: Model) -> float:
    cleanup = model.workflow.cleanup
    bound = seconds(cleanup.deadline) if cleanup else None
    return 60.0 if bound is None else bound


def _budget(model: Model, name: str) -> int | None:
    value = getattr(model.workflow.budget, name, None)
    return value.value if value else None


def _worst(ways: list[_Way], deadline: float | None, cleanup: float) -> float | None:
    limits = (deadline, cleanup)
    each = [_earliest(way.worst, limit) for way, limit in zip(ways, limits, strict=False)]
    total = _sum_time(each)
    return None if total is None else round(total, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """The longest way through a block, and the times of the fastest and slowest run of it."""

    best: float
    worst: float | None
    steps: tuple[str, ...]


def _longest(block: BlockGraph, costs: Mapping[str, _Cost]) -> _Way:
    """Find the longest way by worst time, then by the number of steps on it."""
    before: dict[str, list[str]] = {step: [] for step in block.steps}
    for source, target in block.pairs():
        before[target].append(source)
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
        best=0.0 if last is None else _fastest(block, costs, before),
        worst=None if worst_time == float("inf") else worst_time,
        steps=_back(last, came),
    )


def _back(last: str | None, came: Mapping[str, str | None]) -> tuple[str, ...]:
    steps: list[str] = []
    while last is not None:
        steps.append(last)
        last = came[last]
    return tuple(reversed(steps))


def _fastest(
    block: BlockGraph, costs: Mapping[str, _Cost], before: Mapping[str, list[str]]
) -> float:
    """Return the time that no run that succeeds beats: over the steps that run in each of them."""
    ends: dict[str, float] = {}
    for step in block.order:
        if costs[step].surely and _follows(block, step, ends):
            ends[step] = costs[step].best + max(
                (ends[s] for s in before[step] if s in ends), default=0.0
            )
    return max(ends.values(), default=0.0)


def _follows(block: BlockGraph, step: str, sure: Mapping[str, float]) -> bool:
    """Tell whether a step runs wherever all those steps have succeeded."""
    edges = block.incoming.get(step, ())
    if edges and block.join(step).mode != "all":
        return False
    if any(edge.source not in sure or not {"success", "done"} & set(edge.on) for edge in edges):
        return False
    return all(need in sure for need in block.needs(step))


def _cost(model: Model, pruned: Pruned, facts: StepFacts, costs: Mapping[str, _Cost]) -> _Cost:
    one = _once(model, pruned, facts, costs)
    retry = retry_of(facts.step, model.workflow)
    attempts = retry.attempts
    bound = _earliest(one.worst, timeout_of(facts.step, model.workflow))
    worst = None if bound is None else worst_seconds(retry, bound)
    return _Cost(
        steps=one.steps if one.steps is None else 1 + (one.steps - 1) * attempts,
        tokens=_times(one.tokens, attempts),
        tool_calls=_times(one.tool_calls, attempts),
        best=one.best,
        surely=facts.step.when is None and not facts.step.on_error,
        worst=_earliest(worst, seconds(facts.step.deadline)),
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
        return _Cost(best=fixed or 0.0, worst=_earliest(limit, timeout))
    if isinstance(body, Approve):
        return _Cost(worst=_earliest(seconds(body.expires), timeout))
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
    way = _longest(block, costs) if block else _Way(best=0.0, worst=0.0, steps=())
    if isinstance(body, Foreach):
        rounds = body.max_items.value
        waves = ceil(rounds / (body.concurrency.value if body.concurrency else 1))
        best = 0.0
    else:
        rounds = waves = body.max.value
        best = way.best
    count = _times(_sum(cost.steps for cost in inner), rounds)
    return _Cost(
        steps=None if count is None else count + 1,
        tokens=_times(_sum(cost.tokens for cost in inner), rounds),
        tool_calls=_times(_sum(cost.tool_calls for cost in inner), rounds),
        best=best,
        worst=None if way.worst is None else way.worst * waves,
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def _sum_time(times: Iterable[float | None]) -> float | None:
    total = 0.0
    for time in times:
        if time is None:
            return None
        total += time
    return total


def _times(count: int | None, factor: int) -> int | None:
    return None if count is None else count * factor


def _least(one: int | None, two: int | None) -> int | None:
    return one if two is None else two if one is None else min(one, two)


def _earliest(one: float | None, two: float | None) -> float | None:
    return one if two is None else two if one is None else min(one, two)
