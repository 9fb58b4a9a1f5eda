"""Plays one case: the real engine over a store in memory, on a clock that jumps to what is due.

Nothing waits. At each instant everything that can be done is done, in one order; then the clock
moves to the earliest thing that is due: the end of an attempt, an answer of a person, a timer. At
the same instant the end of an attempt comes before a timer, so that an attempt that `takes` just
as long as its timeout is in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from dagflow.core.clock import FakeClock
from dagflow.core.errors import UsageError
from dagflow.core.node import plain
from dagflow.core.plan import Plan
from dagflow.core.run import (
    Begin,
    ChildEnded,
    Claim,
    Decision,
    Event,
    Fail,
    Run,
    RunState,
    StepFailure,
    StepRecord,
    Succeed,
    Tick,
)
from dagflow.core.values import JsonValue
from dagflow.core.words import listed
from dagflow.executor.decide import decide
from dagflow.executor.dispatch.inline import InlineDispatcher
from dagflow.executor.engine import Engine
from dagflow.executor.machine.ending import failure_of
from dagflow.executor.steps import WORK
from dagflow.executor.steps.base import Attempt
from dagflow.expr.schema import Violation
from dagflow.service.testing.agenda import Agenda, Due, ScriptedStore
from dagflow.service.testing.answers import answered, broken, failing, performed_by
from dagflow.service.testing.cases import Answer
from dagflow.service.testing.difference import place_in
from dagflow.service.testing.failure import FailedError, Failure
from dagflow.service.testing.paths import static_of, whole
from dagflow.service.testing.people import People
from dagflow.service.testing.script import Script, picked
from dagflow.service.testing.trace import Trace
from dagflow.store.rows import Header

RUN_ID: Final = "run_test"
"""Every case has a run of this id: delays and child runs' ids are drawn from it."""
FAR: Final = timedelta(days=36500)
MOST: Final = 200_000
"""Events of one case; a plan's loops are bounded, but may be long."""


@dataclass(frozen=True, slots=True)
class Played:
    """A case that was played to its end: the run, every step by its path from it, and the time."""

    run: Run
    records: Mapping[str, StepRecord]
    trace: Trace
    took: timedelta


