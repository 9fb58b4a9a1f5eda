"""What the parts of the SQL store share."""

from __future__ import annotations

from collections.abc import Callable

from dagflow.store.sql.database import Database


def _nothing(_point: str) -> None:
    """Pass by a fault point."""


class Part:
    """A group of the store's methods, over one database."""

    def __init__(self, database: Database, reach: Callable[[str], None] = _nothing) -> None:
        self._database = database
        self._reach = reach
        self._prepare(database)

    def _prepare(self, database: Database) -> None:
        """Compile the statements of the write path."""
