"""The rows that follow from a batch, and back: pure, and the same for every store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

from dagflow.core.errors import ErrorClass
from dagflow.core.events import decode
from dagflow.core.run import Change, Run, StepChanged, StepFailure, StepRecord, StepsReset
from dagflow.core.values import JsonValue
from dagflow.store.reading import reading
from dagflow.store.rows import (
    Approval,
    Batch,
    Header,
    Lease,
    Message,
    MessageKey,
    MessageKind,
    Registered,
    RunRow,
    StepRow,
)

Row: TypeAlias = dict[str, Any]
"""One row of a table, by column."""
Found: TypeAlias = Mapping[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
ASKED = "waiting(approval)"


def micros(at: datetime | None) -> int | None:
    """Return an instant as whole microseconds since 1970."""
    return None if at is None else (at - _EPOCH) // _MICROSECOND


def instant(value: int | None) -> datetime | None:
    """Return the instant that `micros` wrote."""
    return None if value is None else _EPOCH + timedelta(microseconds=value)


_write = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def text(value: object) -> str:
    """Write a JSON value; every digit of its numbers is kept."""
    return _write(value)


def value_of(body: str | None) -> JsonValue:
    """Read what `text` wrote."""
    return None if body is None else cast("JsonValue", json.loads(body))


def run_fields(run: Run, wake_at: datetime | None) -> Row:
    """Return the columns of a run's row that change."""
    return {
        "state": run.state.value,
        "started_at": micros(run.started_at),
        "finished_at": micros(run.finished_at),
        "deadline_at": micros(run.deadline_at),
        "wake_at": micros(wake_at),
        "error": _failure_text(run.error),
        "outputs": None if run.outputs is None else text(run.outputs),
    }


def header_fields(header: Header) -> Row:
    """Return the columns of a run's row that never change."""
    return {
        "id": header.id,
        "plan": header.plan,
        "workflow": header.workflow,
        "workflow_version": header.workflow_version,
        "root": header.root,
        "parent": header.parent,
        "parent_path": header.parent_path,
        "parent_key": header.parent_key,
        "prefix": header.prefix,
        "attempt": header.attempt,
        "created_at": micros(header.created_at),
    }


def touched(batch: Batch) -> Iterator[StepRecord]:
    """Return the records of the steps that a batch changed, each once."""
    paths: dict[str, None] = {}
    for change in batch.changes:
        if isinstance(change, StepChanged):
            paths[change.path] = None
        elif isinstance(change, StepsReset):
            paths |= dict.fromkeys(change.steps)
    return (batch.run.steps[path] for path in paths)


def step_fields(run_id: str, record: StepRecord) -> Row:
    """Return a step's row."""
    return {
        "run_id": run_id,
        "path": record.path,
        "state": record.state,
        "attempt": record.attempt,
        "token": record.token,
        "worker": record.worker,
        "lease_until": micros(record.lease_until) if record.state == "running" else None,
        "due": micros(record.due),
        "ready_at": micros(record.ready_at),
        "started_at": micros(record.started_at),
        "finished_at": micros(record.finished_at),
        "error": _failure_text(record.error),
    }


def approval_id(run_id: str, path: str) -> str:
    """Name the question that a step of a run asks."""
    return "apr_" + hashlib.sha256(f"{run_id}\n{path}".encode()).hexdigest()[:24]


def asked(batch: Batch) -> list[Row]:
    """Return rows of the approvals that a batch begins to wait for."""
    run = batch.run
    return [
        {
            "id": approval_id(run.id, change.path),
            "run_id": run.id,
            "path": change.path,
            "state": "waiting",
            "body": text({"input": record.input, "data": record.data}),
            "asked_at": micros(change.at),
            "expires_at": micros(record.due),
            "decided_at": None,
        }
        for change in batch.changes
        if isinstance(change, StepChanged) and change.after == ASKED and change.before != ASKED
        for record in [run.steps[change.path]]
    ]


def answered(batch: Batch) -> list[Row]:
    """Return what changes about approvals that a batch decides, one way or another.

    One that it asks again afterwards is left out: that is a new question in the same row.
    """
    found: dict[str, Row] = {}
    for change in batch.changes:
        if isinstance(change, StepChanged) and change.after == ASKED:
            found.pop(change.path, None)
        elif isinstance(change, StepChanged) and change.before == ASKED:
            found[change.path] = {
                "which": approval_id(batch.run.id, change.path),
                "state": change.after,
                "decided_at": micros(change.at),
            }
    return list(found.values())


def message_fields(message: Message, at: datetime) -> Row:
    """Return an outbox row."""
    key = message.key
    return {
        "run_id": key.run_id,
        "kind": key.kind,
        "path": key.path,
        "body": text(message.body),
        "created_at": micros(at),
        "sent_at": None,
    }


def batch_time(batch: Batch) -> datetime:
    """Return when a batch was decided."""
    return batch.changes[-1].at if batch.changes else _EPOCH


_P = ParamSpec("_P")
_T = TypeVar("_T")


