"""Going on with runs whose process died."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from typing import Final

from dagflow import wiring
from dagflow.cli import complain
from dagflow.cli.following import follow, tell_waiting
from dagflow.cli.output import say
from dagflow.cli.progress import Progress
from dagflow.core.errors import DamagedError, NotFoundError
from dagflow.core.plan import Plan
from dagflow.core.run import Run, RunState
from dagflow.core.values import JsonObject
from dagflow.executor.children import awaited
from dagflow.executor.engine import Engine
from dagflow.executor.recovery import Recovered, recover
from dagflow.settings import Settings

PATIENT: Final = frozenset(
    {"waiting(approval)", "waiting(signal)", "waiting(unknown_outcome)", "waiting(child)"}
)
POLL: Final = 0.1


async def recover_runs(
    settings: Settings, run_id: str | None, progress: Callable[..., Progress]
) -> tuple[list[JsonObject], list[Exception]]:
    """Recover one run and follow it to its end, or all that are not over.

    Returns the runs, and why others can't go on. Of all runs, one that only waits for a person
    or a signal, itself or in a child run, is left: it needs no process.
    """
    async with wiring.runtime(settings, module_paths=_folders(settings)) as running:
        found = recover(running.engine, run_id)
        tell(found)
        broken = dict(found.broken)
        whole = [one for one in found.runs if one not in broken]
        ours = [one for one in whole if one == run_id or not running.runs.get(one).parent]
        if run_id is None:
            since = await until_patient(running.engine, ours)
            tell_broken(since)
            broken |= since
            ours = [one for one in ours if one not in broken]
            for one in ours:
                tell_waiting(running, one, set())
        elif run_id in ours:
            await follow(running, run_id, progress(quiet=False))
        return [running.runs.show(one) for one in ours], list(broken.values())


def _folders(settings: Settings) -> tuple[str, ...]:
    """Return the folders that the steps of unfinished runs may import from."""
    plans: dict[str, Plan] = {}
    with closing(wiring.open_store(settings)) as store:
        for run_id in store.unfinished():
            with suppress(DamagedError):  # that is told when the run is taken up
                digest = store.get_run(run_id).plan
                plans[digest] = plans.get(digest) or store.get_plan(digest)
    return wiring.module_folders(plans.values())


def tell(found: Recovered) -> None:
    """Say what recovery found."""
    for run_id in found.runs:
        if run_id not in found.broken:
            say(f"recovering {run_id}")
    for run_id, path in found.lost:
        say(f"{run_id}: the worker of {path} is gone")
    tell_broken(found.broken)


def tell_broken(broken: Mapping[str, Exception]) -> None:
    """Say which runs can't go on, and why."""
    for run_id, error in broken.items():
        complain(f"run {run_id} can't go on: {error}", getattr(error, "remedy", ""))


async def until_patient(engine: Engine, runs: Iterable[str]) -> Mapping[str, Exception]:
    """Return when no run goes on by itself: those that can't go on any more, and why."""
    waiting, broken = list(runs), dict[str, Exception]()
    while waiting:
        for one in tuple(waiting):
            with engine.apart(one):
                if (trouble := engine.trouble_of(one)) is not None:
                    broken[one] = trouble
                if trouble is not None or _is_patient(engine, one):
                    waiting.remove(one)
        await asyncio.sleep(POLL if waiting else 0)
    return broken


def _is_patient(engine: Engine, run_id: str) -> bool:
    """Tell whether a run is over, or goes on only when somebody acts."""
    run = engine.run(run_id)
    return run.state.is_final or _stands_still(engine, run)


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
