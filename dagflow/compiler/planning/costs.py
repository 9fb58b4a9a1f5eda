"""What one step can come to at most: with all inside it, every attempt, and what undoes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import ceil, inf
from typing import Final

from dagflow.compiler.defaults import (
    MAX_TOKENS,
    limits_of,
    retry_of,
    seconds,
    timeout_of,
    worst_seconds,
)
from dagflow.compiler.model import StepFacts
from dagflow.compiler.planning.prices import charge_of, planned_charge
from dagflow.core.money import PriceList
from dagflow.core.plan import Plan, PlanStep, RetryPolicy
from dagflow.core.records import dataclass
from dagflow.core.steps import KINDS
from dagflow.core.steps.approve import Approve
from dagflow.core.steps.foreach import Foreach
from dagflow.core.steps.llm import Llm
from dagflow.core.steps.repeat import Repeat
from dagflow.core.steps.wait import Wait
from dagflow.core.workflow import Workflow

AMOUNTS: Final = ("steps", "tokens", "tool_calls", "cost", "items")
"""What adds up over a run; all but the items at each attempt."""

_DELAYED: Final = frozenset({"tool", "llm", "foreach", "repeat", "workflow"})
"""Kinds in which a service may ask for any delay before the next attempt (Retry-After)."""

_ANSWERED: Final = frozenset({"rate_limited", "http_4xx", "http_5xx"})
"""Classes of failures in which a service has answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a step can come to; infinity where nothing bounds it. Times are in seconds.

    `worst` is the time of the step itself, `undo` that of all compensations in it, one after
    another. `memory` and `workers` are what it holds at a time, `undo_memory` what one of its
    compensations does. `cost` is in whole picos of the currency.
    """

    steps: float = 1
    tokens: float = 0
    tool_calls: float = 0
    cost: float = 0
    items: float = 0
    worst: float = 0.0
    undo: float = 0.0
    memory: float = 0
    undo_memory: float = 0
    workers: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What the steps of a block come to together, once; `way` is the longest way by time."""

    amounts: Mapping[str, float]
    worst: float = 0.0
    way: tuple[str, ...] = ()
    undo: float = 0.0
    memory: float = 0
    undo_memory: float = 0
    workers: float = 0


NOTHING: Final = Inside(amounts=dict.fromkeys(AMOUNTS, 0))


def cost_of(
    facts: StepFacts,
    workflow: Workflow,
    inside: Inside = NOTHING,
    *,
    retries: bool = True,
    prices: PriceList | None = None,
) -> Cost:
    """Return what a step comes to at most, whose inner steps come to `inside`.

    Without `retries`, as if every first attempt did; without `prices` it costs nothing. Attempts
    that are lost with their worker are not counted, nor are those that a person asks for.
    """
    once = _once(facts, workflow, inside, prices)
    retry = retry_of(facts.step, workflow) if retries else RetryPolicy()
    worst = min(once.worst, _or_inf(timeout_of(facts.step, workflow)))
    if retry.attempts > 1:
        is_delayed = facts.kind in _DELAYED and _ANSWERED & set(retry.on)
        worst = inf if is_delayed or worst == inf else worst_seconds(retry, worst)
        many = {name: times(getattr(once, name), retry.attempts) for name in AMOUNTS[:-1]}
        many["steps"] -= retry.attempts - 1
        once = replace(once, **many)
    worst = min(worst, _or_inf(seconds(facts.step.deadline)))
    if worst != once.worst or inside is not NOTHING:
        once = replace(once, worst=worst, items=_items(facts, inside, retry.attempts))
    if facts.compensate is None:
        return once
    return _undone(once, cost_of(facts.compensate, workflow, retries=retries, prices=prices))


def _undone(cost: Cost, undo: Cost) -> Cost:
    return replace(
        cost,
        **{name: getattr(cost, name) + getattr(undo, name) for name in AMOUNTS},
        undo=cost.undo + undo.worst,
        undo_memory=max(cost.undo_memory, undo.memory),
    )


def _items(facts: StepFacts, inside: Inside, attempts: int) -> float:
    """Return the items of a step: a list is counted once, those in its items at each attempt."""
    body = facts.step.body
    own = body.max_items.value if isinstance(body, Foreach) else 0
    return own + times(inside.amounts["items"], rounds_of(body) * attempts)


def _once(facts: StepFacts, workflow: Workflow, inside: Inside, prices: PriceList | None) -> Cost:
    """Return what one attempt comes to."""
    body = facts.step.body
    timeout = _or_inf(timeout_of(facts.step, workflow))
    kind = KINDS[facts.kind]
    if isinstance(body, Foreach | Repeat):
        return _composite(body, inside)
    if isinstance(body, Wait):
        fixed = seconds(body.for_)
        limit = fixed if fixed is not None else _or_inf(seconds(body.expires))
        return Cost(worst=min(limit, timeout))
    if isinstance(body, Approve):
        return Cost(worst=min(_or_inf(seconds(body.expires)), timeout))
    if facts.kind == "workflow":
        child = _UNKNOWN if facts.child is None else _child(facts.child, prices)
        return replace(child, worst=min(child.worst, timeout))
    memory = limits_of(facts.step, workflow).memory if kind.sandboxed else 0
    return Cost(
        tokens=_tokens(body) if isinstance(body, Llm) else 0,
        tool_calls=int(facts.kind == "tool"),
        cost=charge_of(facts, workflow, prices).cost if prices is not None else 0,
        worst=timeout if kind.timeout is not None or timeout < inf else 0.0,
        memory=memory,
        workers=int(not kind.in_engine),
    )