def _of(
    kind: str, column: str
) -> Callable[[Callable[Concatenate[Found, _P], _T]], Callable[Concatenate[Found, _P], _T]]:
    """Make the error for a row that can't be read name what the row is of."""

    def named(
        read: Callable[Concatenate[Found, _P], _T],
    ) -> Callable[Concatenate[Found, _P], _T]:
        @wraps(read)
        def reads(row: Found, *rest: _P.args, **more: _P.kwargs) -> _T:
            with reading(f"{kind} {row[column]}"):
                return read(row, *rest, **more)

        return cast("Callable[Concatenate[Found, _P], _T]", reads)

    return named


def changes_of(run_id: str, bodies: Iterable[str]) -> tuple[Change, ...]:
    """Read a part of a run's log."""
    with reading(f"run {run_id}"):
        return tuple(decode(json.loads(body)) for body in bodies)


@_of("run", "id")
def to_run(row: Found) -> RunRow:
    """Read a run's row."""
    return RunRow(
        id=row["id"],
        plan=row["plan"],
        workflow=row["workflow"],
        workflow_version=row["workflow_version"],
        root=row["root"],
        parent=row["parent"],
        parent_path=row["parent_path"],
        attempt=row["attempt"],
        state=row["state"],
        version=row["version"],
        seq=row["seq"],
        created_at=_time(row["created_at"]),
        started_at=instant(row["started_at"]),
        finished_at=instant(row["finished_at"]),
        deadline_at=instant(row["deadline_at"]),
        wake_at=instant(row["wake_at"]),
        error=_failure(row["error"]),
        outputs=value_of(row["outputs"]),
    )


@_of("run", "id")
def to_header(row: Found, inputs: str) -> Header:
    """Read a run's header."""
    return Header(
        id=row["id"],
        plan=row["plan"],
        workflow=row["workflow"],
        workflow_version=row["workflow_version"],
        inputs=value_of(inputs),
        root=row["root"],
        parent=row["parent"],
        parent_path=row["parent_path"],
        parent_key=row["parent_key"],
        prefix=row["prefix"],
        attempt=row["attempt"],
        created_at=_time(row["created_at"]),
    )


@_of("run", "run_id")
def to_step(row: Found) -> StepRow:
    """Read a step's row."""
    return StepRow(
        run_id=row["run_id"],
        path=row["path"],
        state=row["state"],
        attempt=row["attempt"],
        token=row["token"],
        worker=row["worker"],
        lease_until=instant(row["lease_until"]),
        due=instant(row["due"]),
        ready_at=instant(row["ready_at"]),
        started_at=instant(row["started_at"]),
        finished_at=instant(row["finished_at"]),
        error=_failure(row["error"]),
    )


def to_lease(row: Found) -> Lease:
    """Read the lease of a running step's row."""
    return Lease(
        run_id=row["run_id"],
        path=row["path"],
        token=row["token"],
        worker=row["worker"],
        until=_time(row["lease_until"]),
    )


@_of("run", "run_id")
def to_message(row: Found) -> Message:
    """Read an outbox row."""
    body = value_of(row["body"])
    kind = cast("MessageKind", row["kind"])
    return Message(
        key=MessageKey(row["run_id"], kind, row["path"]),
        body=body if isinstance(body, dict) else {},
    )


@_of("approval", "id")
def to_approval(row: Found) -> Approval:
    """Read an approval's row."""
    body = value_of(row["body"])
    return Approval(
        id=row["id"],
        run_id=row["run_id"],
        path=row["path"],
        state=row["state"],
        body=body if isinstance(body, dict) else {},
        asked_at=_time(row["asked_at"]),
        expires_at=instant(row["expires_at"]),
        decided_at=instant(row["decided_at"]),
    )


def registered_fields(registered: Registered) -> Row:
    """Return the row of a version of a workflow."""
    return {
        "name": registered.name,
        "version": registered.version,
        "number": registered.number,
        "plan": registered.plan,
        "source_name": registered.source_name,
        "source": registered.source,
        "report": text(registered.report),
        "registered_at": micros(registered.registered_at),
    }


@_of("workflow", "name")
def to_registered(row: Found) -> Registered:
    """Read the row of a version of a workflow."""
    report = value_of(row["report"])
    return Registered(
        name=row["name"],
        version=row["version"],
        number=row["number"],
        plan=row["plan"],
        source_name=row["source_name"],
        source=row["source"],
        report=report if isinstance(report, dict) else {},
        registered_at=_time(row["registered_at"]),
    )


def _time(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


def _failure_text(failure: StepFailure | None) -> str | None:
    if failure is None:
        return None
    return text(
        {
            "class": failure.error_class,
            "message": failure.message,
            "attempt": failure.attempt,
            "retry_after": failure.retry_after,
        }
    )


def _failure(body: str | None) -> StepFailure | None:
    if body is None:
        return None
    found: dict[str, Any] = json.loads(body)
    return StepFailure(
        error_class=cast("ErrorClass", found["class"]),
        message=found["message"],
        attempt=found["attempt"],
        retry_after=found["retry_after"],
    )
