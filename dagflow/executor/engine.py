"""The engine: load, decide, append in one transaction; then do what was decided.

It holds the runs it works on in memory, each at a version of the store, and writes with that
version expected: where another process was first, it catches up and decides again. Nothing in
memory is needed to go on after a crash.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from time import monotonic

from dagflow.core.clock import Clock, SystemClock
from dagflow.core.errors import UnavailableError, VersionConflictError
from dagflow.core.plan import Plan
from dagflow.core.run import (
    Begin,
    Claim,
    Event,
    Fail,
    Run,
    Succeed,
    Tick,
)
from dagflow.core.values import JsonObject
from dagflow.executor import faults
from dagflow.executor.aftermath import Aftermath
from dagflow.executor.ahead import Ahead, Decide, Told
from dagflow.executor.attempts import attempt_of
from dagflow.executor.children import perform
from dagflow.executor.decide import decide
from dagflow.executor.dispatch.base import Dispatcher
from dagflow.executor.held import Held, Turn, begun, bounded, catch_up, claims, wake_of
from dagflow.executor.ids import new_run_id
from dagflow.executor.inputs import accepted
from dagflow.executor.live.base import LiveBus
from dagflow.executor.live.process import ProcessBus
from dagflow.executor.machine.index import index_of
from dagflow.executor.mail import SLICE, Mail
from dagflow.executor.roster import Roster
from dagflow.executor.steps.base import Attempt
from dagflow.store.base import RunStore
from dagflow.store.rows import Batch, Header, IdempotencyKey, Message, MessageKey

_log = logging.getLogger(__name__)


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
        self._roster = Roster(store)
        self._mail = Mail(partial(perform, self), dispatcher.again)
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
            known = self._roster.known(plan)
            held = Held(header=header, plan=known or plan, run=begun(header))
            turn = Turn()
            if deadline_at is not None or budget:
                turn.fold(held, bounded(held.run, deadline_at, header.created_at, budget or {}))
            self._take(held, turn, Begin(), header.created_at)
            held.wake_at = wake_of(held, turn, ticked=False)
            batch = turn.batch(held, ())
            new = None if known else plan
            self.reach("before-append")
            run_id = self.store.create(header, batch, plan=new, key=key, answers=answers)
            if run_id == header.id:
                held.run.version = 1
                self._roster.add(held)
                try:
                    self._stored(held, turn, batch, seq=len(turn.changes))
                except BaseException:
                    self._roster.spoil(run_id, 0)
                    raise
                self._mail.deliver()
            return run_id

    def handle(
        self,
        run_id: str,
        *events: Event | Told,
        claimant: Claimant | None = None,
        settled: Sequence[MessageKey] = (),
    ) -> Handled:
        """Take events in one transaction, and with them claim steps that they made ready.

        `settled` leaves the outbox with it. What a chain has `Told` is taken at the times at which
        it happened, or at that of what has happened to the run since. Raises `NotFoundError` for an
        unknown run, `IllegalMoveError` when the plan does not list a move that the events ask for.
        """
        with self._lock:
            while True:
                held = self._current(run_id)
                version = held.run.version
                try:
                    handled = self._handle(held, events, claimant, settled)
                    break
                except VersionConflictError:
                    self._roster.spoil(run_id, version)
                except BaseException:
                    self._roster.spoil(run_id, version)  # it is ahead of what is stored, or behind
                    raise
            self._mail.deliver()
            return handled

    def claim(self, run_id: str, paths: Sequence[str], claimant: Claimant) -> Handled:
        """Claim steps that were rung for; those that are not ready any more are passed over."""
        events = [Claim(path=p, worker=claimant.worker, until=claimant.until) for p in paths]
        return self.handle(run_id, *events)

    def ahead(self, attempt: Attempt, claimant: Claimant) -> Ahead | None:
        """Return the way along the chain that an attempt, just claimed, begins; None if it is none.

        Nothing of what is done on it is recorded before it is told (`Ahead.told`) to `handle`.
        """
        with self._lock:
            held = self._roster.get(attempt.run_id)
            if held is None or not index_of(held.plan).is_fused(attempt.step.path):
                return None
            record = held.run.steps.get(attempt.path)
            if record is None or (record.state, record.token) != ("running", attempt.token):
                return None
            claim = Claim(path=attempt.path, worker=claimant.worker, until=claimant.until)
            now = self.clock.now()
            return Ahead(held.plan, held.run, claim, decide=self._decide, now=now)

    def follow(self, way: Ahead, event: Succeed | Fail) -> Attempt | None:
        """Note how an attempt of a chain ended; return the next one, or None to tell of it now."""
        with self._lock:
            return way.ended(event, self.clock.now())

    def run(self, run_id: str) -> Run:
        """Return a run as it was when last looked at, to read only. Raises `NotFoundError`."""
        with self._lock:
            return self._roster.hold(run_id).run

    def fresh(self, run_id: str) -> Run:
        """Return a run as it is in the database, to read only. Raises `NotFoundError`."""
        with self._lock:
            held = self._current(run_id)
            if self.store.versions([run_id]).get(run_id) != held.run.version:
                self._follow(held)
            return held.run

    def header_of(self, run_id: str) -> Header:
        """Return what is fixed of a run. Raises `NotFoundError`."""
        with self._lock:
            return self._roster.hold(run_id).header

    def plan_of(self, run_id: str) -> Plan:
        """Return the plan of a run. Raises `NotFoundError`."""
        with self._lock:
            held = self._roster.get(run_id)
            return held.plan if held else self._roster.plan(self.store.get_run(run_id).plan)

    def held(self) -> tuple[str, ...]:
        """Return the unfinished runs that this process has taken up."""
        with self._lock:
            return self._roster.ids()

    async def wait(self, run_id: str) -> Run:
        """Return the run when it is over. A worker of this process must be at work on it.

        Raises `trouble_of` the run when it can't go on.
        """
        with self._lock:
            run = self._roster.hold(run_id).run
            if run.state.is_final:
                return run
            end = self._roster.end_of(run_id)
        try:
            return await end
        finally:
            with self._lock:
                self._roster.await_no_more(run_id, end)

    def abandon(self, run_id: str, error: Exception) -> None:
        """Leave a run alone that can't go on, for a reason of our own, and stop its attempts.

        Everyone fails who waits for it, or for a run that waits for it. It is taken up again
        when another process has taken it further, or when it is resumed.
        """
        with self._lock:
            self._roster.abandon(run_id, error)
            self.dispatcher.abandon(run_id)

    def trouble_of(self, run_id: str) -> Exception | None:
        """Return why a run that was taken up can't go on, or a child run that it waits for."""
        with self._lock:
            return self._roster.trouble_of(run_id)

    def is_broken(self, run_id: str) -> bool:
        """Tell whether a run was abandoned here and is left alone."""
        return run_id in self._roster.broken

    @contextmanager
    def apart(self, run_id: str) -> Iterator[None]:
        """Make what is wrong with one run the matter of who waits for it, and of no other run.

        The run is abandoned. That the database can't be used is everybody's matter.
        """
        try:
            yield
        except UnavailableError:
            raise
        except Exception as error:  # noqa: BLE001  # the edge: one run's bug is not the others'
            _log.error("run_broken run_id=%s", run_id, exc_info=error)
            self.abandon(run_id, error)

    def refresh(self) -> None:
        """Catch up with what other processes stored; what takes too long is left to the next look.

        Child runs that they started for runs held here are held here, too.
        """
        with self._lock:
            for run_id in self._roster.behind():
                with self.apart(run_id):
                    self._current(run_id)
            held = self._roster.held()
            looked_at = [*(one.run.id for one in held), *self._roster.broken]
            stored = self.store.versions(looked_at) if looked_at else {}
            self._follow_all(one for one in held if stored.get(one.run.id, 0) > one.run.version)
            for run_id in self._roster.broken.moved(stored):
                with self.apart(run_id):
                    self.resume(run_id)
            self._roster.weed(stored)
            for one in self._roster.held():
                with self.apart(one.run.id):
                    self._adopt(one)
            self._mail.retry()

    def take_up(self, message: Message) -> None:
        """Have a message done that was found in the outbox; `go_on` does it."""
        with self._lock:
            self._mail.add([message])

    def go_on(self) -> None:
        """Do more of what stored batches ask for, where it was too much for one call."""
        with self._lock:
            self._mail.deliver()

    def note_sent(self) -> None:
        """Note which ready steps were handed to the dispatcher and are not claimed yet."""
        with self._lock:
            rung = set(self._aftermath.rung)
            self.store.mark_sent(tuple(rung), self.clock.now())
            self._aftermath.rung -= rung

    def resume(self, run_id: str) -> None:
        """Ring for every ready step of a run, and set its timer, as if it had just been stored."""
        with self._lock:
            held = self._roster.hold(run_id)
            self._roster.broken.forget(run_id)
            self._aftermath.resume(held)
            if held.run.state.is_final:
                self._roster.over(held)

    def _handle(
        self,
        held: Held,
        events: Sequence[Event | Told],
        claimant: Claimant | None,
        settled: Sequence[MessageKey],
    ) -> Handled:
        turn = Turn()
        now = self.clock.now()
        for event in events:
            if isinstance(event, Told):
                self._take_told(held, turn, event)
            else:
                self._take(held, turn, event, now)
        if claimant is not None:
            for claim in claims(turn.bells(), claimant.worker, claimant.until, claimant.slots):
                self._take(held, turn, claim, now)
        before = held.wake_at
        held.wake_at = wake_of(held, turn, ticked=any(isinstance(e, Tick) for e in events))
        if turn.changes or held.wake_at != before:
            batch = turn.batch(held, settled)
            self.reach("before-append")
            seq = self.store.append(batch, expected_version=held.run.version)
            held.run.version += 1
            self._stored(held, turn, batch, seq)
        elif settled:
            self.store.settle(settled)
        running = (path for path in turn.claimed if held.run.steps[path].state == "running")
        attempts = tuple(attempt_of(held.plan, held.run, path) for path in running)
        return Handled(tuple(turn.refused), attempts)

    def _take_told(self, held: Held, turn: Turn, told: Told) -> None:
        """Decide what was done ahead of the log, in its order, up to what is refused."""
        for event, at in told.events:
            late = held.at is not None and held.at > at
            if not self._take(held, turn, event, held.at if late and held.at else at):
                return

    def _take(self, held: Held, turn: Turn, event: Event, now: datetime) -> bool:
        """Decide one event and fold what comes of it into the run in memory.

        Tells whether it was taken.
        """
        decision = self._decide(held.plan, held.run, event, now)
        turn.fold(held, *decision.changes)
        turn.command(decision.commands)
        if decision.refused:
            turn.refused.append(decision.refused)
        elif isinstance(event, Claim):
            turn.claim(event.path)
        return not decision.refused

    def _stored(self, held: Held, turn: Turn, batch: Batch, seq: int) -> None:
        """Do what a stored batch asks for; its messages are left to the outermost call."""
        self.reach("after-append")
        self._mail.add(batch.messages)
        self._aftermath.of_turn(held, turn, batch, seq)
        if self._roster.broken.forget(held.run.id):
            self._aftermath.resume(held)
        if held.run.state.is_final:
            self._roster.over(held)

    def _current(self, run_id: str) -> Held:
        """Return a run; what others stored, or what failed here, is followed first."""
        while self._roster.is_behind(run_id):
            self._follow(self._roster.hold(run_id))
        return self._roster.hold(run_id)

    def _follow(self, held: Held) -> None:
        """Catch up with what others stored, and do what follows from it."""
        with self._roster.following(held) as version:
            self._aftermath.of_others(held, catch_up(held, self.store, version))
        if held.run.state.is_final:
            self._roster.over(held)

    def _follow_all(self, changed: Iterable[Held]) -> None:
        until = monotonic() + SLICE
        for held in changed:
            with self.apart(held.run.id):
                self._follow(held)
            if monotonic() > until:
                return

    def _adopt(self, held: Held) -> None:
        """Take up the child runs that a run waits for."""
        missing = self._roster.missing(held)
        for child in self.store.versions(missing) if missing else ():
            with self.apart(child):
                self.resume(child)
