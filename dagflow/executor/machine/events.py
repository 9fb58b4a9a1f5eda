"""What each event does to a run: a function each, which may refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from math import inf
from typing import Any, Final

from dagflow.core.clock import instant
from dagflow.core.errors import StepError
from dagflow.core.run import (
    Begin,
    Cancel,
    ChildEnded,
    Claim,
    Decide,
    Fail,
    LoseLease,
    Pause,
    Resume,
    RunState,
    Settle,
    Signal,
    SignalArrived,
    StepFailure,
    StepRecord,
    Succeed,
    Tick,
)
from dagflow.core.values import JsonObject
from dagflow.executor.machine import budget, clock, finish
from dagflow.executor.machine.draft import Draft, Refused
from dagflow.executor.machine.ending import (
    accept,
    checked,
    fail_attempt,
    failure_of,
    requeue,
    succeed,
    wait_for_person,
)
from dagflow.executor.machine.index import Site
from dagflow.executor.machine.kinds import child_failure, take_signal
from dagflow.executor.machine.readiness import earliest, open_frame

_CLAIMABLE: Final = frozenset({RunState.RUNNING, RunState.WAITING, RunState.FINISHING})
_PAUSABLE: Final = frozenset({RunState.QUEUED, RunState.RUNNING, RunState.WAITING})
_COUNTED_HERE: Final = frozenset({"tool_calls", "items"})


def begin(draft: Draft, event: Begin) -> None:  # noqa: ARG001  # as every event
    """Start a queued run. Steps that came with it, pinned from an earlier run, stay as they are."""
    run = draft.run
    if run.state is not RunState.QUEUED:
        raise Refused(f"run {run.id} is {run.state.value}, not queued")
    deadline = clock.deadline_of(draft.plan, run, draft.now)
    fields = {} if deadline == run.deadline_at else {"deadline_at": deadline}
    draft.set_run(RunState.RUNNING, started_at=draft.now, **fields)
    draft.wake_at(deadline)
    top = draft.index.top
    open_frame(draft, "", top)
    if run.done.get("", 0):
        for site in top.sites.values():
            draft.later("consider", site, "", "")
        if run.done[""] >= top.size:
            draft.later("complete", "", top)


def claim(draft: Draft, event: Claim) -> None:
    """Give a ready step to a worker. One out of time or budget fails instead, and is refused."""
    path, site = event.path, draft.site(event.path)
    record = draft.record(path)
    if record.state != "ready" or site.in_engine:
        raise Refused(f"step {path} is {record.state}, not ready to be claimed")
    if draft.run.state not in _CLAIMABLE:
        raise Refused(f"run {draft.run.id} is {draft.run.state.value}: it starts no step")
    if record.deadline_at is not None and record.deadline_at <= draft.now:
        clock.fire_deadline(draft, path, site)
        raise Refused(f"the deadline of step {path} has passed")
    spent = budget.spent(draft, site)
    if spent:
        failure = StepFailure(error_class="budget", message=spent)
        fail_attempt(draft, path, site, failure, retry=False)
        raise Refused(spent)
    if waits := budget.held_back(draft, path, site):
        budget.hold(draft, path)
        raise Refused(waits)
    if site.step.kind == "tool":
        budget.use(draft, {"tool_calls": 1})
    _hand_over(draft, event, site, record)


def _hand_over(draft: Draft, event: Claim, site: Site, record: StepRecord) -> None:
    timeout = site.step.timeout
    end = None if timeout is None else draft.now + timedelta(seconds=timeout)
    due = earliest(end, record.deadline_at)
    draft.move(
        event.path,
        site,
        "running",
        token=record.token + 1,
        attempt=record.attempt + 1,
        worker=event.worker,
        lease_until=event.until,
        started_at=draft.now,
        due=due,
    )
    draft.wake_at(due)


def _held(draft: Draft, path: str, token: int) -> tuple[Site, StepRecord]:
    """Return the running step that a report speaks of. Raises `Refused` for a void report."""
    site, record = draft.site(path), draft.record(path)
    if record.state != "running" or record.token != token:
        raise Refused(
            f"the report of step {path} with token {token} is void: "
            f"the step is {record.state} with token {record.token}"
        )
    return site, record


def _use(draft: Draft, used: JsonObject) -> None:
    """Add up what an attempt used; what the engine counts itself is not counted twice."""
    budget.use(draft, {n: amount for n, amount in used.items() if n not in _COUNTED_HERE})


def succeeded(draft: Draft, event: Succeed) -> None:
    """Take an attempt's output, unless the step's deadline was missed or the output is wrong."""
    site, record = _held(draft, event.path, event.token)
    _use(draft, event.used)
    if record.deadline_at is not None and record.deadline_at <= draft.now:
        clock.miss_deadline(draft, event.path, site)
    else:
        accept(draft, event.path, site, event.output)


def failed(draft: Draft, event: Fail) -> None:
    """Take an attempt's failure."""
    site, _ = _held(draft, event.path, event.token)
    _use(draft, event.used)
    fail_attempt(draft, event.path, site, event.error, unsent=event.unsent)


