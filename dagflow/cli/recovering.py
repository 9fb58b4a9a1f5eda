"""Going on with runs whose process died."""

from __future__ import annotations

from collections.abc import Callable

from dagflow import wiring
from dagflow.cli.following import follow
from dagflow.cli.output import say
from dagflow.cli.progress import Progress
from dagflow.core.values import JsonObject
from dagflow.executor.recovery import recover
from dagflow.settings import Settings


async def recover_runs(
    settings: Settings, run_id: str | None, progress: Callable[..., Progress]
) -> list[JsonObject]:
    """Recover one run, or all that are not over; follow each to its end and return them.

    A run that waits for a person or a signal is left waiting: it needs no process.
    """
    views = []
    async with wiring.runtime(settings) as running:
        recovered = recover(running.engine, run_id)
        for found in recovered:
            say(f"recovering {found}")
            await follow(running, found, progress(quiet=False))
            views.append(running.runs.show(found))
    return views
