"""Going on after a crash: everything that was under way is found in the database.

Leases of workers that are gone are taken back, messages that were not handled are handled, ready
steps are rung for again, timers are set. All of it may be done at any time, by any process, by
several at once: each act is decided on the run as it is then.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from dagflow.core.run import LoseLease
from dagflow.executor.children import FAMILY, addressee
from dagflow.executor.engine import Engine
from dagflow.executor.leases import is_lost
from dagflow.store.rows import Lease, Message

_log = logging.getLogger(__name__)

Step: TypeAlias = tuple[str, str]
"""A step of a run: the run's id and the step's path."""

UNCLAIMED: Final = timedelta(seconds=15)
UNSENT: Final = timedelta(seconds=5)
OVERDUE: Final = timedelta(seconds=5)
_PART: Final = 1000
"""Runs named in one query: a database takes only so many."""


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
    """Take up every unfinished run, or one and its family, and leave them to the worker.

    Raises `NotFoundError` for an unknown run.
    """
    engine.reach("in-recovery")
    if run_id is not None:
        engine.store.get_run(run_id)
    _perform_open(engine, None if run_id is None else [run_id])
    runs = engine.store.unfinished(family=run_id)
    lost: list[Step] = []
    for one in reversed(runs):  # children first: what they come to is news for their parents
        engine.reach("in-recovery")
        if engine.is_broken(one):
            continue
        with engine.apart(one):
            lost += _take_back(engine, engine.store.leases(run_id=one))
            engine.resume(one)
    troubles = ((one, engine.trouble_of(one)) for one in runs)
    broken = {one: error for one, error in troubles if error is not None}
    return Recovered(tuple(runs), tuple(lost), broken)


def sweep(engine: Engine, *, everything: bool) -> None:
    """Do what workers that are gone have left undone, for all runs that are not broken.

    For the runs that this process has taken up, or for everything in the database: then also
    messages that nobody handled for `UNSENT`, steps that nobody claimed for `UNCLAIMED` and
    timers that are `OVERDUE` are taken up.
    """
    now = engine.clock.now()
    if everything:
        _sweep_leases(engine, engine.store.leases())
        _perform_open(engine, before=now - UNSENT)
        _ring_again(engine, now)
    else:
        held = set(engine.held())
        _sweep_leases(engine, [one for one in engine.store.leases() if one.run_id in held])
        _perform_open(engine, sorted(held))


def _sweep_leases(engine: Engine, leases: Sequence[Lease]) -> None:
    for lease in leases:
        if not engine.is_broken(lease.run_id):
            with engine.apart(lease.run_id):
                _take_back(engine, (lease,))


def _ring_again(engine: Engine, now: datetime) -> None:
    """Take up the runs that have waited too long for a bell or for their timer."""
    neglected = engine.store.neglected(unsent=now - UNSENT, unclaimed=now - UNCLAIMED)
    for run_id in dict.fromkeys([*neglected, *engine.store.due(now - OVERDUE)]):
        if not engine.is_broken(run_id):
            with engine.apart(run_id):
                engine.resume(run_id)


def _perform_open(
    engine: Engine, runs: Sequence[str] | None = None, *, before: datetime | None = None
) -> None:
    """Do what messages between parents and children ask for, in the families of runs or in all.

    Also those of runs that are over: they may have been stored just before a process died.
    """
    parts = [None] if runs is None else [runs[n : n + _PART] for n in range(0, len(runs), _PART)]
    for part in parts:
        for key in engine.store.outbox(families=part, kinds=FAMILY, before=before):
            if not engine.is_broken(key.run_id):
                with engine.apart(key.run_id):
                    _take_up(engine, engine.store.message(key))
    engine.go_on()


def _take_up(engine: Engine, message: Message | None) -> None:
    if message is not None and not engine.is_broken(addressee(message)):
        engine.take_up(message)


def _take_back(engine: Engine, leases: Sequence[Lease]) -> tuple[Step, ...]:
    now = engine.clock.now()
    lost = [lease for lease in leases if is_lost(lease, now)]
    for lease in lost:
        _log.info("lease_lost run_id=%s step=%s worker=%s", lease.run_id, lease.path, lease.worker)
        engine.fresh(lease.run_id)  # on a view from before the claim there is nothing to lose
        engine.handle(lease.run_id, LoseLease(path=lease.path, token=lease.token))
    return tuple((lease.run_id, lease.path) for lease in lost)
