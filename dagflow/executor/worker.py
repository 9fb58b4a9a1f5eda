"""The worker: claims steps that were rung for, does their work, and reports how it ended.

It lives in one asyncio loop. Many attempts wait at once; what ends in the same moment is
reported in one transaction, which also claims the steps that became ready by it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Self

from dagflow.core.errors import DagflowError, UnavailableError
from dagflow.core.run import Event, Fail, LoseLease, Succeed, Tick
from dagflow.executor.ahead import HELD_BACK, Ahead, Told
from dagflow.executor.dispatch.inline import InlineDispatcher
from dagflow.executor.engine import Claimant, Engine
from dagflow.executor.leases import LEASES, LeaseTimes, this_worker
from dagflow.executor.performing import performed
from dagflow.executor.recovery import sweep
from dagflow.executor.steps import WORK
from dagflow.executor.steps.base import Attempt, StepWork
from dagflow.executor.steps.context import SecretSource, WorkContext, no_secrets
from dagflow.executor.underway import Underway

_log = logging.getLogger(__name__)

LOOK_EVERY = 0.5
"""Seconds between two looks for what other processes did to the runs held here.

Bells are noted as rung no sooner: most are answered by then, and need no second transaction.
"""
SWEEP_EVERY = 5.0
"""Seconds between two looks for leases that are lost and messages that nobody handled."""
PATIENCE = 1.0
"""Seconds before a report is tried again on a database that can't be used."""
LONGEST_TIMER = timedelta(hours=1)


