"""How steps begin that the engine makes itself: switch, fail, wait, approve, workflow, loops."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from dagflow.core.errors import StepError
from dagflow.core.run import Run, RunState, SignalTaken, StartChild
from dagflow.core.values import JsonObject, JsonValue, digest
from dagflow.executor.machine.activation import scope_of
from dagflow.executor.machine.budget import left
from dagflow.executor.machine.draft import Draft
from dagflow.executor.machine.ending import accept, fail_attempt, failure_of, succeed
from dagflow.executor.machine.evaluator import truth
from dagflow.executor.machine.index import Site
from dagflow.executor.machine.loops import start_foreach, start_repeat
from dagflow.executor.machine.readiness import earliest

Start = Callable[[Draft, str, Site], None]


def start(draft: Draft, path: str, site: Site) -> None:
    """Begin a ready step of the engine's own, unless the run is paused."""
    record = draft.record(path)
    if record.state != "ready" or draft.run.paused:
        return
    draft.move(
        path,
        site,
        "running",
        token=record.token + 1,
        attempt=record.attempt + 1,
        started_at=draft.now,
    )
    try:
        STARTS[site.step.kind](draft, path, site)
    except StepError as error:
        fail_attempt(draft, path, site, failure_of(error))


def idempotency_key(run: Run, path: str, generation: int) -> str:
    """Return the key that is equal on all attempts of a step, and on a repeat of what is around it.

    SHA-256 over the root run, the step's path from there, and the generation (which grows only
    when a person asks for the step again).
    """
    whole = f"{run.prefix}/{path}" if run.prefix else path
    text = f"{run.root or run.id}\0{whole}\0{generation}"
    return hashlib.sha256(text.encode()).hexdigest()


def child_key(run: Run, path: str, generation: int, token: int) -> str:
    """Return the key of one attempt's child run: a retry is another child.

    So is a repeat of what is around the step, by which the token goes on growing.
    """
    text = f"{idempotency_key(run, path, generation)}\0{token}"
    return hashlib.sha256(text.encode()).hexdigest()


def approval_hash(path: str, token: int, arguments: JsonValue, message: JsonValue) -> str:
    """Return the hash of exactly what an approval releases, and this once.

    `token` is that of the step's begin: asked again, the question is another one.
    """
    return digest({"step": path, "token": token, "arguments": arguments, "message": message})


def _switch(draft: Draft, path: str, site: Site) -> None:
    scope = scope_of(draft.index, draft.run, site, path)
    chosen: int | None = None
    for index, branch in enumerate(site.step.branches):
        when = branch.when
        if when is None or truth(draft.evaluator, when, scope.activation(when.reads)):
            chosen = index
            break
    succeed(draft, path, site, {"branch": chosen})


def _fail(draft: Draft, path: str, site: Site) -> None:  # noqa: ARG001  # as every start
    raise StepError("user", str(_body(draft, path).get("message")))


def _approve(draft: Draft, path: str, site: Site) -> None:
    record = draft.record(path)
    given = record.input.get("with") if isinstance(record.input, dict) else None
    message = _body(draft, path).get("message")
    data: JsonObject = {"hash": approval_hash(path, record.token, given, message)}
    _wait(draft, path, site, "waiting(approval)", due=_after(draft, site, "expires"), data=data)


def _wait_for(draft: Draft, path: str, site: Site) -> None:
    name = site.step.body.get("signal")
    if name is None:
        due = _after(draft, site, "for") or _until(draft, path)
        _wait(draft, path, site, "waiting(timer)", due=due, data={})
        if due <= draft.now:
            succeed(draft, path, site, None)
    elif draft.run.signals.get(str(name)):
        take_signal(draft, path, site, str(name))
    else:
        due_at = _after(draft, site, "expires")
        _wait(draft, path, site, "waiting(signal)", due=due_at, data={"signal": name})


def take_signal(draft: Draft, path: str, site: Site, name: str) -> None:
    """Give the oldest signal of a name to a step."""
    payload = draft.run.signals[name][0]
    draft.apply(SignalTaken(name=name, path=path, at=draft.now))
    accept(draft, path, site, payload)


def _workflow(draft: Draft, path: str, site: Site) -> None:
    record, run = draft.record(path), draft.run
    key = child_key(run, path, record.generation, record.token)
    due = _timeout(draft, site)
    given = record.input.get("with") if isinstance(record.input, dict) else None
    _wait(draft, path, site, "waiting(child)", due=due, data={"key": key})
    whole = run.cleanup_deadline_at if run.outcome else run.deadline_at
    deadline = earliest(due, record.deadline_at, whole)
    inputs: JsonValue = {} if given is None else given
    draft.send(
        StartChild(path=path, inputs=inputs, key=key, deadline_at=deadline, budget=left(draft))
    )


def child_failure(state: RunState) -> StepError:
    """Return the error of a child run that ended without saying why."""
    if state is RunState.TIMED_OUT:
        return StepError("timeout", "the child run's deadline passed")
    return StepError("user", f"the child run was {state.value}")


def _composite(begin: Start) -> Start:
    def start_composite(draft: Draft, path: str, site: Site) -> None:
        begin(draft, path, site)
        due = _timeout(draft, site)
        if due is not None and draft.record(path).state == "waiting(child)":
            draft.note(path, due=due)
            draft.wake_at(due)

    return start_composite


STARTS: Final[Mapping[str, Start]] = {
    "switch": _switch,
    "fail": _fail,
    "approve": _approve,
    "wait": _wait_for,
    "workflow": _workflow,
    "foreach": _composite(start_foreach),
    "repeat": _composite(start_repeat),
}
"""By kind; a `StepError` raised here fails the attempt."""


def _wait(
    draft: Draft, path: str, site: Site, label: str, *, due: datetime | None, data: JsonObject
) -> None:
    kept = draft.record(path).data
    if site.step.body.get("pause_clock"):
        data = {**data, "pause_clock": True}
    draft.move(path, site, label, due=due, data={**kept, **data})
    draft.wake_at(due)


def _body(draft: Draft, path: str) -> JsonObject:
    recorded = draft.record(path).input
    body = recorded.get("body") if isinstance(recorded, dict) else None
    return body if isinstance(body, dict) else {}


def _after(draft: Draft, site: Site, name: str) -> datetime | None:
    seconds = site.step.body.get(name)
    if not isinstance(seconds, int | float):
        return None
    return draft.now + timedelta(seconds=seconds)


def _timeout(draft: Draft, site: Site) -> datetime | None:
    seconds = site.step.timeout
    return None if seconds is None else draft.now + timedelta(seconds=seconds)


def _until(draft: Draft, path: str) -> datetime:
    text = _body(draft, path).get("until")
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise StepError(
            "expression",
            f"`until` is {text!r}, which is no RFC 3339 instant",
            remedy="give a time with its offset, such as 2026-03-01T09:00:00Z",
        )
    return at
