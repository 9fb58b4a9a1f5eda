"""Reading what is stored: where it makes no sense, that is said by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dagflow.core.errors import DamagedError, UsageError, ValueRefusedError

_NONSENSE: Final = (
    ValueError, LookupError, TypeError, AttributeError, ValueRefusedError, UsageError,
)  # fmt: skip
"""What code that reads records raises for one that was damaged, or that it doesn't know."""


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Raise `DamagedError` where what is stored makes no sense; `what` names it."""
    try:
        yield
    except _NONSENSE as error:
        raise DamagedError(
            f"the record of {what} can't be read: {error}",
            remedy="restore the database from a backup, or use the dagflow that wrote it",
        ) from error
