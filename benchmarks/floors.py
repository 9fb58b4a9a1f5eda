"""What the machine can do at all: one durable commit."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

COMMITS = 100


def _fully_durable(connection: sqlite3.Connection, _entry: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def sqlalchemy_commit(folder: Path) -> Callable[[], float]:
    """Return a round of one-row transactions through SQLAlchemy Core: milliseconds for one."""
    engine = sa.create_engine(f"sqlite:///{folder}/floor.db")
    sa.event.listen(engine, "connect", _fully_durable)
    table = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("a", sa.String),
        sa.Column("b", sa.JSON),
    )
    table.create(engine)
    insert = sa.insert(table)

    def once() -> float:
        begun = time.perf_counter()
        for number in range(COMMITS):
            with engine.begin() as connection:
                connection.execute(insert, {"a": "x" * 20, "b": {"n": number}})
        return (time.perf_counter() - begun) * 1000 / COMMITS

    return once


def sqlite_commit(folder: Path) -> Callable[[], float]:
    """Return a round of one-row transactions through the driver: milliseconds for one."""
    connection = sqlite3.connect(folder / "raw.db", isolation_level=None)
    _fully_durable(connection, None)
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT)")

    def once() -> float:
        begun = time.perf_counter()
        for _ in range(COMMITS):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO t (a, b) VALUES (?, ?)", ("x" * 20, '{"n":1}'))
            connection.execute("COMMIT")
        return (time.perf_counter() - begun) * 1000 / COMMITS

    return once
