"""Cursors of the list of runs: the place of the last run of a page."""

from __future__ import annotations

from dagflow.core.errors import UsageError
from dagflow.store.projection import micros
from dagflow.store.rows import RunRow

MAX_DIGITS = 18
"""No instant has more microseconds than that, and a database takes no larger number."""


def written(row: RunRow) -> str:
    """Return the cursor of the page after the one that ends with this run."""
    return f"{micros(row.created_at)}.{row.id}"


def place(cursor: str) -> tuple[int, str]:
    """Return the creation time (microseconds) and the id that a cursor stands for."""
    created, _, run_id = cursor.partition(".")
    digits = created.removeprefix("-")
    if not (digits.isdecimal() and len(digits) <= MAX_DIGITS and run_id):
        raise UsageError(
            f"{cursor!r} is not a cursor of a list of runs",
            remedy="leave it out to begin with the newest run",
        )
    return int(created), run_id
