"""Cron expressions: when they fire, in which zone, and what a change of the clock does to them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final

from dagflow.core.records import dataclass

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo  # few workflows have a schedule

FROM: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Schedules are looked at from here on, so that a report is the same on every day."""

YEARS: Final = 2
"""For how many years changes of the clock are looked for."""

_MOST: Final = 400
"""More times than a minute's rhythm has in the hours around a change of the clock."""

_DAY: Final = timedelta(days=1)


class CronError(ValueError):
    """A text that is no cron expression, or that never fires; or a zone that nobody knows."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the clock at the instant `at`: wall times from `first` up to `last` are left out
    (`is_gap`), or come twice.
    """

    at: datetime
    first: datetime
    last: datetime
    is_gap: bool


def zone_of(name: str) -> ZoneInfo:
    """Return the zone of that name. Raises `CronError`.

    The zones of this machine are read once, when the first is asked for, as a module is: what is
    asked of them afterwards reads no file.
    """
    if name not in zones():
        raise CronError(f"no time zone is named {name!r}")
    return _read(name)


@cache
def zones() -> tuple[str, ...]:
    """Return the names of the zones that are known here."""
    from zoneinfo import available_timezones

    return tuple(sorted(available_timezones()))


@cache
def _read(name: str) -> ZoneInfo:
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def fires(cron: str, zone: ZoneInfo, count: int, start: datetime = FROM) -> list[datetime]:
    """Return the first instants after `start` at which an expression fires.

    As Debian's cron: a fixed time that a change of the clock leaves out fires once, right after
    it, and one that comes twice fires once. Raises `CronError` where it never fires.
    """
    return list(islice(_iterate(cron, start.astimezone(zone)), count))


def _iterate(cron: str, start: datetime) -> Iterator[datetime]:
    from cronsim import CronSim, CronSimError

    if len(cron.split()) != 5:  # noqa: PLR2004  # the fields of cron
        raise CronError("five fields are needed: minute, hour, day of month, month, day of week")
    try:
        found = CronSim(cron, start)
    except CronSimError as error:
        raise CronError(_reason(str(error))) from error
    first = next(found, None)
    if first is None:
        raise CronError("no day is ever like that")
    yield first
    yield from found


def _reason(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def shortest(cron: str, zone: ZoneInfo, looked: int = _MOST) -> float:
    """Return the fewest seconds between two fires in a row, of as many as are looked at."""
    found = [at.astimezone(UTC) for at in fires(cron, zone, looked)]
    gaps = [(b - a).total_seconds() for a, b in pairwise(found)]
    return min(gaps, default=float("inf"))


def changes(zone: ZoneInfo) -> Iterator[Change]:
    """Yield the changes of the clock in the years that are looked at."""
    day = FROM
    while day < FROM.replace(year=FROM.year + YEARS):
        if _offset(day, zone) != _offset(day + _DAY, zone):
            yield _change(day, zone)
        day += _DAY


def _offset(at: datetime, zone: ZoneInfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta(0)


def _change(day: datetime, zone: ZoneInfo) -> Change:
    """Find the change in the day after an instant, by halving."""
    low, high = day, day + _DAY
    before, after = _offset(low, zone), _offset(high, zone)
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) / 2
        low, high = (middle, high) if _offset(middle, zone) == before else (low, middle)
    at = high.replace(microsecond=0)
    walls = sorted(at.replace(tzinfo=None) + each for each in (before, after))
    return Change(at, walls[0], walls[1], is_gap=after > before)


def hit(cron: str, change: Change) -> datetime | None:
    """Return the first wall time at which an expression fires that a change of the clock moves.

    None where it moves none, or where the expression has no fixed hours: what fires every few
    minutes, or every hour, goes on doing so.
    """
    if cron.split()[1].startswith("*"):
        return None
    start = change.first - timedelta(seconds=1)
    first = next(_iterate(cron, start), None)
    return first if first is not None and first < change.last else None


def within(cron: str, zone: ZoneInfo, change: Change) -> int:
    """Return how many times an expression fires for wall times that a change of the clock moves.

    Those that are left out are made up for at the instant of the change, or not at all.
    """
    if change.is_gap:
        next_one = fires(cron, zone, 1, change.at - timedelta(seconds=1))[0]
        return int(next_one.astimezone(UTC) == change.at)
    around = fires(cron, zone, _MOST, change.at - 2 * (change.last - change.first))
    walls = (at.replace(tzinfo=None) for at in around)
    return sum(change.first <= wall < change.last for wall in walls)
