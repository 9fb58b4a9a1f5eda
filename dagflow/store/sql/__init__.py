"""The store on SQLAlchemy Core, for SQLite and PostgreSQL alike."""

from __future__ import annotations

from dagflow.store.sql.log import SqlLog
from dagflow.store.sql.outbox import SqlOutbox
from dagflow.store.sql.plans import SqlPlans
from dagflow.store.sql.queries import SqlQueries


class SqlRunStore(SqlPlans, SqlLog, SqlQueries, SqlOutbox):
    """A `RunStore` over a database whose schema is in place (`dagflow.store.schema.opened`)."""

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()
