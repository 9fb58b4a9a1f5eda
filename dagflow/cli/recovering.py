"""Going on with runs whose process died."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from contextlib import closing, suppress

from dagflow import wiring
from dagflow.cli import complain
from dagflow.cli.following import follow, tell_waiting
from dagflow.cli.output import say
from dagflow.cli.patience import until_patient
from dagflow.cli.progress import Progress
from dagflow.core.errors import DamagedError
from dagflow.core.plan import Plan
from dagflow.core.values import JsonObject
from dagflow.executor.recovery import Recovered, recover
from dagflow.settings import Settings
from dagflow.wiring import Runtime


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
        ours = [one for one in whole if one == run_id or _is_first(running, one, found.runs)]
        if run_id is None:
            since = await until_patient(running.engine, whole)
            tell_broken({one: error for one, error in since.items() if one in whole})
            broken |= since
            ours = [one for one in ours if one not in broken]
            for one in ours:
                tell_waiting(running, one, set())
        elif run_id in ours:
            await follow(running, run_id, progress(quiet=False))
        return [running.runs.show(one) for one in ours], list(broken.values())


def _is_first(running: Runtime, run_id: str, runs: Container[str]) -> bool:
    """Tell whether no run above this one is among these: it may be what a stopped one left."""
    return running.runs.get(run_id).parent not in runs


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
