"""A connection to SQLite or PostgreSQL, and the two ways in: reading and writing."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.pool import ConnectionPoolEntry

from dagflow.core.errors import UnavailableError, UsageError
from dagflow.store.trouble import explaining

BUSY_TIMEOUT = 5.0
"""Seconds that a writer waits for another before it gives up."""

Cursor: TypeAlias = DBAPICursor
Upsert: TypeAlias = "sqlite.Insert | postgresql.Insert"


class Database:
    """One database. Safe to use from several threads.

    Statements of the write path are compiled once (`prepare`) and go to the driver as they are:
    building and compiling them again would cost more than the write.
    """

    def __init__(self, url: str, *, busy_timeout: float = BUSY_TIMEOUT) -> None:
        self.url = _parsed(url)
        self.name = self.url.render_as_string(hide_password=True)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._engine = self._opened(busy_timeout)
        dbapi = self._engine.dialect.loaded_dbapi
        self._driver: type[Exception] = dbapi.Error
        self._broken: type[Exception] = dbapi.IntegrityError

    @property
    def broken_constraint(self) -> tuple[type[Exception], ...]:
        """The errors of a row that breaks a key."""
        return (self._broken, sa.exc.IntegrityError)

    def prepare(self, statement: sa.ClauseElement) -> str:
        """Compile a statement whose parameters are all named by its columns or binds."""
        return str(statement.compile(dialect=self._engine.dialect))

    def insert(self, table: sa.Table) -> Upsert:
        """Begin an insert that may say what to do on a conflict."""
        return sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)

    @contextmanager
    def writing(self) -> Iterator[Cursor]:
        """Open a write transaction; it is committed at the end, or undone on an error.

        On SQLite it is the only writer from its first moment (`BEGIN IMMEDIATE`): nothing that
        it reads can change before it is committed.
        """
        with self._explaining():
            connection = self._engine.raw_connection()
            try:
                cursor = connection.cursor()
                if self.is_sqlite:
                    cursor.execute("BEGIN IMMEDIATE")
                yield cursor
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
            finally:
                connection.close()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a transaction that reads one snapshot."""
        with self._explaining(), self._engine.begin() as connection:
            yield connection

    def rows(self, query: sa.Select[Any]) -> list[Mapping[str, Any]]:
        """Return the rows of a query, by column."""
        with self.reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def row(self, query: sa.Select[Any]) -> Mapping[str, Any] | None:
        """Return the first row of a query, by column."""
        with self.reading() as connection:
            found = connection.execute(query).mappings().first()
            return None if found is None else dict(found)

    @property
    def exists(self) -> bool:
        """Tell whether a SQLite file is there; a server's database always counts."""
        path = self.url.database
        return not self.is_sqlite or not path or Path(path).exists()

    def keep_readers_going(self) -> None:
        """Put a SQLite file in WAL mode, which it keeps: readers go on while one writes.

        The change of mode does not wait for other processes by itself, so it is tried again.
        """
        with self._explaining():
            connection = self._engine.raw_connection()
            try:
                _patiently(lambda: connection.cursor().execute("PRAGMA journal_mode=WAL"))
            finally:
                connection.close()

    def make_folder(self) -> None:
        """Create the folder of a SQLite file; a `file:` URI names one that must be there."""
        named = self.url.database or ""
        if self.is_sqlite and named and not named.startswith("file:"):
            try:
                Path(named).parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UnavailableError(
                    f"the folder of the database {self.name} can't be made: {error.strerror}",
                    remedy="make it, or name another database with DAGFLOW_DATABASE",
                ) from None

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def _opened(self, busy_timeout: float) -> sa.Engine:
        try:
            return _engine(self.url, busy_timeout)
        except (ImportError, sa.exc.NoSuchModuleError) as error:
            raise UsageError(
                f"the database {self.name} needs a driver that is not there: {error}",
                remedy="install it, or name another database with DAGFLOW_DATABASE",
            ) from error

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        with explaining(self.name, self._driver, self._broken):
            yield


def _parsed(url: str) -> sa.URL:
    try:
        parsed = sa.make_url(url)
        known = parsed.get_backend_name() in {"sqlite", "postgresql"}
    except sa.exc.ArgumentError:
        known = False
    if not known:
        raise UsageError(
            f"{url!r} is not the URL of a database that dagflow can use",
            remedy="write sqlite:///path/to/file.db or postgresql+psycopg://user@host/name",
        )
    return parsed


def _engine(url: sa.URL, busy_timeout: float) -> sa.Engine:
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(url, pool_reset_on_return=None)
    engine = sa.create_engine(
        url,
        paramstyle="named",
        pool_reset_on_return=None,
        connect_args={"isolation_level": None, "timeout": busy_timeout},
    )
    sa.event.listen(engine, "connect", _configure)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _patiently(change: Callable[[], object]) -> None:
    until = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            change()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _configure(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    """Make a commit mean that it is on the disk."""
    assert isinstance(connection, sqlite3.Connection)
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN")
