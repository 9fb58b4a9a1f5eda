"""The engine: load, decide, append in one transaction; then do what was decided.

It holds the runs it works on in memory, each at a version of the store, and writes with that
version expected: where another process was first, it catches up and decides again. Nothing in
memory is needed to go on after a crash.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from dagflow.core.clock import Clock, SystemClock
from dagflow.core.errors import UnavailableError, VersionConflictError
from dagflow.core.plan import Plan
from dagflow.core.run import (
    Begin,
    Claim,
    Decision,
    Event,
    Run,
    Tick,
    WakeAt,
)
from dagflow.core.values import JsonObject
from dagflow.executor import faults
from dagflow.executor.aftermath import Aftermath
from dagflow.executor.attempts import attempt_of
from dagflow.executor.children import awaited, perform
from dagflow.executor.decide import decide, next_wake
from dagflow.executor.dispatch.base import Dispatcher
from dagflow.executor.held import Held, Turn, begun, bounded, catch_up, claims, loaded
from dagflow.executor.ids import new_run_id
from dagflow.executor.inputs import accepted
from dagflow.executor.live.base import LiveBus
from dagflow.executor.live.process import ProcessBus
from dagflow.executor.steps.base import Attempt
from dagflow.executor.waiters import Waiters
from dagflow.store.base import RunStore
from dagflow.store.rows import Batch, Header, IdempotencyKey, MessageKey

_log = logging.getLogger(__name__)

KEPT: Final = 4
"""Runs that are over and were asked for again, kept in memory: a family's stopped child runs tell
what they used one after another, and each telling would read the whole log.
"""

Decide: TypeAlias = Callable[[Plan, Run, Event, datetime], Decision]


@dataclass(frozen=True, slots=True)
class Claimant:
    """A worker with room for `slots` more attempts, whose claims hold until `until`."""

    worker: str
    until: datetime
    slots: int


@dataclass(frozen=True, slots=True)
class Handled:
    """What became of some events: why each refused one was, and the attempts claimed with them."""

    refused: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()


class Engine:
    """Runs plans. Safe to call from several threads; every method is short and never waits.

    Every method raises `UnavailableError` when the database can't be used, and has then done
    nothing.
    """

    def __init__(
        self,
        store: RunStore,
        dispatcher: Dispatcher,
        *,
        clock: Clock | None = None,
        ids: Callable[[datetime], str] = new_run_id,
        live: LiveBus | None = None,
        reach: faults.Reach = faults.nothing,
        decide: Decide = decide,
    ) -> None:
        self.store = store
        self.dispatcher = dispatcher
        self.clock = clock or SystemClock()
        self.live = live or ProcessBus()
        self.reach = reach
        self._ids = ids
        self._decide = decide
        self._lock = threading.RLock()
        self._held: dict[str, Held] = {}
        self._over_runs: dict[str, Held] = {}
        self._plans: dict[str, Plan] = {}
        self._waiters = Waiters()
        self._aftermath = Aftermath(dispatcher, self.live, reach)

    def submit(
        self,
        plan: Plan,
        inputs: JsonObject,
        *,
        key: IdempotencyKey | None = None,
        deadline_at: datetime | None = None,
        run_id: str = "",
    ) -> str:
        """Start a run and return its id, or that of the run that the same key started before.

        Defaults are filled in. Raises `UsageError` when the inputs don't fit the plan's schema,
        `ConflictError` when the key was used with another fingerprint.
        """
        given = accepted(plan, inputs)
        now = self.clock.now()
        run_id = run_id or self._ids(now)
        header = Header(
            id=run_id,
            plan=plan.digest,
            workflow=plan.name,
            workflow_version=plan.version,
            inputs=given,
            root=run_id,
            created_at=now,
        )
        return self.start(plan, header, key=key, deadline_at=deadline_at)

    def start(
        self,
        plan: Plan,
        header: Header,
        *,
        budget: JsonObject | None = None,
        key: IdempotencyKey | None = None,
        deadline_at: datetime | None = None,
        answers: MessageKey | None = None,
    ) -> str:
        """Create a run with this header, its inputs checked already, and begin it.

        `answers` is the message that asked for it. Raises `ConflictError` when the run exists, or
        when the message is gone from the outbox.
        """
        with self._lock:
            held = Held(header=header, plan=self._plans.get(plan.digest, plan), run=begun(header))
            turn = Turn()
            if deadline_at is not None or budget:
                turn.fold(held, bounded(held.run, deadline_at, header.created_at, budget or {}))
            self._take(held, turn, Begin(), header.created_at)
            held.wake_at = _wake(held, turn, ticked=False)
            batch = turn.batch(held, ())
            new = None if plan.digest in self._plans else plan
            self.reach("before-append")
            run_id = self.store.create(header, batch, plan=new, key=key, answers=answers)
            self._plans[plan.digest] = held.plan
            if run_id == header.id:
                held.run.version = 1
                self._held[run_id] = held
                self._stored(held, turn, batch, seq=len(turn.changes))
            return run_id

    def handle(
        self,
        run_id: str,
        *events: Event,
        claimant: Claimant | None = None,
        settled: Sequence[MessageKey] = (),
    ) -> Handled:
        """Take events in one transaction, and with them claim steps that they made ready.

        `settled` leaves the outbox with it. Raises `NotFoundError` for an unknown run,
        `IllegalMoveError` when the plan does not list a move that the events ask for.
        """
        with self._lock:
            while True:
                held = self._hold(run_id)
                version = held.run.version
                try:
                    return self._handle(held, events, claimant, settled)
                except VersionConflictError:
                    self._forget(run_id)
                    self._catch_up(self._hold(run_id), version)
                except BaseException:
                    self._forget(run_id)  # it is ahead of what is stored
                    raise

    def claim(self, run_id: str, paths: Sequence[str], claimant: Claimant) -> Handled:
        """Claim steps that were rung for; those that are not ready any more are passed over."""
        events = [Claim(path=p, worker=claimant.worker, until=claimant.until) for p in paths]
        return self.handle(run_id, *events)

    def run(self, run_id: str) -> Run:
        """Return a run as it is now, to read only. Raises `NotFoundError`."""
        with self._lock:
            return self._hold(run_id).run

    def header_of(self, run_id: str) -> Header:
        """Return what is fixed of a run. Raises `NotFoundError`."""
        with self._lock:
            return self._hold(run_id).header

    def plan_of(self, run_id: str) -> Plan:
        """Return the plan of a run. Raises `NotFoundError`."""
        with self._lock:
            held = self._held.get(run_id)
            return self._plan(self.store.get_run(run_id).plan) if held is None else held.plan

    def held(self) -> tuple[str, ...]:
        """Return the unfinished runs that this process has taken up."""
        with self._lock:
            return tuple(self._held)

    async def wait(self, run_id: str) -> Run:
        """Return the run when it is over. A worker of this process must be at work on it.

        Raises what `abandon` was given when the run can't go on.
        """
        with self._lock:
            run = self._hold(run_id).run
            if run.state.is_final:
                return run
            future = self._waiters.add(run_id)
        return await future

    def abandon(self, run_id: str, error: Exception) -> None:
        """Make everyone who waits for the run fail: it can't go on, for a reason of our own."""
        with self._lock:
            self._held.pop(run_id, None)
            self._waiters.fail(run_id, error)

    @contextmanager
    def apart(self, run_id: str, broken: dict[str, Exception] | None = None) -> Iterator[None]:
        """Make what is wrong with one run the matter of who waits for it, and of no other run.

        Its error is added to `broken`. That the database can't be used is everybody's matter.
        """
        try:
            yield
        except UnavailableError:
            raise
        except Exception as error:  # noqa: BLE001  # the edge: one run's bug is not the others'
            _log.error("run_broken run_id=%s", run_id, exc_info=error)
            self.abandon(run_id, error)
            if broken is not None:
                broken[run_id] = error

    def refresh(self) -> tuple[str, ...]:
        """Catch up with what other processes stored, and return the runs that they changed.

        Child runs that they started for runs held here are held here, too.
        """
        with self._lock:
            stored = self.store.versions(list(self._held)) if self._held else {}
            held = [self._held[run_id] for run_id in stored]
            changed = [one for one in held if stored[one.run.id] > one.run.version]
            for one in changed:
                with self.apart(one.run.id):
                    version = one.run.version
                    catch_up(one, self.store)
                    self._catch_up(one, version)
            for one in list(self._held.values()):
                with self.apart(one.run.id):
                    self._adopt(one)
            return tuple(one.run.id for one in changed)

    def note_sent(self) -> None:
        """Note which ready steps were handed to the dispatcher and are not claimed yet."""
        with self._lock:
            rung = set(self._aftermath.rung)
            self.store.mark_sent(tuple(rung), self.clock.now())
            self._aftermath.rung -= rung

    def resume(self, run_id: str) -> None:
        """Ring for every ready step of a run, and set its timer, as if it had just been stored."""
        with self._lock:
            held = self._hold(run_id)
            self._aftermath.resume(held)
            if held.run.state.is_final:
                self._over(held)

    def _handle(
        self,
        held: Held,
        events: Sequence[Event],
        claimant: Claimant | None,
        settled: Sequence[MessageKey],
    ) -> Handled:
        turn = Turn()
        now = self.clock.now()
        for event in events:
            self._take(held, turn, event, now)
        if claimant is not None:
            for claim in claims(turn.bells(), claimant.worker, claimant.until, claimant.slots):
                self._take(held, turn, claim, now)
        before = held.wake_at
        held.wake_at = _wake(held, turn, ticked=any(isinstance(e, Tick) for e in events))
        if turn.changes or held.wake_at != before:
            batch = turn.batch(held, settled)
            self.reach("before-append")
            seq = self.store.append(batch, expected_version=held.run.version)
            held.run.version += 1
            self._stored(held, turn, batch, seq)
        elif settled:
            self.store.settle(settled)
        attempts = tuple(attempt_of(held.plan, held.run, path) for path in turn.claimed)
        return Handled(tuple(turn.refused), attempts)

    def _take(self, held: Held, turn: Turn, event: Event, now: datetime) -> None:
        """Decide one event and fold what comes of it into the run in memory."""
        decision = self._decide(held.plan, held.run, event, now)
        if decision.refused:
            turn.refused.append(decision.refused)
        elif isinstance(event, Claim):
            turn.claimed.append(event.path)
        turn.fold(held, *decision.changes)
        turn.commands.extend(decision.commands)

    def _stored(self, held: Held, turn: Turn, batch: Batch, seq: int) -> None:
        """Do what a stored batch asks for."""
        self.reach("after-append")
        self._aftermath.of_turn(held, turn, batch, seq)
        if held.run.state.is_final:
            self._over(held)
        for message in batch.messages:
            perform(self, message)

    def _catch_up(self, held: Held, version: int) -> None:
        """Do what follows from batches that others stored after `version`."""
        self._aftermath.of_others(held, self.store.load(held.run.id, after=version))
        if held.run.state.is_final:
            self._over(held)

    def _adopt(self, held: Held) -> None:
        """Take up the child runs that a run waits for."""
        missing = [run for run in awaited(held.plan, held.run) if run not in self._held]
        for child in self.store.versions(missing) if missing else ():
            self.resume(child)

    def _over(self, held: Held) -> None:
        """Tell who waits for a run that it is over, and hold it no longer."""
        self._held.pop(held.run.id, None)
        self._waiters.finish(held.run)

    def _hold(self, run_id: str) -> Held:
        held = self._held.get(run_id) or self._unchanged(run_id)
        if held is None:
            stored = self.store.load(run_id)
            held = loaded(stored, self._plan(stored.header.plan))
        if held.run.state.is_final:
            self._keep(held)
        else:
            self._held[run_id] = held
        return held

    def _unchanged(self, run_id: str) -> Held | None:
        """Return a kept run that is over, if nothing was added to it elsewhere."""
        held = self._over_runs.get(run_id)
        if held is None or self.store.versions([run_id]).get(run_id) != held.run.version:
            return None
        return held

    def _keep(self, held: Held) -> None:
        self._over_runs.pop(held.run.id, None)
        self._over_runs[held.run.id] = held
        while len(self._over_runs) > KEPT:
            del self._over_runs[next(iter(self._over_runs))]

    def _forget(self, run_id: str) -> None:
        self._held.pop(run_id, None)
        self._over_runs.pop(run_id, None)

    def _plan(self, digest: str) -> Plan:
        if digest not in self._plans:
            self._plans[digest] = self.store.get_plan(digest)
        return self._plans[digest]


def _wake(held: Held, turn: Turn, *, ticked: bool) -> datetime | None:
    """Return a time no later than anything that the run must wake for.

    Going through all steps for the exact time is left to ticks: an early tick is harmless.
    """
    if held.run.state.is_final:
        return None
    if ticked:
        return next_wake(held.plan, held.run)
    times = [command.at for command in turn.commands if isinstance(command, WakeAt)]
    return min([*times, *([held.wake_at] if held.wake_at else [])], default=None)
