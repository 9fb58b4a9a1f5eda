"""What a database's own errors mean to a user, and what to do about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as NoneFreeError

from dagflow.core.errors import DagflowError, DamagedError, UnavailableError, UsageError

_MEANINGS: tuple[tuple[str, type[DagflowError], str, str], ...] = (
    (
        "locked",
        UnavailableError,
        "the database {url} is locked by another process",
        "wait for the other process to end, or stop it; nothing was written",
    ),
    (
        "queuepool limit",
        UnavailableError,
        "all connections to the database {url} are in use",
        "try again when some of the work on it is done, or do less at a time; nothing was written",
    ),
    (
        "disk is full",
        UnavailableError,
        "the disk that holds {url} is full",
        "free some space and try again; nothing was written",
    ),
    (
        "disk i/o error",
        UnavailableError,
        "the disk that holds {url} can't be read or written",
        "check the disk and its free space; nothing was written",
    ),
    (
        "readonly",
        UnavailableError,
        "the database {url} can't be written",
        "make the file and its folder writable, or name another with DAGFLOW_DATABASE",
    ),
    (
        "unable to open database file",
        UnavailableError,
        "the database {url} can't be opened",
        "check that its folder exists and may be written, or name another with DAGFLOW_DATABASE",
    ),
    (
        "not a database",
        UsageError,
        "{url} is not a dagflow database: the file holds something else",
        "name another file with DAGFLOW_DATABASE, or move this one away",
    ),
    (
        "malformed",
        DamagedError,
        "the database {url} is damaged",
        "restore it from a backup, or name another with DAGFLOW_DATABASE",
    ),
)


def explained(error: BaseException, url: str) -> DagflowError:
    """Return what a driver's error means, with its remedy."""
    reason = str(getattr(error, "orig", None) or error).strip()
    for words, kind, message, remedy in _MEANINGS:
        if words in reason.lower():
            return kind(message.format(url=url), remedy=remedy)
    return UnavailableError(
        f"the database {url} failed: {reason}",
        remedy="check that it is reachable and that its disk has space; nothing was written",
    )


@contextmanager
def explaining(url: str, driver: type[Exception], broken: type[Exception]) -> Iterator[None]:
    """Raise a driver's and the pool's errors as ours.

    Broken constraints pass through, as answers; so do SQLAlchemy's other errors, which tell of
    wrong use of it.
    """
    try:
        yield
    except (IntegrityError, broken):
        raise
    except (DBAPIError, NoneFreeError, driver) as error:
        raise explained(error, url) from error
