"""Runs and their logs in SQL: the write path, one transaction a batch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from dagflow.core.errors import ConflictError, NotFoundError, VersionConflictError
from dagflow.core.events import encode
from dagflow.core.plan import Plan
from dagflow.core.run import RunChanged
from dagflow.store import tables
from dagflow.store.projection import (
    Row,
    answered,
    asked,
    batch_time,
    changes_of,
    header_fields,
    message_fields,
    micros,
    run_fields,
    step_fields,
    text,
    to_header,
    touched,
)
from dagflow.store.reading import reading
from dagflow.store.rows import Batch, Header, IdempotencyKey, MessageKey, StoredEvent, StoredRun
from dagflow.store.sql.database import Cursor, Database, Upsert
from dagflow.store.sql.part import Part
from dagflow.store.sql.plans import plan_fields, plan_of, put_plan

_run, _event, _step = tables.run.c, tables.event.c, tables.step.c


class SqlLog(Part):
    """Creates runs, appends to their logs and reads them back."""

    def _prepare(self, database: Database) -> None:
        super()._prepare(database)
        self._move = database.prepare(_moved().values(_changing("wake_at")).returning(_run.seq))
        self._change = database.prepare(
            _moved().values(_changing(*run_fields_names())).returning(_run.seq)
        )
        self._new_run = database.prepare(tables.run.insert())
        self._new_inputs = database.prepare(tables.run_inputs.insert())
        self._new_key = database.prepare(tables.idempotency.insert())
        self._key = database.prepare(_known_key())
        self._version = database.prepare(_version_of())
        self._plan = database.prepare(plan_of())
        self._put_plan = database.prepare(put_plan(database))
        self._new_event = database.prepare(tables.event.insert())
        self._put_step = database.prepare(_put_step(database.insert(tables.step)))
        self._put_message = database.prepare(_replacing(database.insert(tables.outbox)))
        self._settle = database.prepare(_settled())
        self._ask = database.prepare(_replacing(database.insert(tables.approval)))
        self._answer = database.prepare(_answered())

    def create(
        self,
        header: Header,
        batch: Batch,
        *,
        plan: Plan | None = None,
        key: IdempotencyKey | None = None,
        answers: MessageKey | None = None,
    ) -> str:
        """Create a run; see `LogStore`."""
        with self._database.writing() as cursor:
            if key is not None:
                cursor.execute(self._key, {"which_scope": key.scope, "which_key": key.key})
                found = cursor.fetchone()
                if found is not None:
                    return _same(key, found)
            if plan is not None:
                cursor.execute(self._put_plan, plan_fields(plan, header.created_at))
            self._check_new(cursor, header)
            if answers is not None:
                self._answer_to(cursor, answers, header)
            seq = len(batch.changes)
            fields = {**header_fields(header), **run_fields(batch.run, batch.wake_at)}
            cursor.execute(self._new_run, {**fields, "version": 1, "seq": seq})
            inputs = {"run_id": header.id, "body": text(header.inputs)}
            cursor.execute(self._new_inputs, inputs)
            if key is not None:
                cursor.execute(self._new_key, _key_fields(key, header))
            self._write(cursor, batch, version=1, seq=seq)
        return header.id

    def append(self, batch: Batch, *, expected_version: int) -> int:
        """Add a batch; see `LogStore`."""
        with self._database.writing() as cursor:
            seq = self._advance(cursor, batch, expected_version)
            self._reach("in-append")
            self._write(cursor, batch, version=expected_version + 1, seq=seq)
            return seq

    def _advance(self, cursor: Cursor, batch: Batch, expected: int) -> int:
        """Move the run's row on by one version, and return the seq that it has then."""
        changed = any(isinstance(change, RunChanged) for change in batch.changes)
        fields = (
            run_fields(batch.run, batch.wake_at) if changed else {"wake_at": micros(batch.wake_at)}
        )
        fields |= {"which": batch.run.id, "expected": expected, "grown": len(batch.changes)}
        cursor.execute(self._change if changed else self._move, fields)
        row = cursor.fetchone()
        if row is not None:
            return int(row[0])
        cursor.execute(self._version, {"which": batch.run.id})
        found = cursor.fetchone()
        if found is None:
            raise _no_run(batch.run.id)
        raise VersionConflictError(batch.run.id, expected, int(found[0]))

    def _write(self, cursor: Cursor, batch: Batch, *, version: int, seq: int) -> None:
        """Write everything of a batch but the run's row. `seq` is that of the last change."""
        run_id = batch.run.id
        events = [
            {"run_id": run_id, "seq": number, "version": version, "body": text(encode(change))}
            for number, change in enumerate(batch.changes, start=seq - len(batch.changes) + 1)
        ]
        _many(cursor, self._new_event, events)
        _many(cursor, self._put_step, [step_fields(run_id, record) for record in touched(batch)])
        _many(cursor, self._settle, [_key_of(key) for key in batch.settled])
        at = batch_time(batch)
        _many(cursor, self._put_message, [message_fields(m, at) for m in batch.messages])
        _many(cursor, self._ask, asked(batch))
        _many(cursor, self._answer, answered(batch))

    def _check_new(self, cursor: Cursor, header: Header) -> None:
        cursor.execute(self._version, {"which": header.id})
        if cursor.fetchone() is not None:
            raise ConflictError(f"run {header.id} exists already")
        cursor.execute(self._plan, {"which": header.plan})
        if cursor.fetchone() is None:
            raise NotFoundError(f"there is no plan {header.plan}")

    def _answer_to(self, cursor: Cursor, message: MessageKey, header: Header) -> None:
        """Take out the message that asked for a run; the row's lock lets one writer do so."""
        cursor.execute(self._settle, _key_of(message))
        if cursor.rowcount == 0:
            raise ConflictError(f"run {header.id} is not asked for any more")

    def load(self, run_id: str, *, after: int = 0) -> StoredRun:
        """Return a run with its changes; see `LogStore`."""
        header = sa.select(tables.run, tables.run_inputs.c.body.label("inputs")).join(
            tables.run_inputs
        )
        changes = sa.select(_event.body).where(_event.run_id == run_id, _event.version > after)
        with self._database.reading() as connection:
            row = connection.execute(header.where(_run.id == run_id)).mappings().first()
            if row is None:
                raise _no_run(run_id)
            bodies = connection.scalars(changes.order_by(_event.seq)).all()
        return StoredRun(
            header=to_header(dict(row), row["inputs"]),
            version=row["version"],
            seq=row["seq"],
            changes=changes_of(run_id, bodies),
        )

    def events(self, run_id: str, *, after: int = 0, limit: int = 1000) -> tuple[StoredEvent, ...]:
        """Return changes with their places; see `LogStore`."""
        query = sa.select(_event.seq, _event.version, _event.body).where(
            _event.run_id == run_id, _event.seq > after
        )
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(_event.seq).limit(limit)).all()
        with reading(f"run {run_id}"):
            return tuple(
                StoredEvent(seq=seq, version=version, body=json.loads(body))
                for seq, version, body in rows
            )

    def versions(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        """Return versions; see `LogStore`."""
        query = sa.select(_run.id, _run.version).where(_run.id.in_(run_ids))
        with self._database.reading() as connection:
            return {row.id: row.version for row in connection.execute(query)}


def run_fields_names() -> tuple[str, ...]:
    """Return the columns of a run's row that change with the run's state."""
    return (
        "state", "started_at", "finished_at", "deadline_at", "wake_at", "error", "outputs",
    )  # fmt: skip


def _moved() -> sa.Update:
    return (
        tables.run.update()
        .where(_run.id == sa.bindparam("which"), _run.version == sa.bindparam("expected"))
        .values(version=_run.version + sa.literal_column("1"), seq=_run.seq + sa.bindparam("grown"))
    )


def _changing(*columns: str) -> dict[str, sa.BindParameter[object]]:
    return {column: sa.bindparam(column) for column in columns}


def _known_key() -> sa.Select[tuple[str, str]]:
    table = tables.idempotency.c
    return sa.select(table.fingerprint, table.run_id).where(
        table.scope == sa.bindparam("which_scope"), table.key == sa.bindparam("which_key")
    )


def _version_of() -> sa.Select[tuple[int]]:
    return sa.select(_run.version).where(_run.id == sa.bindparam("which"))


def _put_step(insert: Upsert) -> Upsert:
    """Write a step's row. A lease that was extended since the claim is not cut again."""
    new = insert.excluded
    running: sa.ColumnElement[str] = sa.literal_column("'running'")
    kept = sa.and_(_step.state == running, new.state == running, _step.token == new.token)
    lease = sa.case((kept, _step.lease_until), else_=new.lease_until)
    changes = {
        column.name: lease if column is _step.lease_until else new[column.name]
        for column in tables.step.columns
        if not column.primary_key
    }
    return insert.on_conflict_do_update(index_elements=["run_id", "path"], set_=changes)


def _replacing(insert: Upsert) -> Upsert:
    """Write a row over the one with the same key."""
    table = insert.table
    assert isinstance(table, sa.Table)
    return insert.on_conflict_do_update(
        index_elements=[c.name for c in table.primary_key],
        set_={c.name: insert.excluded[c.name] for c in table.columns if not c.primary_key},
    )


def _settled() -> sa.Delete:
    table = tables.outbox.c
    return tables.outbox.delete().where(
        table.run_id == sa.bindparam("which_run"),
        table.kind == sa.bindparam("which_kind"),
        table.path == sa.bindparam("which_path"),
    )


def _answered() -> sa.Update:
    return (
        tables.approval.update()
        .where(tables.approval.c.id == sa.bindparam("which"))
        .values(state=sa.bindparam("state"), decided_at=sa.bindparam("decided_at"))
    )


def _key_of(key: MessageKey) -> Row:
    return {"which_run": key.run_id, "which_kind": key.kind, "which_path": key.path}


def _key_fields(key: IdempotencyKey, header: Header) -> Row:
    return {
        "scope": key.scope,
        "key": key.key,
        "fingerprint": key.fingerprint,
        "run_id": header.id,
        "created_at": micros(header.created_at),
    }


def _many(cursor: Cursor, statement: str, rows: list[Row]) -> None:
    if rows:
        cursor.executemany(statement, rows)


def _same(key: IdempotencyKey, found: tuple[str, ...]) -> str:
    fingerprint, run_id = found
    if fingerprint != key.fingerprint:
        raise ConflictError(
            f"the idempotency key {key.key!r} was used for another submission",
            remedy="use a new key for a new submission",
        )
    return run_id


def _no_run(run_id: str) -> NotFoundError:
    return NotFoundError(f"there is no run {run_id}")