def lost(draft: Draft, event: LoseLease) -> None:
    """Take a step back from a worker that is gone, or that gave it back as it was stopped."""
    site, record = _held(draft, event.path, event.token)
    budget.forfeit(draft, site)
    if event.released:
        requeue(draft, event.path, site, attempt=record.attempt - 1)
        return
    failure = StepFailure(
        error_class="lost", message=f"worker {record.worker!r} was lost", attempt=record.attempt
    )
    if site.step.effects != "once":
        fail_attempt(draft, event.path, site, failure)
    elif any("lost" in handler.on for handler in site.step.on_error):
        fail_attempt(draft, event.path, site, failure, retry=False)
    else:
        wait_for_person(draft, event.path, site, failure)


def tick(draft: Draft, event: Tick) -> None:  # noqa: ARG001  # as every event
    """Let everything go off that is due."""
    clock.tick(draft)


def decided(draft: Draft, event: Decide) -> None:
    """Take a person's answer, once, for exactly the arguments that they saw, in time."""
    site, record = draft.site(event.path), draft.record(event.path)
    if record.state != "waiting(approval)":
        raise Refused(f"step {event.path} is {record.state}: there is nothing to decide")
    if event.arguments != record.data["hash"]:
        raise Refused("the answer is for other arguments than this approval releases")
    if record.due is not None and record.due <= draft.now:
        raise Refused(f"the approval {event.path} has expired")
    if event.approve:
        at = instant(draft.now)
        succeed(draft, event.path, site, {"by": event.by, "at": at, "comment": event.comment})
        return
    said = f"rejected by {event.by}" + (f": {event.comment}" if event.comment else "")
    fail_attempt(draft, event.path, site, StepFailure(error_class="rejected", message=said))


def signalled(draft: Draft, event: Signal) -> None:
    """Take a signal, if some step may still consume it and its payload has that step's type."""
    name = event.name
    waiting = _waiting_for(draft, name)
    takers = [] if draft.run.state.is_final else _takers(draft, name)
    room = sum(size for _, size in takers)
    if room <= len(draft.run.signals.get(name, ())):
        raise Refused(f"no step can still take a signal {name!r}")
    site = draft.site(waiting) if waiting else takers[0][0]
    try:
        payload = checked(draft, site, event.payload)
    except StepError as error:
        raise Refused(f"the payload of signal {name!r} has the wrong type: {error}") from None
    draft.apply(SignalArrived(name=name, payload=payload, at=draft.now))
    if waiting:
        take_signal(draft, waiting, site, name)


def _waiting_for(draft: Draft, name: str) -> str | None:
    """Return the step that has waited longest for a signal."""
    found = [
        (record.started_at, record.path)
        for record in (draft.run.steps[path] for path in draft.run.active)
        if record.state == "waiting(signal)" and record.data.get("signal") == name
    ]
    return min(found)[1] if found else None