def _tokens(body: Llm) -> int:
    return body.max_tokens.value if body.max_tokens else MAX_TOKENS


def _composite(body: Foreach | Repeat, inside: Inside) -> Cost:
    rounds = rounds_of(body)
    together = 1
    if isinstance(body, Foreach) and body.concurrency is not None:
        together = max(1, min(body.concurrency.value, rounds))
    return Cost(
        steps=1 + times(inside.amounts["steps"], rounds),
        tokens=times(inside.amounts["tokens"], rounds),
        tool_calls=times(inside.amounts["tool_calls"], rounds),
        cost=times(inside.amounts["cost"], rounds),
        worst=times(inside.worst, ceil(rounds / together)),
        undo=times(inside.undo, rounds),
        memory=times(inside.memory, together),
        undo_memory=inside.undo_memory,
        workers=times(inside.workers, together),
        items=rounds if isinstance(body, Foreach) else 0,
    )


def rounds_of(body: object) -> int:
    """Return how often the inner steps of a body run at most; 0 where it has none."""
    if isinstance(body, Foreach):
        return body.max_items.value
    return body.max.value if isinstance(body, Repeat) else 0


_UNKNOWN: Final = Cost(
    steps=inf, tokens=inf, tool_calls=inf, cost=inf, items=inf, memory=inf, workers=inf
)


def _child(plan: Plan, prices: PriceList | None) -> Cost:
    """Return what a run of a called workflow comes to, as if every step of it ran."""
    parts = [_planned(step, plan, prices) for step in (*plan.steps, *plan.finally_)]
    worst = inf if plan.deadline is None else plan.deadline + plan.cleanup_deadline
    budget = plan.budget
    return Cost(
        steps=1 + sum(part.steps for part in parts),
        tokens=min(sum(part.tokens for part in parts), _or_inf(budget.tokens)),
        tool_calls=min(sum(part.tool_calls for part in parts), _or_inf(budget.tool_calls)),
        cost=sum(part.cost for part in parts),
        items=min(sum(part.items for part in parts), _or_inf(budget.items)),
        worst=worst,
        memory=sum(part.memory for part in parts),
        workers=sum(part.workers for part in parts),
    )


def _planned(step: PlanStep, plan: Plan, prices: PriceList | None) -> Cost:
    """Return what a step of a plan comes to; less tight than what is known of its source."""
    kind, attempts = KINDS[step.kind], step.retry.attempts
    if step.child is not None:
        cost = _child(step.child, prices)
    else:
        parts = [_planned(inner, plan, prices) for inner in step.block]
        rounds = _number(step, "max_items" if step.kind == "foreach" else "max", 1)
        together = min(_number(step, "concurrency", 1), rounds) if step.kind == "foreach" else 1
        cost = Cost(
            steps=1 + times(_sum(parts, "steps"), rounds),
            tokens=_number(step, "max_tokens", 0) + times(_sum(parts, "tokens"), rounds),
            tool_calls=int(step.kind == "tool") + times(_sum(parts, "tool_calls"), rounds),
            cost=(planned_charge(step, plan, prices).cost if prices is not None else 0)
            + times(_sum(parts, "cost"), rounds),
            items=_number(step, "max_items", 0) + times(_sum(parts, "items"), rounds),
            memory=step.limits.memory if kind.sandboxed else times(_sum(parts, "memory"), together),
            workers=int(not kind.in_engine) + times(_sum(parts, "workers"), together),
        )
    many = {name: times(getattr(cost, name), attempts) for name in AMOUNTS}
    cost = replace(cost, **many)
    return (
        cost
        if step.compensate is None
        else _with_undo(cost, _planned(step.compensate, plan, prices))
    )


def _with_undo(cost: Cost, undo: Cost) -> Cost:
    return replace(_undone(cost, undo), memory=max(cost.memory, undo.memory))


def _sum(costs: Iterable[Cost], name: str) -> float:
    total: float = sum(getattr(cost, name) for cost in costs)
    return total


def _number(step: PlanStep, name: str, default: int) -> int:
    value = step.body.get(name)
    return value if isinstance(value, int) else default


def times(amount: float, factor: float) -> float:
    """Return the product; nothing times no bound is nothing."""
    return amount * factor if factor and amount else 0


def _or_inf(value: float | None) -> float:
    return inf if value is None else value
