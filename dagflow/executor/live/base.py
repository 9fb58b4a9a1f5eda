"""What happens in a run, for those who watch it now: changes as they are stored, and tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from dagflow.core.run import Change
from dagflow.core.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A change that is stored: `seq` is its place in the run's log."""

    run_id: str
    seq: int
    change: Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """Something that a step said while it worked (`token`, `log`, `progress`); never stored."""

    run_id: str
    path: str
    kind: str
    data: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """The watcher was too slow: events are missing here; stored ones can be read by `seq`."""

    run_id: str


LiveEvent: TypeAlias = Recorded | Emitted | Missed


class Subscription(Protocol):
    """One watcher of one run, or of all."""

    def __aiter__(self) -> AsyncIterator[LiveEvent]:
        """Yield events in order, until `close`."""
        ...

    def close(self) -> None:
        """Stop watching."""
        ...


class LiveBus(Protocol):
    """Carries live events. Nothing depends on it: an event may be lost, and publishing is quick."""

    def publish(self, event: LiveEvent) -> None:
        """Hand an event to whoever watches its run."""
        ...

    def is_watched(self, run_id: str) -> bool:
        """Tell whether anybody would get an event of this run."""
        ...

    def subscribe(self, run_id: str = "") -> Subscription:
        """Watch a run, or all runs, from now on."""
        ...