def _takers(draft: Draft, name: str) -> list[tuple[Site, float]]:
    """Return the steps that may still take a signal, with how many each may take."""
    finishing = draft.run.state is RunState.FINISHING
    found: list[tuple[Site, float]] = []
    for site in draft.index.signals.get(name, ()):
        outermost, size = site, 1.0
        while outermost.block.owner is not None:
            outermost, size = outermost.block.owner, inf
        if outermost.of is not None or site.of is not None:
            found.append((site, size))
        elif finishing and outermost.block is draft.index.top:
            continue
        elif not draft.record(outermost.name).is_final:
            found.append((site, size))
    return found


def child_ended(draft: Draft, event: ChildEnded) -> None:
    """Take what a child run came to."""
    path = event.path
    site, record = draft.site(path), draft.record(path)
    budget.count_child(draft, path, event.key, event.used)
    if record.state != "waiting(child)" or site.step.kind != "workflow":
        raise Refused(f"step {path} is {record.state}: it waits for no child run")
    if event.key and event.key != record.data["key"]:
        raise Refused(f"step {path} waits for another child run")
    if event.state is RunState.SUCCEEDED:
        accept(draft, path, site, event.outputs)
        return
    failure = event.error or failure_of(child_failure(event.state))
    fail_attempt(draft, path, site, replace(failure, retry_after=None))


def settled(draft: Draft, event: Settle) -> None:
    """Take a person's word for an outcome that nobody knew."""
    path = event.path
    site, record = draft.site(path), draft.record(path)
    if record.state != "waiting(unknown_outcome)":
        raise Refused(f"step {path} is {record.state}: its outcome is not unknown")
    if not event.succeeded:
        message = f"settled as not done by {event.by}" if event.by else "settled as not done"
        failure = StepFailure(error_class="conflict", message=message)
        fail_attempt(draft, path, site, failure)
        return
    try:
        output = checked(draft, site, event.output)
    except StepError as error:
        raise Refused(f"the output given for step {path} does not fit: {error}") from None
    succeed(draft, path, site, output)


def cancelled(draft: Draft, event: Cancel) -> None:  # noqa: ARG001  # as every event
    """Stop the run: no step starts any more but compensations and `finally`."""
    run = draft.run
    if run.state.is_final or run.state is RunState.FINISHING:
        raise Refused(f"run {run.id} is {run.state.value} already")
    if run.started_at is None:
        draft.set_run(
            RunState.CANCELLED,
            outcome="cancelled",
            cancel_requested=True,
            paused=False,
            finished_at=draft.now,
        )
        return
    draft.set_run(cancel_requested=True, paused=False)
    finish.stop(draft, "cancelled", None)


def paused(draft: Draft, event: Pause) -> None:
    """Start no more steps until `Resume`."""
    _follow(draft, event)
    if draft.run.state not in _PAUSABLE:
        raise Refused(f"run {draft.run.id} is {draft.run.state.value} and can't be paused")
    clock.pause(draft)


def _follow(draft: Draft, event: Pause | Resume) -> None:
    """Note a parent's order, unless a later one came first."""
    if not event.order:
        return
    run = draft.run
    if event.order <= run.order:
        raise Refused(f"run {run.id} has had a later order of its parent")
    if not run.state.is_final:
        draft.set_run(order=event.order)


def resumed(draft: Draft, event: Resume) -> None:
    """End a pause."""
    _follow(draft, event)
    if draft.run.state is not RunState.PAUSED:
        raise Refused(f"run {draft.run.id} is {draft.run.state.value}, not paused")
    clock.resume(draft)


EVENTS: Final[Mapping[type, Callable[[Draft, Any], None]]] = {
    Begin: begin,
    Claim: claim,
    Succeed: succeeded,
    Fail: failed,
    LoseLease: lost,
    Tick: tick,
    Decide: decided,
    Signal: signalled,
    ChildEnded: child_ended,
    Settle: settled,
    Cancel: cancelled,
    Pause: paused,
    Resume: resumed,
}
