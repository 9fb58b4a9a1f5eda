"""Going on after a crash: everything that was under way is found in the database.

Leases of workers that are gone are taken back, messages that were not handled are handled, ready
steps are rung for again, timers are set. All of it may be done at any time, by any process, by
several at once: each act is decided on the run as it is then.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from dagflow.core.run import LoseLease
from dagflow.executor.children import awaited, perform
from dagflow.executor.engine import Engine
from dagflow.executor.leases import is_lost
from dagflow.store.rows import Lease, StepRow

_log = logging.getLogger(__name__)

Step: TypeAlias = tuple[str, str]
"""A step of a run: the run's id and the step's path."""

UNCLAIMED: Final = timedelta(seconds=15)
UNSENT: Final = timedelta(seconds=5)
OVERDUE: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What recovery found: unfinished runs, and steps (run, path) whose workers were gone.

    `broken` are those of the runs that can't go on, with the reason, and the runs that wait for
    them; the others are not held up by them.
    """

    runs: tuple[str, ...] = ()
    lost: tuple[Step, ...] = ()
    broken: Mapping[str, Exception] = field(default_factory=dict)


def recover(engine: Engine, run_id: str | None = None) -> Recovered:
    """Take up every unfinished run, or one and its children, and leave them to the worker.

    Raises `NotFoundError` for an unknown run.
    """
    runs = engine.store.unfinished() if run_id is None else _family(engine, run_id)
    lost: list[Step] = []
    broken: dict[str, Exception] = {}
    for one in reversed(runs):  # children first: a parent is broken where its child is
        engine.reach("in-recovery")
        with engine.apart(one, broken):
            lost += _take_up(engine, one)
            _check_children(engine, one, broken)
    return Recovered(tuple(runs), tuple(lost), broken)


def _check_children(engine: Engine, run_id: str, broken: Mapping[str, Exception]) -> None:
    """Raise the error of a broken child run that a run waits for."""
    for child in awaited(engine.plan_of(run_id), engine.run(run_id)):
        if child in broken:
            raise broken[child]


def sweep(engine: Engine, *, everything: bool) -> None:
    """Do what workers that are gone have left undone.

    For the runs that this process has taken up, or for everything in the database: then also
    messages that nobody handled for `UNSENT`, steps that nobody claimed for `UNCLAIMED` and
    timers that are `OVERDUE` are taken up.
    """
    if not everything:
        for run_id in engine.held():
            with engine.apart(run_id):
                _take_back_all(engine, run_id)
        return
    for lease in engine.store.leases():
        with engine.apart(lease.run_id):
            _take_back(engine, (lease,))
    now = engine.clock.now()
    unsent = engine.store.outbox(before=now - UNSENT)
    for message in unsent:
        with engine.apart(message.key.run_id):
            perform(engine, message)
    unrung = [message.key.run_id for message in unsent if message.key.kind == "dispatch"]
    waiting = [row.run_id for row in engine.store.ready() if _since(row, now) > UNCLAIMED]
    late = engine.store.due(now - OVERDUE)
    for run_id in dict.fromkeys([*unrung, *waiting, *late]):
        with engine.apart(run_id):
            engine.resume(run_id)


def _since(row: StepRow, now: datetime) -> timedelta:
    return now - (row.ready_at or now)


def _family(engine: Engine, run_id: str) -> tuple[str, ...]:
    """Return a run and its unfinished descendants, parents first."""
    engine.store.get_run(run_id)
    found = [run_id]
    for one in found:
        found += [c.id for c in engine.store.children(one) if c.finished_at is None]
    return tuple(found)


def _take_up(engine: Engine, run_id: str) -> tuple[Step, ...]:
    lost = _take_back_all(engine, run_id)
    engine.resume(run_id)
    return lost


def _take_back_all(engine: Engine, run_id: str) -> tuple[Step, ...]:
    """Take back a run's lost leases, and handle its messages and those of its children to it."""
    lost = _take_back(engine, engine.store.leases(run_id=run_id))
    children = [child.id for child in engine.store.children(run_id)]
    for sender in (run_id, *children):
        for message in engine.store.outbox(run_id=sender):
            perform(engine, message)
    return lost


def _take_back(engine: Engine, leases: tuple[Lease, ...]) -> tuple[Step, ...]:
    now = engine.clock.now()
    lost = [lease for lease in leases if is_lost(lease, now)]
    for lease in lost:
        _log.info("lease_lost run_id=%s step=%s worker=%s", lease.run_id, lease.path, lease.worker)
        engine.handle(lease.run_id, LoseLease(path=lease.path, token=lease.token))
    return tuple((lease.run_id, lease.path) for lease in lost)
