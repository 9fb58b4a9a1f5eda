"""Leases: how long a claim holds, who holds it, and whether its holder is still there."""

from __future__ import annotations

import itertools
import os
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from dagflow.store.rows import Lease

_count = itertools.count(1)


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """A claim holds for `length` unless it is extended, every `beat`.

    A worker that could not extend for `length - margin` stops its work by itself, so that it is
    still when another one may begin.
    """

    length: timedelta = timedelta(seconds=30)
    beat: timedelta = timedelta(seconds=10)
    margin: timedelta = timedelta(seconds=5)


LEASES: Final = LeaseTimes()


@dataclass(frozen=True, slots=True)
class WorkerId:
    """A worker as a process: the start time tells it from a later process of the same number."""

    host: str
    pid: int
    started: str
    number: int

    def __str__(self) -> str:
        return f"{self.host}/{self.pid}/{self.started}/{self.number}"


def this_worker() -> WorkerId:
    """Return a new worker of this process."""
    pid = os.getpid()
    return WorkerId(socket.gethostname(), pid, _started(pid) or "0", next(_count))


def is_lost(lease: Lease, now: datetime) -> bool:
    """Tell whether a lease has ended, or its holder was a process of this host that is gone."""
    return lease.until <= now or is_gone(lease.worker)


def is_gone(worker: str) -> bool:
    """Tell whether a worker is known to be gone; of another host's workers nothing is known."""
    host, _, rest = worker.rpartition("/")[0].partition("/")
    pid, _, started = rest.partition("/")
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    return _started(int(pid)) != started


def _started(pid: int) -> str | None:
    """Return when a process began (in clock ticks since boot), or None when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold anything
    return None if fields[0] in {"Z", "X"} else fields[19]
