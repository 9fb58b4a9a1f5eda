"""How a step ends: with an output, skipped, cancelled, or by a failure that nothing catches."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from dagflow.core.errors import StepError, ValueRefusedError
from dagflow.core.plan import ErrorHandler, Value
from dagflow.core.run import Dispatch, StepFailure, StepRecord
from dagflow.core.values import JsonValue, check_value
from dagflow.executor.machine.activation import scope_of
from dagflow.executor.machine.draft import Draft
from dagflow.executor.machine.index import Site
from dagflow.executor.machine.retry import LOST_RETRIES, delay, lost_of, may_retry

UNKNOWN: Final = frozenset({"lost", "timeout", "network"})
"""Classes after which nobody can tell whether the attempt had its effect."""

_FROM_OUTSIDE: Final = frozenset({"tool", "llm", "python", "shell", "wait"})

_ROUTES: Final = {
    "pending": ("ready", "running"),
    "ready": ("running",),
    "waiting(backoff)": ("ready", "running"),
}
"""The listed moves by which a step gets to where it may succeed, when a handler makes it so."""


def succeed(draft: Draft, path: str, site: Site, output: JsonValue, **fields: object) -> None:
    """End a step with an output that was checked."""
    _end(draft, path, site, "succeeded", output=output, has_output=True, **fields)


def skip(draft: Draft, path: str, site: Site, reason: str) -> None:
    """End a step that may not run."""
    _end(draft, path, site, f"skipped({reason})")


def _end(draft: Draft, path: str, site: Site, after: str, **fields: object) -> None:
    record = draft.record(path)
    if record.due is not None:
        fields["due"] = None
    if record.lease_until is not None:
        fields["lease_until"] = None
    draft.move(path, site, after, finished_at=draft.now, **fields)
    draft.later("ended", path, site)


def cancel(draft: Draft, path: str, site: Site) -> None:
    """End a step that is stopped with what it stands in; nothing follows from it."""
    fields: dict[str, object] = {"finished_at": draft.now}
    record = draft.record(path)
    if record.due is not None:
        fields["due"] = None
    if record.lease_until is not None:
        fields["lease_until"] = None
    draft.move(path, site, "cancelled", **fields)


def accept(draft: Draft, path: str, site: Site, output: JsonValue) -> None:
    """Take an attempt's output if it can be carried and satisfies the schema, or fail it."""
    try:
        output = checked(draft, site, output)
    except StepError as error:
        fail_attempt(draft, path, site, failure_of(error))
    else:
        succeed(draft, path, site, output)


def checked(draft: Draft, site: Site, output: JsonValue) -> JsonValue:
    """Return the output as it may be recorded. Raises `StepError` of class `schema`."""
    try:
        check_value(output)
    except ValueRefusedError as error:
        raise StepError("schema", f"output: {error.reason} at {error.at}") from error
    if _must_conform(site):
        return draft.evaluator.conform(site.step.output_schema, output)
    return output


def _must_conform(site: Site) -> bool:
    """Tell whether the output is checked: what comes from outside always is, unless the author
    said of a tool that responses which break their schema are let through.
    """
    lenient = site.step.body.get("responses", "strict") != "strict"
    return site.step.check_output or (site.step.kind in _FROM_OUTSIDE and not lenient)


def failure_of(error: StepError) -> StepFailure:
    """Return what is recorded of an error."""
    return StepFailure(
        error_class=error.error_class, message=error.message, retry_after=error.retry_after
    )


def fail_attempt(
    draft: Draft,
    path: str,
    site: Site,
    failure: StepFailure,
    *,
    retry: bool = True,
    unsent: bool = False,
) -> None:
    """End an attempt by a failure: it is retried, or handled, or the step's end."""
    record = draft.record(path)
    failure = replace(failure, attempt=max(1, record.attempt))
    begun = record.state in {"running", "waiting(child)"}
    if retry and begun and _retried(draft, path, site, record, failure, unsent=unsent):
        return
    handler = handler_for(site, failure)
    if handler is None:
        _fail(draft, path, site, failure)
    elif handler.continue_ is not None:
        _recover(draft, path, site, failure, handler.continue_)
    else:
        go_to(draft, path, site, failure, handler.goto or "")


