"""The outbox in SQL: what must be done because of a batch, until it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from dagflow.store import tables
from dagflow.store.projection import micros, to_message
from dagflow.store.rows import Message, MessageKey, MessageKind
from dagflow.store.sql.database import Database
from dagflow.store.sql.part import Part, in_families

_outbox, _run = tables.outbox.c, tables.run.c
_KEY = (_outbox.run_id, _outbox.kind, _outbox.path)


class SqlOutbox(Part):
    """Takes messages out of the outbox; `SqlLog` puts them in."""

    def _prepare(self, database: Database) -> None:
        super()._prepare(database)
        one = sa.and_(
            _outbox.run_id == sa.bindparam("which_run"),
            _outbox.kind == sa.bindparam("which_kind"),
            _outbox.path == sa.bindparam("which_path"),
        )
        self._sent = database.prepare(
            tables.outbox.update().where(one).values(sent_at=sa.bindparam("at"))
        )
        self._done = database.prepare(tables.outbox.delete().where(one))

    def outbox(
        self,
        *,
        families: Sequence[str] | None = None,
        kinds: Sequence[MessageKind] = (),
        before: datetime | None = None,
    ) -> tuple[MessageKey, ...]:
        """Name open messages; see `QueryStore`."""
        query = sa.select(*_KEY).where(_outbox.sent_at.is_(None))
        if families is not None:
            query = query.join(tables.run, _run.id == _outbox.run_id).where(in_families(families))
        if kinds:
            query = query.where(_outbox.kind.in_(kinds))
        if before is not None:
            query = query.where(_outbox.created_at <= micros(before))
        query = query.order_by(_outbox.created_at, _outbox.run_id, _outbox.kind, _outbox.path)
        return tuple(MessageKey(**row) for row in self._database.rows(query))

    def message(self, key: MessageKey) -> Message | None:
        """Return an open message; see `QueryStore`."""
        query = sa.select(tables.outbox).where(
            _outbox.run_id == key.run_id,
            _outbox.kind == key.kind,
            _outbox.path == key.path,
            _outbox.sent_at.is_(None),
        )
        row = self._database.row(query)
        return None if row is None else to_message(row)

    def mark_sent(self, keys: Sequence[MessageKey], at: datetime) -> None:
        """Note that messages were handed over; see `QueryStore`."""
        rows = [{**_named(key), "at": micros(at)} for key in keys]
        if rows:
            with self._database.writing() as cursor:
                cursor.executemany(self._sent, rows)

    def settle(self, keys: Sequence[MessageKey]) -> None:
        """Take messages out; see `QueryStore`."""
        if keys:
            with self._database.writing() as cursor:
                cursor.executemany(self._done, [_named(key) for key in keys])


def _named(key: MessageKey) -> dict[str, str]:
    return {"which_run": key.run_id, "which_kind": key.kind, "which_path": key.path}
