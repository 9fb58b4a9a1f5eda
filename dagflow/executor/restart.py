"""A new run from one that ended: what succeeded is pinned, the rest runs again."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from datetime import datetime

from dagflow.core.errors import UsageError
from dagflow.core.plan import Plan
from dagflow.core.run import Run, StepRecord
from dagflow.executor.machine.index import Block, index_of
from dagflow.executor.machine.paths import COMPENSATE, pattern_of


def restarted(plan: Plan, old: Run, run_id: str, now: datetime, *, start: str = "") -> Run:
    """Return the queued run that repeats `old` over the same plan, to be begun.

    Steps of the top that succeeded are pinned with everything inside them, running ones are not;
    with `start`, that step and all that depends on it run again, and so does what was compensated
    with all that depends on that. What ran and runs again gets a
    new generation, since a person asked for it. Raises `UsageError` for a step the plan lacks.
    """
    index = index_of(plan)
    top = index.top
    again = _from(top, *([start] if start else []), *_undone(old))
    steps: dict[str, StepRecord] = {}
    for name in top.sites:
        record = old.steps.get(name)
        if record is not None and record.state == "succeeded" and name not in again:
            steps[name] = deepcopy(record)
    for path, record in old.steps.items():
        outermost = path.partition("[")[0]
        if path not in top.sites and outermost in steps and record.is_final:
            steps[path] = deepcopy(record)
        elif outermost not in steps and record.attempt and pattern_of(path) in index.sites:
            steps[path] = StepRecord(path=path, generation=record.generation + 1)
    return Run(
        id=run_id,
        plan=old.plan,
        inputs=old.inputs,
        attempt=old.attempt + 1,
        root=old.root or old.id,
        parent=old.parent,
        prefix=old.prefix,
        created_at=now,
        steps=steps,
    )


def _undone(old: Run) -> Iterator[str]:
    """Yield the steps of the top that were compensated, as a whole or inside."""
    for path, record in old.steps.items():
        if path.endswith(f".{COMPENSATE}") and record.attempt:
            yield path.partition("[")[0].partition(".")[0]


def _from(top: Block, *starts: str) -> set[str]:
    """Return these steps and everything that depends on them, directly or not."""
    unknown = next((name for name in starts if name not in top.sites), None)
    if unknown is not None:
        raise UsageError(
            f"the plan has no step {unknown!r} to start from",
            remedy=f"name one of {', '.join(top.sites)}",
        )
    found: set[str] = set()
    todo = list(starts)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(_dependents(top, name))
    return found


def _dependents(top: Block, name: str) -> Iterator[str]:
    yield from (site.name for site in top.sites[name].dependents)
    yield from (site.name for site in top.sites.values() if name in site.glimpses)