def handler_for(site: Site, failure: StepFailure) -> ErrorHandler | None:
    """Return the first `on_error` entry for the class; one without classes is for every class."""
    for handler in site.step.on_error:
        if not handler.on or failure.error_class in handler.on:
            return handler
    return None


def go_to(draft: Draft, path: str, site: Site, failure: StepFailure, target: str) -> None:
    """End a step by a failure that another step takes over."""
    _fail(draft, path, site, failure, handled=True, goto=target)


def _fail(draft: Draft, path: str, site: Site, failure: StepFailure, **fields: object) -> None:
    after = "timed_out" if failure.error_class == "timeout" else "failed"
    if after == "timed_out" and draft.record(path).state == "pending":
        after = "failed"
    _end(draft, path, site, after, error=failure, **fields)


def _recover(draft: Draft, path: str, site: Site, failure: StepFailure, value: Value) -> None:
    """Succeed with the handler's value, or fail by what is wrong with that value."""
    try:
        output = _handled_value(draft, path, site, failure, value)
    except StepError as error:
        _fail(draft, path, site, replace(failure_of(error), attempt=failure.attempt))
        return
    for after in _ROUTES.get(draft.record(path).state, ()):
        draft.move(path, site, after, error=failure)
    succeed(draft, path, site, output, recovered=True, error=failure)


def _handled_value(
    draft: Draft, path: str, site: Site, failure: StepFailure, value: Value
) -> JsonValue:
    scope = scope_of(draft.index, draft.run, site, path)
    scope.own["error"] = {
        "class": failure.error_class,
        "message": failure.message,
        "attempt": failure.attempt,
    }
    output = draft.evaluator.render(value, scope.activation(draft.index.reads_of(value)))
    return checked(draft, site, output)


def _retried(
    draft: Draft,
    path: str,
    site: Site,
    record: StepRecord,
    failure: StepFailure,
    *,
    unsent: bool,
) -> bool:
    """Make another attempt if one is due to the step; tell whether it was."""
    leased = record.state == "running" and not site.in_engine
    once = leased and site.step.effects == "once"
    lost = leased and failure.error_class == "lost"
    if lost and not once and lost_of(record) < LOST_RETRIES:
        requeue(draft, path, site, error=failure, data={**record.data, "lost": lost_of(record) + 1})
        return True
    if not may_retry(site.step.retry, record, failure):
        return False
    if once and failure.error_class in UNKNOWN and not unsent:
        wait_for_person(draft, path, site, failure)
        return True
    made = record.attempt - lost_of(record)
    wait = delay(site.step.retry, draft.run.id, path, made, failure.retry_after)
    due = draft.now + wait
    if record.deadline_at is not None and due >= record.deadline_at:
        return False
    if wait > timedelta(0):
        draft.move(path, site, "waiting(backoff)", error=failure, due=due, lease_until=None)
        draft.wake_at(due)
    else:
        requeue(draft, path, site, error=failure)
    return True


def wait_for_person(draft: Draft, path: str, site: Site, failure: StepFailure) -> None:
    """Park a step whose effect nobody knows, until a person settles it."""
    draft.move(path, site, "waiting(unknown_outcome)", error=failure, due=None, lease_until=None)


def requeue(draft: Draft, path: str, site: Site, **fields: object) -> None:
    """Make a step ready again."""
    draft.move(path, site, "ready", due=None, lease_until=None, **fields)
    enlist(draft, path, site)


def enlist(draft: Draft, path: str, site: Site) -> None:
    """Have a ready step started: by the engine itself, or by a worker that the bell calls."""
    draft.wake_at(draft.record(path).deadline_at)
    if site.in_engine:
        draft.later("start", path, site)
    elif not draft.run.paused:
        draft.send(Dispatch(path=path, queue=site.step.queue, priority=site.step.priority))
