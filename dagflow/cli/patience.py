"""Waiting for runs until they go on only when somebody acts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from dagflow.core.errors import NotFoundError
from dagflow.core.run import Run, RunState
from dagflow.executor.children import awaited
from dagflow.executor.engine import Engine

PATIENT: Final = frozenset(
    {"waiting(approval)", "waiting(signal)", "waiting(unknown_outcome)", "waiting(child)"}
)
POLL: Final = 0.1


async def until_patient(engine: Engine, runs: Iterable[str]) -> Mapping[str, Exception]:
    """Return when no run goes on by itself: those that can't go on any more, and why.

    Nor does any child run that one of them stopped: those undo what they did, and clean up.
    """
    waiting, seen, broken = list(runs), set(runs), dict[str, Exception]()
    while waiting:
        for one in tuple(waiting):
            with engine.apart(one):
                if (trouble := engine.trouble_of(one)) is not None:
                    broken[one] = trouble
                elif not (run := engine.run(one)).state.is_final and not _stands_still(engine, run):
                    continue
                waiting.remove(one)
                left = [it for it in engine.store.unfinished(family=one) if it not in seen]
                waiting.extend(left)
                seen.update(left)
        await asyncio.sleep(POLL if waiting else 0)
    return broken


def _stands_still(engine: Engine, run: Run) -> bool:
    """Tell whether a run that is not over goes on only when somebody acts.

    What a composite waits for are steps of the run, and what a `workflow` step does is a child
    run; one that is over and of which its parent has yet to hear makes it go on.
    """
    if run.state is RunState.PAUSED:
        return True
    if run.state is not RunState.WAITING or not {run.steps[p].state for p in run.active} <= PATIENT:
        return False
    children = [_known(engine, child) for child in awaited(engine.plan_of(run.id), run)]
    return all(
        child is not None and not child.state.is_final and _stands_still(engine, child)
        for child in children
    )


def _known(engine: Engine, run_id: str) -> Run | None:
    """Return a run, or None for one that has yet to be made."""
    try:
        return engine.run(run_id)
    except NotFoundError:
        return None
