"""Time: what is due, and when the run's clock stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from dagflow.core.plan import Plan
from dagflow.core.run import HoldChild, Run, RunState, StepFailure, StepRecord
from dagflow.executor.machine import finish
from dagflow.executor.machine.draft import Draft
from dagflow.executor.machine.ending import enlist, fail_attempt, go_to, requeue, succeed
from dagflow.executor.machine.index import Site
from dagflow.executor.machine.loops import note_failed
from dagflow.executor.machine.readiness import earliest
from dagflow.executor.machine.stopping import interrupt

GOING: Final = frozenset({RunState.RUNNING, RunState.WAITING})


def deadline_of(plan: Plan, run: Run, now: datetime) -> datetime | None:
    """Return when the run must be over; time in the queue counts."""
    if plan.deadline is None:
        return run.deadline_at
    own = (run.created_at or now) + timedelta(seconds=plan.deadline)
    return earliest(run.deadline_at, own)


def next_wake(plan: Plan, run: Run) -> datetime | None:
    """Return the earliest time at which a `Tick` would change something, None when there is none.

    Leases are not among them: they end by the clock of the store.
    """
    if run.state.is_final:
        return None
    if run.state is RunState.QUEUED:
        return deadline_of(plan, run, run.created_at) if run.created_at else run.deadline_at
    times = [_next_of(run, run.steps[path]) for path in run.active]
    if run.state is RunState.FINISHING:
        times.append(run.cleanup_deadline_at)
    elif run.clock_stopped_at is None:
        times.append(run.deadline_at)
    return earliest(*times)


def _next_of(run: Run, record: StepRecord) -> datetime | None:
    """Return when something of a step is due; in a pause, attempts and deadlines stand still."""
    if run.paused:
        return None if _stands_still(record) else record.due
    return earliest(record.due, record.deadline_at)


def _stands_still(record: StepRecord) -> bool:
    return record.state in {"running", "waiting(child)"}


def overdue(draft: Draft) -> None:
    """Let the run's own deadlines go off before anything else is looked at."""
    run, now = draft.run, draft.now
    if run.state is RunState.FINISHING:
        if run.cleanup_deadline_at is not None and now >= run.cleanup_deadline_at:
            finish.give_up(draft)
        return
    if run.clock_stopped_at is not None or run.state.is_final or run.paused:
        return
    queued = run.state is RunState.QUEUED
    deadline = deadline_of(draft.plan, run, now) if queued else run.deadline_at
    if deadline is None or now < deadline:
        return
    error = StepFailure(error_class="timeout", message="the run's deadline has passed")
    if queued:
        draft.set_run(RunState.TIMED_OUT, outcome="timed_out", error=error, finished_at=now)
    else:
        finish.stop(draft, "timed_out", error)


def tick(draft: Draft) -> None:
    """Let every timer and deadline of a step go off that is due, the earliest first."""
    run = draft.run
    if run.state.is_final or run.state is RunState.QUEUED:
        return
    for path in [path for _, path in sorted(_due(run, draft.now))]:
        if path in run.active:
            _fire(draft, path, draft.site(path), run.steps[path])
            draft.settle()


def _due(run: Run, now: datetime) -> Iterator[tuple[datetime, str]]:
    for path in run.active:
        at = _next_of(run, run.steps[path])
        if at is not None and at <= now:
            yield at, path


def _fire(draft: Draft, path: str, site: Site, record: StepRecord) -> None:
    at = _next_of(draft.run, record)
    if at is None or at > draft.now:
        return
    if record.deadline_at is not None and record.deadline_at <= draft.now and not draft.run.paused:
        fire_deadline(draft, path, site)
    else:
        _TIMERS[record.state](draft, path, site)


def fire_deadline(draft: Draft, path: str, site: Site) -> None:
    """End a step whose own deadline has passed, whatever it is doing."""
    note_failed(draft, path, site)
    interrupt(draft, path, site)
    miss_deadline(draft, path, site)


def miss_deadline(draft: Draft, path: str, site: Site) -> None:
    """End a step that does nothing any more, but too late."""
    bound = site.step.deadline if site.step.deadline is not None else site.step.timeout
    fail_attempt(draft, path, site, _timeout(f"the deadline of {bound:g}s has passed"), retry=False)


def _attempt_timed_out(draft: Draft, path: str, site: Site) -> None:
    note_failed(draft, path, site)
    interrupt(draft, path, site)
    failure = _timeout(f"the attempt took longer than {site.step.timeout or 0:g}s")
    fail_attempt(draft, path, site, failure)


