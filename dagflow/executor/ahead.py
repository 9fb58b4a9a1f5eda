"""Fused chains: steps that a worker does one after another before it tells of them.

The worker goes ahead of the log: what comes next is decided by the same pure `decide`, on a run
as it will be once the log has caught up. Then all of it is told in one transaction, in which
everything is decided anew: what has happened to the run meanwhile counts, and the first report
that is void makes all behind it void. What a crash loses is done again, which the compiler found
to be harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from dagflow.core.errors import DagflowError
from dagflow.core.plan import Plan
from dagflow.core.run import Claim, Decision, Event, Fail, Run, RunState, Succeed
from dagflow.executor.attempts import attempt_of, step_of
from dagflow.executor.machine.index import index_of
from dagflow.executor.machine.overlay import Shadow
from dagflow.executor.machine.paths import frame_of, within
from dagflow.executor.steps.base import Attempt

Decide: TypeAlias = Callable[[Plan, Run, Event, datetime], Decision]

HELD_BACK: Final = timedelta(milliseconds=500)
"""How long what a chain has done may stay untold."""

_GOING: Final = frozenset({RunState.RUNNING, RunState.WAITING, RunState.FINISHING})


@dataclass(frozen=True, slots=True)
class Told:
    """Events in their order with their times; one that is refused makes all behind it void."""

    events: tuple[tuple[Event, datetime], ...]


class Ahead:
    """A worker on its way along a chain: what it does now, and what it has not told yet.

    `attempt` is the one that it makes now, or made last. `run` is the run that the way began at:
    it is never written.
    """

    def __init__(
        self, plan: Plan, run: Run, claim: Claim, *, decide: Decide, now: datetime
    ) -> None:
        self.run = run
        self.attempt = attempt_of(plan, run, claim.path)
        self._plan = plan
        self._then = Shadow(run)
        self._claim = claim
        self._decide = decide
        self._begun = now
        self._left = iter(index_of(plan).behind(self.attempt.step.path))
        self._untold: list[tuple[Event, datetime]] = []

    @property
    def has_untold(self) -> bool:
        """Tell whether something was done that nobody knows of."""
        return bool(self._untold)

    def told(self, *more: Event) -> Told:
        """Return what to tell, and count it as told; `more` is said at the end."""
        untold, self._untold = self._untold, []
        last = untold[-1][1] if untold else self._begun
        return Told((*untold, *((event, last) for event in more)))

    def untell(self, told: Told) -> None:
        """Take back that something was told: it has not come through."""
        self._untold[:0] = told.events

    def is_at(self, attempt: Attempt) -> bool:
        """Tell whether this is the attempt that is being made."""
        mine = self.attempt
        return (mine.path, mine.token) == (attempt.path, attempt.token)

    def ended(self, event: Succeed | Fail, now: datetime) -> Attempt | None:
        """Note how the attempt ended, and return the one to make next without telling anybody.

        None where all is to be told now: the chain is over, or it has taken `HELD_BACK`, or the
        step did not succeed, or what comes next depends on more than that.
        """
        self._untold.append((event, now))
        run = self.run
        if run.paused or run.state not in _GOING or now - self._begun >= HELD_BACK:
            return None
        try:
            return self._next(now) if self._take(event, now) else None
        except DagflowError:  # decided again when it is told, it is the run's own matter
            return None

    def _next(self, now: datetime) -> Attempt | None:
        frame = frame_of(self.attempt.path)
        for name in self._left:
            path = within(frame, name)
            record = self._then.steps.get(path)
            if record is not None and record.is_final:
                continue
            if record is None or record.state != "ready" or _is_once(self._plan, path):
                return None
            claim = Claim(path=path, worker=self._claim.worker, until=self._claim.until)
            if not self._take(claim, now):
                return None
            self._untold.append((claim, now))
            self.attempt = attempt_of(self._plan, self._then, path)
            return self.attempt
        return None

    def _take(self, event: Event, now: datetime) -> bool:
        """Fold an event into the run as it will be; tell whether it was taken."""
        decision = self._decide(self._plan, self._then, event, now)
        for change in decision.changes:
            self._then.apply(change)
        return not decision.refused


def _is_once(plan: Plan, path: str) -> bool:
    """Tell whether a step must be recorded as begun before it begins, whatever its plan says."""
    return step_of(plan, path).effects == "once"
