"""Starting a run in this process, or taking one up again, and showing it until it is over."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator

from dagflow import wiring
from dagflow.cli.output import say
from dagflow.cli.patience import until_patient
from dagflow.cli.progress import Progress
from dagflow.cli.showing import how_to_settle
from dagflow.core.errors import DagflowError
from dagflow.core.events import decode
from dagflow.core.plan import Plan
from dagflow.core.run import StepChanged
from dagflow.core.values import JsonObject
from dagflow.executor.live.base import LiveEvent, Missed, Recorded, Subscription
from dagflow.settings import Settings
from dagflow.wiring import Runtime


async def run_to_end(
    plan: Plan, inputs: JsonObject, settings: Settings, shown: Progress
) -> JsonObject:
    """Submit a run of a plan, show it until it is over, and return it as JSON."""
    await wiring.require(plan, settings)
    async with wiring.runtime(settings, module_paths=wiring.module_folders([plan])) as running:
        run_id = running.runs.submit(plan, inputs)
        say(f"run {run_id}")
        await follow(running, run_id, shown)
        return running.runs.show(run_id)


async def follow(running: Runtime, run_id: str, shown: Progress) -> None:
    """Show a run until it is over. The first Ctrl-C cancels it, the second stops waiting."""
    loop = asyncio.get_running_loop()
    waiting = asyncio.ensure_future(_to_the_end(running, run_id))
    stop = _stopper(running, run_id, waiting)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    watch, family = running.engine.live.subscribe(run_id), running.engine.live.subscribe()
    try:
        with shown:
            watchers = asyncio.gather(
                _watch(watch, shown, running, run_id), _watch_family(family, running, run_id)
            )
            try:
                await waiting
            finally:
                watch.close()
                family.close()
                await watchers
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def _to_the_end(running: Runtime, run_id: str) -> None:
    """Wait for a run, and then for the child runs that it stopped: those may have much to undo."""
    await running.engine.wait(run_id)
    runs = running.runs
    family = running.engine.store.unfinished(family=run_id)
    left = [one for one in family if (up := runs.get(one).parent) and runs.get(up).state.is_final]
    if left:
        say(f"stopped child runs clean up: {', '.join(left)}")
        await until_patient(running.engine, left)


def _stopper(running: Runtime, run_id: str, waiting: asyncio.Future[None]) -> Callable[[], None]:
    asked = False

    def stop() -> None:
        nonlocal asked
        if asked:
            waiting.cancel()
            return
        asked = True
        try:
            running.runs.cancel(run_id, by="signal")
            said = "cancelling"
        except DagflowError as error:  # it is finishing already, or the database is locked
            said = error.message
        say(f"{said}; once more leaves the run to `dagflow runs recover`")

    return stop


async def _watch(watch: Subscription, shown: Progress, running: Runtime, run_id: str) -> None:
    seq = 0
    for stored in running.runs.events(run_id, after=0, limit=10_000):
        seq = stored.seq
        shown.show(Recorded(run_id=run_id, seq=seq, change=decode(stored.body)))
    async for event in watch:
        if isinstance(event, Recorded) and event.seq <= seq:
            continue  # it was stored before we began to watch, and has been shown
        shown.show(event)


async def _watch_family(watch: Subscription, running: Runtime, run_id: str) -> None:
    told: set[str] = set()
    tell_waiting(running, run_id, told)
    async for event in watch:
        if isinstance(event, Missed) or _asks_a_person(event):
            tell_waiting(running, run_id, told)


def _asks_a_person(event: LiveEvent) -> bool:
    if not isinstance(event, Recorded) or not isinstance(event.change, StepChanged):
        return False
    return event.change.after in {"waiting(approval)", "waiting(unknown_outcome)"}


def tell_waiting(running: Runtime, run_id: str, told: set[str]) -> None:
    """Say what of a run and of its child runs waits for a person, once."""
    for one in _family(running, run_id):
        for approval in running.runs.approvals(one):
            if approval.id not in told:
                told.add(approval.id)
                say(f"waits for a person: dagflow approve {approval.id}")
        for step in running.runs.unsettled(one):
            which = f"{one} {step.path} {step.attempt}"  # another attempt is another question
            if which not in told:
                told.add(which)
                say(f"step {step.path}'s outcome is unknown: {how_to_settle(one, step.path)}")


def _family(running: Runtime, run_id: str) -> Iterator[str]:
    """Yield a run and its unfinished descendants."""
    yield run_id
    for child in running.engine.store.children(run_id):
        if child.finished_at is None:
            yield from _family(running, child.id)