def _approval_expired(draft: Draft, path: str, site: Site) -> None:
    """Nobody decided. Expiry rejects, fails or goes elsewhere; it never approves."""
    body = site.step.body
    seconds = body.get("expires")
    how = body.get("on_expiry") or "reject"
    message = f"nobody decided within {seconds:g}s"
    if how == "reject":
        failure = StepFailure(error_class="rejected", message=message)
        fail_attempt(draft, path, site, failure)
        return
    failure = StepFailure(error_class="expired", message=message)
    if how == "goto":
        go_to(draft, path, site, failure, str(body.get("goto")))
    else:
        fail_attempt(draft, path, site, failure)


def _signal_expired(draft: Draft, path: str, site: Site) -> None:
    name, seconds = site.step.body.get("signal"), site.step.body.get("expires")
    message = f"no signal {name!r} came within {seconds:g}s"
    fail_attempt(draft, path, site, StepFailure(error_class="expired", message=message))


def _backoff_over(draft: Draft, path: str, site: Site) -> None:
    requeue(draft, path, site)


def _timer_over(draft: Draft, path: str, site: Site) -> None:
    succeed(draft, path, site, None)


_TIMERS: Final[Mapping[str, Callable[[Draft, str, Site], None]]] = {
    "running": _attempt_timed_out,
    "waiting(child)": _attempt_timed_out,
    "waiting(backoff)": _backoff_over,
    "waiting(approval)": _approval_expired,
    "waiting(signal)": _signal_expired,
    "waiting(timer)": _timer_over,
}


def _timeout(message: str) -> StepFailure:
    return StepFailure(error_class="timeout", message=message)


def pause(draft: Draft) -> None:
    """Stop the run's clock and its child runs, and start no step until `resume`."""
    run = draft.run
    stopped = run.clock_stopped_at or draft.now
    draft.set_run(RunState.PAUSED, paused=True, paused_at=draft.now, clock_stopped_at=stopped)
    _hold_children(draft)


def _hold_children(draft: Draft) -> None:
    for path in draft.run.active:
        record = draft.record(path)
        if record.state == "waiting(child)" and draft.site(path).step.kind == "workflow":
            draft.send(HoldChild(key=str(record.data["key"]), paused=draft.run.paused))


def resume(draft: Draft) -> None:
    """Let the clock, the steps and the child runs go on.

    Deadlines and attempts get the time of the pause back.
    """
    run, now = draft.run, draft.now
    assert run.paused_at is not None
    stood = now - run.paused_at
    begun = run.started_at is not None
    fields = {**clock_goes_on(draft), "paused": False, "paused_at": None}
    draft.set_run(RunState.RUNNING if begun else RunState.QUEUED, **fields)
    for path in list(run.active):
        record = run.steps[path]
        _shift(draft, path, record, stood)
        if record.state == "ready":
            enlist(draft, path, draft.site(path))
    if begun and run.done.get("", 0) >= draft.index.top.size:
        draft.later("complete", "", draft.index.top)
    failure = finish.failure_in(draft, draft.index.top)
    if failure is not None and draft.plan.on_failure == "stop":
        finish.stop(draft, "failed", failure)
    _hold_children(draft)


def _shift(draft: Draft, path: str, record: StepRecord, by: timedelta) -> None:
    fields: dict[str, object] = {}
    if record.deadline_at is not None:
        fields["deadline_at"] = record.deadline_at + by
    if record.due is not None and _stands_still(record):
        fields["due"] = record.due + by
    if fields:
        draft.note(path, **fields)
    draft.wake_at(earliest(draft.record(path).due, draft.record(path).deadline_at))


def clock_goes_on(draft: Draft) -> dict[str, object]:
    """Return the fields by which the run gets the time back in which its clock stood still."""
    run = draft.run
    fields: dict[str, object] = {"clock_stopped_at": None}
    if run.deadline_at is not None and run.clock_stopped_at is not None:
        deadline = run.deadline_at + (draft.now - run.clock_stopped_at)
        fields["deadline_at"] = deadline
        draft.wake_at(deadline)
    return fields


def rest(draft: Draft) -> None:
    """Say of a run between two decisions whether it runs or waits, and whether its clock does."""
    run = draft.run
    if run.state not in GOING:
        return
    state = RunState.RUNNING if run.busy else RunState.WAITING
    held = run.holding > 0 and run.busy == 0
    fields: dict[str, object] = {}
    if held and run.clock_stopped_at is None:
        fields["clock_stopped_at"] = draft.now
    elif not held and run.clock_stopped_at is not None:
        fields = clock_goes_on(draft)
    if fields or state is not run.state:
        draft.set_run(state, **fields)
