"""The engine's core: what happens to a run when something happens, as a pure function.

`decide` reads no clock, does no I/O, draws no random number and writes none of its arguments. The
parts are in `machine/`; what the language page leaves open is in `docs/semantics.md`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import Final

from dagflow.core.plan import Plan
from dagflow.core.run import Decision, Event, Run, StepRecord, Tick
from dagflow.core.values import JsonObject
from dagflow.executor.machine import budget, clock, finish, kinds, progress, readiness
from dagflow.executor.machine.activation import scope_of, step_view
from dagflow.executor.machine.clock import next_wake
from dagflow.executor.machine.draft import Draft, Refused, Verbs
from dagflow.executor.machine.evaluator import Evaluator
from dagflow.executor.machine.events import EVENTS
from dagflow.executor.machine.index import index_of
from dagflow.executor.machine.kinds import approval_hash, idempotency_key
from dagflow.executor.machine.paths import pattern_of

__all__ = [
    "activation",
    "approval_hash",
    "decide",
    "decide_all",
    "idempotency_key",
    "next_wake",
    "step_view",
    "view",
]

_VERBS: Final[Verbs] = {
    "open": readiness.open_frame,
    "consider": readiness.consider,
    "start": kinds.start,
    "ended": progress.ended,
    "complete": progress.complete,
    "undo": finish.undo,
    "answered": budget.answered,
}


def decide(
    plan: Plan, run: Run, event: Event, now: datetime, *, evaluator: Evaluator | None = None
) -> Decision:
    """Return the changes that an event makes to a run, and what to do once they are stored.

    Folding the changes into `run` with `Run.apply` gives the state after the event. An event that
    is not taken is `refused` and says why; what happened instead (the run's deadline had passed, a
    claimed step was out of time or budget) is in the changes even then. Raises
    `IllegalMoveError` for a move that the plan does not list.
    """
    return decide_all(plan, run, (event,), now, evaluator=evaluator)


def decide_all(
    plan: Plan,
    run: Run,
    events: Iterable[Event],
    now: datetime,
    *,
    evaluator: Evaluator | None = None,
) -> Decision:
    """Fold several events in order into one decision, up to the first that is refused.

    The changes of the events before a refused one stand. Used to end a step and claim the next
    one in one transaction.
    """
    events = tuple(events)
    draft = Draft(plan, run, now, evaluator or _cel(), _VERBS)
    try:
        for event in events:
            clock.overdue(draft)
            draft.settle()
            EVENTS[type(event)](draft, event)
            draft.settle()
            clock.rest(draft)
    except Refused as refused:
        draft.settle()
        clock.rest(draft)
        return draft.decision(refused.why)
    if not draft.run.state.is_final and any(isinstance(event, Tick) for event in events):
        draft.wake_at(next_wake(plan, draft.run))
    return draft.decision()


@cache
def _cel() -> Evaluator:
    """Load the expression library at the first decision that gets no other."""
    from dagflow.executor.machine.cel import Cel

    return Cel()


def view(run: Run, path: str) -> StepRecord:
    """Return what is known of a step; one that has no record is pending. Only to be read."""
    return run.steps.get(path) or StepRecord(path=path)


def activation(plan: Plan, run: Run, path: str) -> JsonObject:
    """Return what the worker needs to evaluate the step's own expression (a transform's)."""
    index = index_of(plan)
    site = index.sites[pattern_of(path)]
    expression = site.step.expressions.get("expression")
    return (
        {} if expression is None else scope_of(index, run, site, path).activation(expression.reads)
    )
