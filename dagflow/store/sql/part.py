"""What the parts of the SQL store share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sqlalchemy as sa

from dagflow.store import tables
from dagflow.store.sql.database import Database


def _nothing(_point: str) -> None:
    """Pass by a fault point."""


def in_families(run_ids: Sequence[str]) -> sa.ColumnElement[bool]:
    """Return the condition that a run is one of these, or has the root of one of them."""
    run, named = tables.run.c, tables.run.alias().c
    roots = sa.select(named.root).where(named.id.in_(run_ids), named.root != "")
    return sa.or_(
        run.id.in_(run_ids), run.root.in_(run_ids), run.root.in_(roots), run.id.in_(roots)
    )


class Part:
    """A group of the store's methods, over one database."""

    def __init__(self, database: Database, reach: Callable[[str], None] = _nothing) -> None:
        self._database = database
        self._reach = reach
        self._prepare(database)

    def _prepare(self, database: Database) -> None:
        """Compile the statements of the write path."""
