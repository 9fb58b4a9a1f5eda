"""The runs that a process has taken up: in memory, with who waits for them, or known as broken."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Final

from dagflow.core.plan import Plan
from dagflow.core.run import Run
from dagflow.executor.broken import Broken
from dagflow.executor.children import awaited
from dagflow.executor.held import Held, loaded
from dagflow.executor.waiters import Waiters
from dagflow.store.base import RunStore

KEPT: Final = 4
"""Runs that are over and were asked for again, kept in memory: a family's stopped child runs tell
what they used one after another, and each telling would read the whole log.
"""


class Roster:
    """Runs by their id. Whoever uses it keeps other threads out meanwhile."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._held: dict[str, Held] = {}
        self._behind: dict[str, int] = {}
        self._over: dict[str, Held] = {}
        self._plans: dict[str, Plan] = {}
        self._waiters = Waiters()
        self.broken = Broken()

    def held(self) -> tuple[Held, ...]:
        """Return the unfinished runs in memory."""
        return tuple(self._held.values())

    def ids(self) -> tuple[str, ...]:
        """Return the unfinished runs, in memory or to be read anew."""
        return tuple({**self._held, **self._behind})

    def get(self, run_id: str) -> Held | None:
        """Return a run if it is in memory."""
        return self._held.get(run_id)

    def hold(self, run_id: str) -> Held:
        """Return a run, which stays in memory until it is over. Raises `NotFoundError`."""
        held = self._held.get(run_id) or self._unchanged(run_id)
        if held is None:
            stored = self._store.load(run_id)
            held = loaded(stored, self.plan(stored.header.plan))
        if held.run.state.is_final:
            self._keep(held)
        else:
            self._held[run_id] = held
        return held

    def _unchanged(self, run_id: str) -> Held | None:
        """Return a kept run that is over, if nothing was added to it elsewhere."""
        held = self._over.get(run_id)
        if held is None or self._store.versions([run_id]).get(run_id) != held.run.version:
            return None
        return held

    def _keep(self, held: Held) -> None:
        self._over.pop(held.run.id, None)
        self._over[held.run.id] = held
        while len(self._over) > KEPT:
            del self._over[next(iter(self._over))]

    def add(self, held: Held) -> None:
        """Take up a run that has just been created."""
        self._plans[held.plan.digest] = held.plan
        self._held[held.run.id] = held

    def spoil(self, run_id: str, version: int) -> None:
        """Forget what is in memory of a run: it is to be read anew, and followed from a version."""
        if self._held.pop(run_id, None) is not None:
            self._behind.setdefault(run_id, version)
        self._over.pop(run_id, None)

    def behind(self) -> tuple[str, ...]:
        """Return the runs of which not all that was stored is followed."""
        return tuple(self._behind)

    def is_behind(self, run_id: str) -> bool:
        """Tell whether a run is to be followed first."""
        return run_id in self._behind

    @contextmanager
    def following(self, held: Held) -> Iterator[int]:
        """Give the version from which a run is to be followed; it is behind if that fails."""
        run_id = held.run.id
        yield self._behind.setdefault(run_id, held.run.version)
        self._behind.pop(run_id, None)

    def plan(self, digest: str) -> Plan:
        """Return a plan. Raises `NotFoundError`."""
        if digest not in self._plans:
            self._plans[digest] = self._store.get_plan(digest)
        return self._plans[digest]

    def known(self, plan: Plan) -> Plan | None:
        """Return the plan in memory that equals this one, which is in the store then."""
        return self._plans.get(plan.digest)

    def missing(self, held: Held) -> list[str]:
        """Return the child runs that a run waits for and that are not taken up."""
        awaiting = awaited(held.plan, held.run)
        return [run for run in awaiting if run not in self._held and run not in self.broken]

    def over(self, held: Held) -> None:
        """Tell who waits for a run that it is over, and hold it no longer."""
        self._held.pop(held.run.id, None)
        self._behind.pop(held.run.id, None)
        self._waiters.finish(held.run)

    def end_of(self, run_id: str) -> asyncio.Future[Run]:
        """Return a future of the running loop for the run when it is over.

        Raises, or comes to raise, `trouble_of` the run.
        """
        if (trouble := self.trouble_of(run_id)) is not None:
            raise trouble
        return self._waiters.add(run_id)

    def await_no_more(self, run_id: str, end: asyncio.Future[Run]) -> None:
        """Take back `end_of`."""
        self._waiters.drop(run_id, end)

    def abandon(self, run_id: str, error: Exception) -> None:
        """Drop a run that can't go on. Who waits for it fails, or for a run that waits for it."""
        held, behind = self._held.pop(run_id, None), self._behind.pop(run_id, None)
        version = behind if behind is not None else held.run.version if held else None
        self.broken.add(run_id, error, version)
        for one in (run_id, *self._waiting_for(run_id)):
            self._waiters.fail(one, error)

    def trouble_of(self, run_id: str) -> Exception | None:
        """Return why a run that was taken up can't go on, or a child run that it waits for."""
        found, held = self.broken.error_of(run_id), self._held.get(run_id)
        children = awaited(held.plan, held.run) if held is not None else ()
        return found or next(filter(None, map(self.trouble_of, children)), None)

    def weed(self, existing: Container[str]) -> None:
        """Forget broken child runs that came to be nowhere and that nobody waits for any more."""
        for run_id in self.broken:
            if run_id not in existing and next(self._waiting_for(run_id), None) is None:
                self.broken.forget(run_id)

    def _waiting_for(self, child: str) -> Iterator[str]:
        """Yield the runs in memory that wait for a child run, and those that wait for them."""
        for held in self.held():
            if child in awaited(held.plan, held.run):
                yield held.run.id
                yield from self._waiting_for(held.run.id)
