"""Time as an argument: nothing in dagflow asks the machine for it directly."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


def instant(at: datetime) -> str:
    """Write an instant as RFC 3339 in UTC, always with microseconds."""
    # `strftime` would take ten times as long, at every step
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """Return the present instant, always in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the machine's time in UTC."""
        return datetime.fromtimestamp(time.time(), UTC)


class FakeClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> datetime:
        """Return the instant the test has reached."""
        return self._now

    def advance(self, by: timedelta) -> None:
        """Move the clock forward."""
        self._now += by