class Worker:
    """Works for one engine, as `async with Worker(…):`, on the runs that the engine has taken up.

    With `everything` it also takes up what other processes that are gone have left in the database.
    At the end no attempt runs. Those that were cut off give their leases back; the attempt is not
    counted, unless doing the step twice could do harm: then its outcome is unknown.
    """

    def __init__(
        self,
        engine: Engine,
        doorbell: InlineDispatcher,
        *,
        concurrency: int = 8,
        services: Mapping[str, object] | None = None,
        secrets: SecretSource = no_secrets,
        work: Mapping[str, StepWork] = WORK,
        leases: LeaseTimes = LEASES,
        everything: bool = False,
    ) -> None:
        self.id = str(this_worker())
        self._engine = engine
        self._doorbell = doorbell
        self._concurrency = concurrency
        self._services = services or {}
        self._secrets = secrets
        self._work = work
        self._leases = leases
        self._everything = everything
        self._underway = Underway(self._ended)
        self._ways: dict[asyncio.Task[None], Ahead] = {}
        self._reports: dict[str, list[Event | Told]] = {}
        self._loops: list[asyncio.Task[None]] = []
        self._turn_is_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._extended_at = engine.clock.now()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._doorbell.listen(self._heard)
        habits = ((self._leases.beat.total_seconds(), self.beat),
                  (LOOK_EVERY, self.look), (SWEEP_EVERY, self.sweep))  # fmt: skip
        self._loops = [self._loop.create_task(_every(pause, act)) for pause, act in habits]
        self._turn_soon()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._doorbell.listen(None)
        if self._timer is not None:
            self._timer.cancel()
        for loop in self._loops:
            loop.cancel()
        cut = [(attempt, self._ways.get(task)) for task, attempt in self._underway.all().items()]
        await asyncio.gather(*self._loops, *self._underway.stop_all(), return_exceptions=True)
        self._concurrency = 0
        for attempt, way in cut:
            given = _given_back(attempt) if way is None else way.told(_given_back(way.attempt))
            self._note(attempt.run_id, given)
        self._report_all()
        self._engine.go_on()

    @property
    def load(self) -> int:
        """Return how many attempts run."""
        return len(self._underway)

    def beat(self) -> None:
        """Extend the leases of what runs, and stop what is no longer ours.

        Where the database could not be reached for nearly a lease's length, everything is
        stopped: another worker may begin it again.
        """
        now = self._engine.clock.now()
        until = now + self._leases.length
        held = self._underway.leases(self.id, until)
        try:
            lost = self._engine.store.extend(held, until) if held else ()
        except UnavailableError:
            if now - self._extended_at > self._leases.length - self._leases.margin:
                self._underway.stop_all()
            raise
        self._extended_at = now
        for lease in lost:
            self._underway.stop(lease.run_id, lease.path, lease.token)

    def look(self) -> None:
        """Catch up with what other processes did, and say which bells are rung."""
        self._engine.refresh()
        self._engine.note_sent()

    def sweep(self) -> None:
        """Do what workers that are gone have left undone."""
        sweep(self._engine, everything=self._everything)

    def _heard(self) -> None:
        """Note that something is to be done; from any thread."""
        if threading.get_ident() == self._thread:
            self._turn_soon()
        else:
            self._loop.call_soon_threadsafe(self._turn_soon)

    def _turn_soon(self) -> None:
        if not self._turn_is_due:
            self._turn_is_due = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Do everything that is to be done now."""
        self._turn_is_due = False
        self._engine.go_on()
        for run_id, path, token in self._doorbell.take_stops():
            self._underway.stop(run_id, path, token)
        self._stop_abandoned()
        for run_id in self._doorbell.timers.due(self._engine.clock.now()):
            self._note(run_id, Tick())
        self._report_all()
        self._claim_all()
        self._set_timer()

    def _report_all(self) -> None:
        reports, self._reports = self._reports, {}
        for run_id, events in reports.items():
            self._safely(run_id, partial(self._report, run_id, events))

    def _report(self, run_id: str, events: list[Event | Told]) -> None:
        slots = self._slots if self._doorbell.is_empty else 0
        self._engine.reach("before-report")
        try:
            handled = self._engine.handle(run_id, *events, claimant=self._claimant(slots))
        except UnavailableError:
            self._reports[run_id] = [*events, *self._reports.get(run_id, [])]
            raise
        self._engine.reach("after-report")
        self._start(handled.attempts)

    def _claim_all(self) -> None:
        """Claim what was rung for while there is room: a bell out of date takes up none."""
        reached = True
        while reached and self._slots and not self._doorbell.is_empty:
            rung: dict[str, list[str]] = {}
            for run_id, path in self._doorbell.take(self._slots):
                rung.setdefault(run_id, []).append(path)
            for run_id, paths in rung.items():
                reached &= self._safely(run_id, partial(self._claim, run_id, paths))

    def _claim(self, run_id: str, paths: list[str]) -> None:
        try:
            handled = self._engine.claim(run_id, paths, self._claimant(len(paths)))
        except UnavailableError:
            for path in paths:
                self._doorbell.ring(run_id, path, "default", 5)
            raise
        self._start(handled.attempts)

    def _stop_abandoned(self) -> None:
        for run_id in self._doorbell.take_abandoned():
            self._underway.stop_run(run_id)

    def _start(self, attempts: tuple[Attempt, ...]) -> None:
        self._stop_abandoned()  # before a run that was taken up again has new ones
        for attempt in attempts:
            self._engine.reach("after-claim")
            self._underway.start(attempt, self._perform(attempt))

    async def _perform(self, attempt: Attempt) -> None:
        """Make an attempt and what follows it in its chain, and note what there is to report."""
        way = self._engine.ahead(attempt, self._claimant(1))
        if way is None:
            self._note(attempt.run_id, await self._made(attempt))
        else:
            await self._go_along(way)

    async def _go_along(self, way: Ahead) -> None:
        """Make the attempts of a chain, and note them together.

        They are told before, where one of them takes long.
        """
        task = asyncio.current_task()
        assert task is not None
        self._ways[task] = way
        timer = self._loop.call_later(HELD_BACK.total_seconds(), self._catch_up, task)
        try:
            following: Attempt | None = way.attempt
            while following is not None:
                following = self._engine.follow(way, await self._made(following))
                await asyncio.sleep(0)  # others want to go on, too
            self._note(way.attempt.run_id, way.told())
        finally:
            timer.cancel()
            del self._ways[task]

    def _catch_up(self, task: asyncio.Task[None]) -> None:
        """Tell what a chain has done so far, while it is at a step that takes long."""
        way = self._ways.get(task)
        if way is not None and way.has_untold:
            self._safely(way.attempt.run_id, partial(self._tell, task, way))

    def _tell(self, task: asyncio.Task[None], way: Ahead) -> None:
        told = way.told()
        try:
            handled = self._engine.handle(way.attempt.run_id, told)
        except UnavailableError:
            way.untell(told)
            self._loop.call_later(PATIENCE, self._catch_up, task)
            raise
        if any(way.is_at(attempt) for attempt in handled.attempts):
            self._underway.becomes(task, way.attempt)
        else:
            task.cancel()  # it is not its turn any more
        self._start(tuple(it for it in handled.attempts if not way.is_at(it)))

    async def _made(self, attempt: Attempt) -> Succeed | Fail:
        context = WorkContext(
            attempt,
            clock=self._engine.clock,
            live=self._engine.live,
            secrets=self._secrets,
            services=self._services,
        )
        self._engine.reach("before-work")
        event = await performed(attempt, context, self._work[attempt.kind])
        self._engine.reach("after-work")
        return event

    def _note(self, run_id: str, event: Event | Told) -> None:
        """Keep an event for the next report of its run."""
        self._reports.setdefault(run_id, []).append(event)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            _log.error("worker_broke", exc_info=task.exception())
        self._turn_soon()

    @property
    def _slots(self) -> int:
        return max(0, self._concurrency - len(self._underway))

    def _claimant(self, slots: int) -> Claimant:
        until = self._engine.clock.now() + self._leases.length
        return Claimant(worker=self.id, until=until, slots=slots)

    def _safely(self, run_id: str, act: Callable[[], None]) -> bool:
        """Do something for one run; whatever goes wrong with it is not the other runs' matter.

        Tells whether the database could be reached.
        """
        try:
            with self._engine.apart(run_id):
                act()
        except UnavailableError as error:
            _log.warning("database_unavailable run_id=%s reason=%s", run_id, error.message)
            self._loop.call_later(PATIENCE, self._turn_soon)
            return False
        return True

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        at = self._doorbell.timers.next()
        if at is not None:
            left = min(at - self._engine.clock.now(), LONGEST_TIMER)
            self._timer = self._loop.call_later(left.total_seconds(), self._turn_soon)


def _given_back(attempt: Attempt) -> LoseLease:
    released = attempt.step.effects != "once"
    return LoseLease(path=attempt.path, token=attempt.token, released=released)


async def _every(pause: float, act: Callable[[], None]) -> None:
    """Do something again and again; a failure is logged and is not the last time."""
    while True:
        await asyncio.sleep(pause)
        try:
            act()
        except DagflowError as error:
            _log.warning("%s_failed reason=%s", act.__name__, error.message)
        except Exception:  # noqa: BLE001  # the edge: the habit must go on
            _log.exception("%s_failed", act.__name__)
