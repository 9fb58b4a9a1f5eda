"""Drawings of a plan's graph and of a step's state machine."""

from __future__ import annotations

from collections.abc import Iterable

from dagflow.compiler.report import states, view
from dagflow.compiler.report.drawings import GRAPH_FORMATS, STATE_FORMATS
from dagflow.core.errors import NotFoundError
from dagflow.core.findings import Removal
from dagflow.core.plan import Plan
from dagflow.core.words import closest


def draw_graph(
    plan: Plan, format_: str, *, removed: Iterable[Removal] = (), critical: Iterable[str] = ()
) -> str:
    """Draw a plan's graph; what pruning takes out (`removed`) is drawn faded.

    `critical` are the steps of the longest way.
    """
    return GRAPH_FORMATS[format_](view.view_of(plan, removed=removed, critical=critical))


def draw_states(plan: Plan, step: str, format_: str) -> str:
    """Draw the moves that the plan lists for a step, by its path. Raises `NotFoundError`."""
    known = list(dict.fromkeys(constraint.step for constraint in plan.constraints))
    if step not in known:
        near = closest(step, known)
        remedy = f"did you mean {near!r}?" if near else f"it has {', '.join(known)}"
        raise NotFoundError(f"the plan has no step {step!r}", remedy=remedy)
    return STATE_FORMATS[format_](states.view_of(plan, step))
