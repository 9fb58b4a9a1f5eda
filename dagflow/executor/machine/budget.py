"""What a run has used, with its child runs, and what it may still use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Final

from dagflow.core.plan import BudgetLimits
from dagflow.core.values import JsonObject
from dagflow.executor.machine.draft import Draft
from dagflow.executor.machine.ending import enlist
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
    return _amount(draft.run.used, name)


def limit_of(draft: Draft, name: str) -> float | None:
    """Return what the run may use of something: no more than its plan nor its parent allow."""
    bounds = (getattr(draft.plan.budget, name), draft.run.budget.get(name))
    return min((bound for bound in bounds if isinstance(bound, int | float)), default=None)


def left(draft: Draft) -> JsonObject:
    """Return what is left of each part of the budget that is bounded, for a child run.

    What is promised to answers is not left. What is given to a child run is not set aside.
    """
    bounds = {name: limit for name in _PARTS if (limit := limit_of(draft, name)) is not None}
    taken = {"tokens": _promised(draft)} if "tokens" in bounds else {}
    return {
        name: max(0, _sum(limit, -used_of(draft, name)) - taken.get(name, 0))
        for name, limit in bounds.items()
    }


def spent(draft: Draft, site: Site) -> str:
    """Say which part of the budget leaves too little, so that this step may not start."""
    for name, kinds in _SPENDING.items():
        limit = limit_of(draft, name) if site.step.kind in kinds else None
        if limit is None:
            continue
        if used_of(draft, name) >= limit:
            return f"the run has used its budget of {name} ({limit:g})"
        if name == "tokens" and _answer_of(site) > limit - used_of(draft, name):
            return (
                f"an answer may take {_answer_of(site)} tokens, and the run has"
                f" {limit - used_of(draft, name):g} of {limit:g} left"
            )
    return ""


def held_back(draft: Draft, path: str, site: Site) -> str:
    """Say why a model may not be asked yet.

    Answers are reserved in full while they are written, and from when they are let go; and no
    answer passes one that was asked for before it and waits.
    """
    limit = limit_of(draft, "tokens") if site.step.kind == "llm" else None
    if limit is None:
        return ""
    promised = _promised(draft, but=path)
    if used_of(draft, "tokens") + promised + _answer_of(site) > limit:
        return f"{promised} tokens are promised to answers that are being written or begin now"
    if path not in draft.run.let_go and (first := next(_waiting(draft), path)) != path:
        return f"the answer of {first} was asked for before, and waits for its tokens"
    return ""


def hold(draft: Draft, path: str) -> None:
    """Have a step wait for its turn: the last of all, or in the place that it has."""
    if path in draft.run.let_go:
        draft.note(path, let_go=False)
    elif path not in draft.run.held_back:
        draft.note(path, held_back=True)


def _promised(draft: Draft, but: str = "") -> int:
    """Return how many tokens the answers may have that are being written or were let go.

    One that was let go and asks for more than is left gets none: its claim will fail it.
    """
    running = (draft.site(path) for path in draft.run.running)
    written = sum(_answer_of(site) for site in running if site.step.kind == "llm")
    left = (limit_of(draft, "tokens") or 0) - used_of(draft, "tokens")
    called = (_answer_of(draft.site(path)) for path in draft.run.let_go if path != but)
    return written + sum(answer for answer in called if answer <= left)


def _waiting(draft: Draft) -> Iterator[str]:
    """Yield the steps that are held back and were not let go, in their order."""
    return (path for path in draft.run.held_back if path not in draft.run.let_go)


def answered(draft: Draft) -> None:
    """Have steps started that were held back, in that order, as many as fit now.

    To be called when an answer is over, and when a step that was let go has not begun.
    """
    limit = limit_of(draft, "tokens")
    if limit is None:
        return
    left = limit - used_of(draft, "tokens")
    for path in list(_fitting(draft, left)):
        draft.note(path, let_go=True)
        enlist(draft, path, draft.site(path))


def _fitting(draft: Draft, left: float) -> Iterator[str]:
    """Yield the first steps held back up to one that still has to wait.

    One that asks for more than is left waits for nothing: its claim will fail it.
    """
    room = left - _promised(draft)
    for path in _waiting(draft):
        answer = _answer_of(draft.site(path))
        if room < answer <= left:
            return
        room -= answer if answer <= left else 0
        yield path


def _answer_of(site: Site) -> int:
    """Return how many tokens the model may write for an llm step."""
    most = site.step.body.get("max_tokens")
    return most if isinstance(most, int) else 0


def forfeit(draft: Draft, site: Site) -> None:
    """Count an attempt that ends without a report: as many tokens as its answer might have had."""
    if site.step.kind == "llm":
        use(draft, {"tokens": _answer_of(site)})


def count_child(draft: Draft, path: str, key: str, used: JsonObject) -> None:
    """Add what a child run used beyond what is counted of it, whatever its step and run do now."""
    counted = draft.record(path).counted
    before = counted.get(key, {})
    assert isinstance(before, dict)
    more: JsonObject = {
        n: amount for n in used if (amount := _amount(used, n) - _amount(before, n)) > 0
    }
    if more:
        draft.note(path, counted={**counted, key: {**before, **{n: used[n] for n in more}}})
        use(draft, more)


def use(draft: Draft, amounts: JsonObject) -> None:
    """Add up what was used."""
    more = {name: amount for name in amounts if (amount := _amount(amounts, name))}
    if more:
        total: JsonObject = {n: _sum(used_of(draft, n), amount) for n, amount in more.items()}
        draft.set_run(used={**draft.run.used, **total})


def _sum(before: float, more: float) -> float:
    """Return the sum to the last digit that amounts of money have."""
    return round(before + more, 12)


def _amount(amounts: JsonObject, name: str) -> float:
    amount = amounts.get(name, 0)
    return amount if isinstance(amount, int | float) else 0
