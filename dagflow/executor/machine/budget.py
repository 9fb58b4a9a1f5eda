"""What a run has used, with its child runs, and what it may still use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from dagflow.core.plan import BudgetLimits
from dagflow.core.values import JsonObject
from dagflow.executor.machine.draft import Draft
from dagflow.executor.machine.index import Site

_SPENDING: Final[Mapping[str, frozenset[str]]] = {
    "tool_calls": frozenset({"tool"}),
    "tokens": frozenset({"llm"}),
    "cost": frozenset({"llm", "tool"}),
}
"""The kinds that may not start when a part of the budget is used up."""
_PARTS: Final = tuple(field.name for field in fields(BudgetLimits))


def used_of(draft: Draft, name: str) -> float:
    """Return what the run has used so far of something."""
    used = draft.run.used.get(name, 0)
    assert isinstance(used, int | float)
    return used


def limit_of(draft: Draft, name: str) -> float | None:
    """Return what the run may use of something: no more than its plan nor its parent allow."""
    bounds = (getattr(draft.plan.budget, name), draft.run.budget.get(name))
    return min((bound for bound in bounds if isinstance(bound, int | float)), default=None)


def left(draft: Draft) -> JsonObject:
    """Return what is left of each part of the budget that is bounded, for a child run."""
    limits = ((name, limit_of(draft, name)) for name in _PARTS)
    return {n: max(0, limit - used_of(draft, n)) for n, limit in limits if limit is not None}


def spent(draft: Draft, site: Site) -> str:
    """Say which part of the budget is used up, so that this step may not start."""
    for name, kinds in _SPENDING.items():
        limit = limit_of(draft, name) if site.step.kind in kinds else None
        if limit is not None and used_of(draft, name) >= limit:
            return f"the run has used its budget of {name} ({limit:g})"
    return ""


def use(draft: Draft, amounts: JsonObject) -> None:
    """Add up what was used."""
    total = dict(draft.run.used)
    for name, amount in amounts.items():
        if isinstance(amount, int | float) and amount:
            total[name] = used_of(draft, name) + amount
    if total != draft.run.used:
        draft.set_run(used=total)
