"""The schema of a database: opening, checking and upgrading it.

Alembic is slow to import, so it is asked only when a database has to be upgraded: a new SQLite
file is made from the tables as they are and stamped with the newest revision (a test holds that
equal to running every migration), and the revision of an existing one is read by plain SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import sqlalchemy as sa

from dagflow.core.errors import UsageError
from dagflow.store import tables
from dagflow.store.sql import SqlRunStore
from dagflow.store.sql.database import BUSY_TIMEOUT, Cursor, Database

REVISIONS: Final = ("0001",)
"""Every revision in `migrations/versions`, in order; the last is what this code needs."""
HEAD: Final = REVISIONS[-1]
UPGRADE: Final = (
    "with no process at work on it, run its migrations: python -c 'import os; from"
    """ dagflow.store.schema import upgrade; upgrade(os.environ["DAGFLOW_DATABASE"])'"""
)
"""How a server's schema is upgraded; the url may hold a password, so it is not repeated."""


@dataclass(frozen=True, slots=True)
class SchemaState:
    """How a database's schema stands to this code. `revision` is "" for an empty database."""

    state: Literal["current", "empty", "old", "newer"]
    revision: str


def opened(
    url: str,
    *,
    reach: Callable[[str], None] = lambda _point: None,
    busy_timeout: float = BUSY_TIMEOUT,
) -> SqlRunStore:
    """Open a database, creating or upgrading a SQLite file that needs it.

    A server's schema is never changed on the way: raises `UsageError` when it isn't current, as
    for a SQLite file written by a newer version. Raises `UnavailableError` when the database
    can't be reached, read or written.
    """
    database = Database(url, busy_timeout=busy_timeout)
    database.make_folder()
    found = _state(database)
    if found.state != "current":
        _mend(database, found, url)
    return SqlRunStore(database, reach)


def check(url: str) -> SchemaState:
    """Tell how a database's schema stands to this code; nothing is changed."""
    database = Database(url)
    try:
        return _state(database) if database.exists else SchemaState("empty", "")
    finally:
        database.close()


def upgrade(url: str) -> SchemaState:
    """Run the migrations that a database still needs, each in a transaction of its own.

    Raises `UsageError` for a database that a newer version has written.
    """
    database = Database(url)
    database.make_folder()
    try:
        found = _state(database)
        if found.state == "newer":
            raise _newer(database, found)
        if found.state != "current":
            _migrate(database)
        return _state(database)
    finally:
        database.close()


def _mend(database: Database, found: SchemaState, url: str) -> None:
    if found.state == "newer":
        raise _newer(database, found)
    if not database.is_sqlite:
        raise UsageError(
            f"the schema of {database.name} is {found.revision or 'missing'}, not {HEAD}",
            remedy=UPGRADE,
        )
    if found.state == "empty":
        _create(database)
    else:
        upgrade(url)


def _create(database: Database) -> None:
    """Make every table of an empty database, unless another process has done it meanwhile."""
    database.keep_readers_going()
    with database.writing() as cursor:
        if _revision(cursor, database) == "":
            for statement in _definitions(database):
                cursor.execute(statement)
            cursor.execute(
                "INSERT INTO alembic_version (version_num) VALUES (:head)", {"head": HEAD}
            )


def _definitions(database: Database) -> list[str]:
    parts: list[sa.ClauseElement] = []
    for table in (*tables.metadata.sorted_tables, tables.version):
        parts.append(sa.schema.CreateTable(table))
        parts.extend(sa.schema.CreateIndex(i) for i in sorted(table.indexes, key=_index_name))
    return [database.prepare(part) for part in parts]


def _index_name(index: sa.Index) -> str:
    return str(index.name)


def _state(database: Database) -> SchemaState:
    with database.reading() as connection:
        names = sa.inspect(connection).get_table_names()
        if "alembic_version" not in names:
            if names:
                raise _foreign(database)
            return SchemaState("empty", "")
        found = connection.scalar(sa.select(tables.version.c.version_num)) or ""
    if found == HEAD:
        return SchemaState("current", found)
    return SchemaState("old" if found in REVISIONS else "newer", found)


def _revision(cursor: Cursor, database: Database) -> str:
    names = "SELECT name FROM sqlite_master WHERE type = 'table'"
    cursor.execute(names)
    found = {str(row[0]) for row in cursor.fetchall()}
    if "alembic_version" not in found:
        if found:
            raise _foreign(database)
        return ""
    cursor.execute("SELECT version_num FROM alembic_version")
    row = cursor.fetchone()
    return str(row[0]) if row else ""


def _migrate(database: Database) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "dagflow.store:migrations")
    if database.is_sqlite:
        database.keep_readers_going()
    with database.reading() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _newer(database: Database, found: SchemaState) -> UsageError:
    return UsageError(
        f"the database {database.name} was written by a newer dagflow"
        f" (schema {found.revision}, this version knows {HEAD})",
        remedy="upgrade dagflow, or name another database with DAGFLOW_DATABASE",
    )


def _foreign(database: Database) -> UsageError:
    return UsageError(
        f"{database.name} is a database of another program",
        remedy="name another with DAGFLOW_DATABASE",
    )