class Stage:
    """One case while it is played. `services` are what real python and shell steps need."""

    def __init__(self, script: Script, services: Mapping[str, object]) -> None:
        self.script = script
        self.trace = Trace()
        self._services = services
        self._clock = FakeClock(script.start)
        self._start = self._clock.now()
        self._doorbell = InlineDispatcher()
        store = ScriptedStore(self._stands_in)
        self._engine = Engine(store, self._doorbell, clock=self._clock, decide=self._decide)
        self._due = Agenda()
        self._children: list[Header] = []
        self._people = People(script)

    async def play(self) -> Played:
        """Play the case. Raises `FailedError` where it can't go on as scripted."""
        script, case = self.script, self.script.case
        try:
            self._engine.submit(script.subject.plan, script.inputs, run_id=RUN_ID)
        except UsageError as error:
            place = case.inputs.span if case.inputs is not None else case.name.span
            raise FailedError(Failure(error.message, place, help=error.remedy)) from None
        for act in self._people.unasked():
            self._later(RUN_ID, act.event, act.after, act.said)
        await self._go_on()
        run = self._engine.run(RUN_ID)
        if not run.state.is_final:
            raise FailedError(self._still(run))
        ended = run.finished_at or self._clock.now()
        return Played(run, dict(self._records()), self.trace, ended - self._start)

    def _stands_in(self, header: Header) -> bool:
        """Tell whether the script answers in place of a child run, and keep that it is asked."""
        found = self.script.scripts(header.prefix)
        if found:
            self._children.append(header)
        return found

    def _decide(self, plan: Plan, run: Run, event: Event, now: datetime) -> Decision:
        decision = decide(plan, run, event, now)
        if not (isinstance(event, Begin) and run.prefix and self.script.scripts(run.prefix)):
            self.trace.note(plan, run, decision.changes)
        return decision

    async def _go_on(self) -> None:
        for _ in range(MOST):
            self._engine.go_on()
            self._stop()
            self._ask()
            if not self._doorbell.is_empty:
                await self._claim()
            elif not self._deliver():
                return
            trouble = self._engine.trouble_of(RUN_ID)
            if trouble is not None:
                raise trouble
        said = f"the run did not end within {MOST:,} events"
        raise FailedError(Failure(said, self.script.case.name.span))

    def _stop(self) -> None:
        """Forget the ends of attempts that were stopped."""
        for run_id, path, token in self._doorbell.take_stops():
            self._due.forget(run_id, path, token)

    def _later(
        self, run_id: str, event: Event, after: timedelta, said: Failure | None = None
    ) -> None:
        self._due.add(self._clock.now() + after, run_id, event, said)

    # ── attempts ──

    async def _claim(self) -> None:
        """Claim what is ready, and learn how each attempt will end."""
        until = self._clock.now() + FAR
        attempts: list[Attempt] = []
        for run_id, path in self._doorbell.take(MOST):
            claim = Claim(path=path, worker="test", until=until)
            attempts += self._engine.handle(run_id, claim).attempts
        answers = [self._answer(it) for it in attempts]
        ends = await asyncio.gather(*map(self._end, attempts, answers))
        for attempt, answer, event in zip(attempts, answers, ends, strict=True):
            self._later(attempt.run_id, event, _takes(answer))

    def _answer(self, attempt: Attempt) -> Answer | None:
        if attempt.kind == "tool":
            self.trace.calls[str(attempt.step.body["operation"])] += 1
        return self.script.answer(self._whole(attempt.run_id, attempt.path), attempt.step)

    async def _end(self, attempt: Attempt, answer: Answer | None) -> Succeed | Fail:
        """Return how an attempt ends, as scripted or for real."""
        if answer is None:
            return await self._real(attempt)
        event = await answered(attempt, answer, self._clock)
        if isinstance(event, Violation):
            raise FailedError(_broken(self._whole(attempt.run_id, attempt.path), answer, event))
        return event

    async def _real(self, attempt: Attempt) -> Succeed | Fail:
        """Work for real. The clock stands still meanwhile; the timeout is one of the machine's."""
        work = performed_by(attempt, WORK[attempt.kind], self._services, self._clock)
        try:
            event = await asyncio.wait_for(work, attempt.step.timeout)
        except TimeoutError:
            said = f"the attempt took longer than {attempt.step.timeout:g}s"
            error = StepFailure(error_class="timeout", message=said, attempt=attempt.attempt)
            return Fail(path=attempt.path, token=attempt.token, error=error)
        if isinstance(event, Fail) and event.error.error_class == "sandbox":
            path = self._whole(attempt.run_id, attempt.path)
            said = f"the code of step `{path}` could not run here: {event.error.message}"
            help_ = "script the step instead, or run it on a host with a sandbox"
            raise FailedError(Failure(said, self.script.case.name.span, help=help_))
        return event

    # ── child runs that are scripted, people, and the clock ──

    def _ask(self) -> None:
        """Have whoever is waited for say something, now or later."""
        children, self._children = self._children, []
        for header in children:
            self._answer_for(header)
        for question in self.trace.take_questions():
            record = self._engine.run(question.run_id).steps[question.path]
            waits = record.state == question.state  # what stopped it may have come with it
            act = self._people.act(question, record) if waits else None
            if act is not None:
                self._later(question.run_id, act.event, act.after, act.said)

    def _answer_for(self, header: Header) -> None:
        entry = picked(self.script.steps, header.prefix)
        assert entry is not None
        answer = entry.take()
        output: JsonValue = plain(answer.output) if answer.output is not None else None
        failure = None if answer.error is None else failing(answer.error)
        step = self.script.subject.steps[static_of(header.prefix)]
        wrong = broken(step, output) if failure is None else None
        if wrong is not None:
            raise FailedError(_broken(header.prefix, answer, wrong))
        event = ChildEnded(
            path=header.parent_path,
            state=RunState.SUCCEEDED if failure is None else RunState.FAILED,
            outputs=output,
            error=None if failure is None else failure_of(failure),
            key=header.parent_key,
        )
        self._later(header.parent, event, _takes(answer))

    def _deliver(self) -> bool:
        """Move the clock to what is due next and let it happen; false where nothing is."""
        times = [at for at in (self._doorbell.timers.next(), self._due.next()) if at is not None]
        if not times:
            return False
        self._clock.advance(max(min(times) - self._clock.now(), timedelta(0)))
        due = self._due.take(self._clock.now())
        if due is not None:
            self._hand_over(due)
        else:
            for run_id in self._doorbell.timers.due(self._clock.now()):
                self._engine.handle(run_id, Tick())
        return True

    def _hand_over(self, due: Due) -> None:
        refused = self._engine.handle(due.run_id, due.event).refused
        if refused and due.said is not None:
            raise FailedError(replace(due.said, message=f"{due.said.message}: {refused[0]}"))

    # ── the end ──

    def _records(self) -> Iterator[tuple[str, StepRecord]]:
        for run_id in self.trace.runs:
            for path, record in self._engine.run(run_id).steps.items():
                yield self._whole(run_id, path), record

    def _whole(self, run_id: str, path: str) -> str:
        return whole(self.trace.runs[run_id], path)

    def _still(self, run: Run) -> Failure:
        waiting = [f"`{path}` is {run.steps[path].state}" for path in run.active]
        said = f"the run never ends: {listed(waiting, last='and')}, and nothing is due any more"
        return Failure(said, self.script.case.name.span)


def _broken(path: str, answer: Answer, wrong: Violation) -> Failure:
    """Say that a script breaks a promise, at the part of it that does."""
    help_ = "for an answer that is not as promised, write `error: schema`"
    if answer.status is not None:
        place = answer.span if answer.body is None else answer.body.span
        said = f"the scripted response of step `{path}` is not as promised: {wrong.message}"
        return Failure(said, place, help=help_)
    place = answer.span if answer.output is None else place_in(answer.output, wrong.pointer)
    said = f"the scripted output of step `{path}` breaks its schema {wrong}"
    return Failure(said, place, help=help_)


def _takes(answer: Answer | None) -> timedelta:
    return timedelta(0) if answer is None or answer.takes is None else answer.takes.value
