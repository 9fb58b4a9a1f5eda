"""Latencies, and what steps used, from the runs of a database, window by window."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from dagflow.core.clock import instant
from dagflow.core.plan import Plan, PlanStep
from dagflow.core.site import Used, Window
from dagflow.core.steps import KINDS
from dagflow.service.site.spent import FINAL, Counts, count
from dagflow.store.base import RunStore
from dagflow.store.rows import RunQuery, RunRow, StepRow

WINDOW: Final = timedelta(seconds=60)
MOST_RUNS: Final = 10_000
"""Runs that are looked at, the newest first."""

MOST_COUNTED: Final = 1_000
"""Of those, runs whose logs are read for what their steps used."""

MOST_SAMPLES: Final = 256
"""Latencies of one step that stand for a window."""

_COUNTED: Final = frozenset({"succeeded", "timed_out"})
"""How steps ended whose time counts: a failure at once says nothing of how long success takes."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Samples = dict[str, dict[str, list[float]]]


def recorded(store: RunStore, *, window: timedelta = WINDOW) -> tuple[tuple[str, Window], ...]:
    """Return the windows in which steps of the top of a workflow became ready, oldest first.

    What steps used is counted in the window in which their run was submitted, of runs that are
    over and began from nothing: no attempt of a person to go on where another run failed.
    A loop or a called workflow is one step, with all that is in it. A step whose first attempt
    failed counts from when it was ready: what it waited for a worker is not told apart.
    """
    found: dict[int, Samples] = {}
    used: dict[int, Counts] = {}
    plans: dict[str, Plan] = {}
    counted = 0
    for row in _runs(store):
        if row.plan not in plans:
            plans[row.plan] = store.get_plan(row.plan)
        if counted < MOST_COUNTED and row.attempt == 1 and row.state in FINAL:
            counted += 1
            counts = used.setdefault((row.created_at - _EPOCH) // window, {})
            count(counts, row.workflow, plans[row.plan], store.load(row.id).changes)
        tops = _tops(plans[row.plan])
        for step in store.steps(row.id):
            planned = tops.get(step.path)
            if planned is not None and step.state in _COUNTED and step.ready_at is not None:
                number = (step.ready_at - _EPOCH) // window
                _add(found.setdefault(number, {}), row, step, planned)
    return tuple(
        (instant(_EPOCH + n * window), _window(found.get(n, {}), used.get(n, {})))
        for n in sorted(found.keys() | used.keys())
    )


def _runs(store: RunStore) -> Iterator[RunRow]:
    cursor, seen = "", 0
    while seen < MOST_RUNS:
        page = store.list_runs(RunQuery(cursor=cursor, limit=200))
        yield from page.runs
        seen += len(page.runs)
        if not page.next:
            return
        cursor = page.next


def _tops(plan: Plan) -> dict[str, PlanStep]:
    return {step.path: step for step in plan.steps}


def _add(samples: Samples, row: RunRow, step: StepRow, planned: PlanStep) -> None:
    assert step.ready_at is not None
    if step.finished_at is None:
        return
    begun = step.started_at if step.attempt == 1 and step.started_at else step.ready_at
    took = max(0.0, (step.finished_at - begun).total_seconds())
    key = f"{row.workflow}.{step.path}"
    _put(samples, "steps", key, took)
    if KINDS[planned.kind].in_engine or step.attempt != 1:
        return
    waited = max(0.0, (begun - step.ready_at).total_seconds())
    _put(samples, "waits", key, waited)
    _put(samples, "waits", planned.queue, waited)
    for kind, part, name in (("tool", "operations", "operation"), ("llm", "models", "model")):
        called = planned.body.get(name)
        if planned.kind == kind and isinstance(called, str):
            _put(samples, part, called, took)


def _put(samples: Samples, part: str, key: str, seconds: float) -> None:
    samples.setdefault(part, {}).setdefault(key, []).append(round(seconds, 6))


def _window(samples: Samples, counts: Counts) -> Window:
    parts = {
        part: {key: _thinned(values) for key, values in sorted(keys.items())}
        for part, keys in samples.items()
    }
    return Window(**parts, used={key: Used(**counts[key]) for key in sorted(counts)})


def _thinned(values: list[float]) -> tuple[float, ...]:
    """Return the values sorted; of very many, as many quantiles, the largest among them."""
    ordered = sorted(values)
    if len(ordered) <= MOST_SAMPLES:
        return tuple(ordered)
    step = (len(ordered) - 1) / (MOST_SAMPLES - 1)
    return tuple(ordered[round(index * step)] for index in range(MOST_SAMPLES))
