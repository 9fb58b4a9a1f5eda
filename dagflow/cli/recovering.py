"""Going on with runs whose process died."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from dagflow import wiring
from dagflow.cli.following import follow
from dagflow.cli.output import say
from dagflow.cli.progress import Progress
from dagflow.core.run import Run, RunState
from dagflow.core.text import clean
from dagflow.core.values import JsonObject
from dagflow.executor.recovery import Recovered, recover
from dagflow.settings import Settings
from dagflow.wiring import Runtime

PATIENT: Final = frozenset({"waiting(approval)", "waiting(signal)"})
POLL: Final = 0.1


async def recover_runs(
    settings: Settings, run_id: str | None, progress: Callable[..., Progress]
) -> list[JsonObject]:
    """Recover one run and follow it to its end, or all that are not over; return them.

    Of all runs, one that only waits for a person or a signal is left: it needs no process.
    """
    async with wiring.runtime(settings, module_paths=_folders(settings)) as running:
        found = recover(running.engine, run_id)
        _tell(found)
        broken = {one for one, _ in found.broken}
        ours = [one for one in found.runs if one not in broken and not _has_parent(running, one)]
        if run_id is not None:
            await follow(running, run_id, progress(quiet=False))
        else:
            await _until_patient(running, ours)
        return [running.runs.show(one) for one in ours]


def _folders(settings: Settings) -> tuple[str, ...]:
    """Return the folders that the steps of unfinished runs may import from."""
    store = wiring.open_store(settings)
    try:
        digests = {store.get_run(run_id).plan for run_id in store.unfinished()}
        return wiring.module_folders(store.get_plan(digest) for digest in sorted(digests))
    finally:
        store.close()


def _tell(found: Recovered) -> None:
    for run_id in found.runs:
        say(f"recovering {run_id}")
    for run_id, path in found.lost:
        say(f"{run_id}: {path} is done again, its worker is gone")
    for run_id, reason in found.broken:
        say(f"{run_id} can't go on: {clean(reason)}")


def _has_parent(running: Runtime, run_id: str) -> bool:
    return bool(running.engine.store.get_run(run_id).parent)


async def _until_patient(running: Runtime, runs: list[str]) -> None:
    waiting = set(runs)
    while waiting:
        waiting = {one for one in waiting if not _is_patient(running.runs.get(one))}
        await asyncio.sleep(POLL if waiting else 0)


def _is_patient(run: Run) -> bool:
    """Tell whether a run is over, or goes on only when somebody acts."""
    if run.state.is_final or run.state is RunState.PAUSED:
        return True
    if run.state is not RunState.WAITING:
        return False
    states = {record.state for record in run.steps.values() if record.state.startswith("waiting")}
    return states <= PATIENT
