"""What the steps of a run used, read from its log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from dagflow.core.plan import Plan, PlanStep, steps_of
from dagflow.core.run import Change, RunChanged, RunState, StepChanged

Counts: TypeAlias = dict[str, dict[str, int]]
"""The fields of `Used`, by workflow and static path."""

FINAL: Final = frozenset(state.value for state in RunState if state.is_final)

_RAN: Final = frozenset({"succeeded", "failed", "timed_out"})
_CALLING: Final[Mapping[str, str]] = {"tool": "running", "workflow": "waiting(child)"}
"""The kinds that call something, and the state in which they do."""

_USERS: Final[Mapping[str, str]] = {"tokens": "llm", "prompt_tokens": "llm", "items": "foreach"}
"""What is counted of the run as a whole, and the kind that uses it."""

_INDEX: Final = re.compile(r"\[\d+\]")


def count(counts: Counts, workflow: str, plan: Plan, changes: Iterable[Change]) -> None:
    """Add what the steps of a run used, of which these are all changes.

    A log tells what the run has used before it tells how the step moved that did. What a called
    workflow used is left out: its own log tells it.
    """
    planned = {step.path: step for step in steps_of(plan)}
    for path in planned:
        _put(counts, f"{workflow}.{path}", "runs", 1)
    so_far: dict[str, int] = {}
    pending: dict[str, int] = {}
    told_of_child = False
    for change in changes:
        if isinstance(change, RunChanged) and isinstance(used := change.set.get("used"), dict):
            more = _more(used, so_far)
            for name, amount in more.items():
                pending[name] = pending.get(name, 0) + (0 if told_of_child else amount)
        told_of_child = isinstance(change, StepChanged) and "counted" in change.set
        if isinstance(change, StepChanged):
            step = planned.get(_INDEX.sub("", change.path))
            if step is not None:
                _moved(counts, f"{workflow}.{step.path}", step, change, pending)


def _more(used: Mapping[str, object], so_far: dict[str, int]) -> dict[str, int]:
    """Return what was added to what the run had used, and remember it."""
    now = {name: n for name, n in used.items() if name in _USERS and isinstance(n, int)}
    more = {name: amount - so_far.get(name, 0) for name, amount in now.items()}
    so_far.update(now)
    return more


def _moved(
    counts: Counts, key: str, step: PlanStep, change: StepChanged, pending: dict[str, int]
) -> None:
    """Count a move of a step, and what was used for it."""
    for name in [name for name in pending if _USERS[name] == step.kind]:
        _put(counts, key, name, pending.pop(name))
    if change.before == change.after:
        return
    if change.after in _RAN:
        _put(counts, key, "ran", 1)
    if _CALLING.get(step.kind) == change.after:
        _put(counts, key, "calls", 1)


def _put(counts: Counts, key: str, name: str, amount: int) -> None:
    if amount:
        of_step = counts.setdefault(key, {})
        of_step[name] = of_step.get(name, 0) + amount
