"""What lists, workers and recovery ask of the SQL store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from dagflow.core.errors import NotFoundError
from dagflow.core.run import RUN_FINAL
from dagflow.store import tables
from dagflow.store.cursor import place, written
from dagflow.store.projection import (
    instant,
    micros,
    to_approval,
    to_lease,
    to_run,
    to_step,
)
from dagflow.store.rows import Approval, Lease, RunPage, RunQuery, RunRow, StepRow
from dagflow.store.sql.database import Database
from dagflow.store.sql.part import Part, in_families

_run, _step, _approval = tables.run.c, tables.step.c, tables.approval.c
_outbox = tables.outbox.c
_OVER = sorted(state.value for state in RUN_FINAL)


class SqlQueries(Part):
    """Reads the rows that follow from the logs, and keeps leases."""

    def _prepare(self, database: Database) -> None:
        super()._prepare(database)
        self._extend = database.prepare(_extended())

    def get_run(self, run_id: str) -> RunRow:
        """Return a run's row; see `QueryStore`."""
        row = self._database.row(sa.select(tables.run).where(_run.id == run_id))
        if row is None:
            raise NotFoundError(f"there is no run {run_id}")
        return to_run(row)

    def list_runs(self, query: RunQuery) -> RunPage:
        """Return a page of runs; see `QueryStore`."""
        wanted = sa.select(tables.run)
        if query.states:
            wanted = wanted.where(_run.state.in_(query.states))
        if query.workflow:
            wanted = wanted.where(_run.workflow == query.workflow)
        if query.parent is not None:
            wanted = wanted.where(_run.parent == query.parent)
        if query.cursor:
            wanted = wanted.where(sa.tuple_(_run.created_at, _run.id) < place(query.cursor))
        wanted = wanted.order_by(_run.created_at.desc(), _run.id.desc()).limit(query.limit + 1)
        rows = [to_run(row) for row in self._database.rows(wanted)]
        page = tuple(rows[: query.limit])
        return RunPage(runs=page, next=written(page[-1]) if len(rows) > len(page) > 0 else "")

    def unfinished(self, *, family: str | None = None) -> tuple[str, ...]:
        """Return runs that are not over; see `QueryStore`."""
        query = sa.select(_run.id).where(_run.state.not_in(_OVER))
        if family is not None:
            query = query.where(in_families([family]))
        with self._database.reading() as connection:
            return tuple(connection.scalars(query.order_by(_run.created_at, _run.id)))

    def children(self, run_id: str) -> tuple[RunRow, ...]:
        """Return child runs; see `QueryStore`."""
        query = sa.select(tables.run).where(_run.parent == run_id, _run.parent != "")
        return tuple(map(to_run, self._database.rows(query.order_by(_run.created_at, _run.id))))

    def steps(self, run_id: str) -> tuple[StepRow, ...]:
        """Return the steps of a run; see `QueryStore`."""
        query = sa.select(tables.step).where(_step.run_id == run_id).order_by(_step.path)
        return tuple(map(to_step, self._database.rows(query)))

    def due(self, now: datetime) -> tuple[str, ...]:
        """Return runs to wake; see `QueryStore`."""
        query = sa.select(_run.id).where(_run.wake_at <= micros(now))
        with self._database.reading() as connection:
            return tuple(connection.scalars(query.order_by(_run.wake_at, _run.id)))

    def next_wake(self) -> datetime | None:
        """Return the earliest wake; see `QueryStore`."""
        query = sa.select(sa.func.min(_run.wake_at)).where(_run.wake_at.is_not(None))
        with self._database.reading() as connection:
            return instant(connection.scalar(query))

    def ready(self, *, run_id: str | None = None) -> tuple[StepRow, ...]:
        """Return steps to claim; see `QueryStore`."""
        query = sa.select(tables.step).where(_step.state == "ready")
        if run_id is not None:
            query = query.where(_step.run_id == run_id)
        query = query.order_by(_step.ready_at, _step.run_id, _step.path)
        return tuple(map(to_step, self._database.rows(query)))

    def neglected(self, *, unsent: datetime, unclaimed: datetime) -> tuple[str, ...]:
        """Return runs to take up again; see `QueryStore`."""
        bells = sa.select(_outbox.run_id).where(
            _outbox.kind == "dispatch",
            _outbox.sent_at.is_(None),
            _outbox.created_at <= micros(unsent),
        )
        steps = sa.select(_step.run_id).where(
            _step.state == "ready", _step.ready_at <= micros(unclaimed)
        )
        with self._database.reading() as connection:
            return tuple(sorted(connection.scalars(sa.union(bells, steps))))

    def leases(self, *, run_id: str | None = None) -> tuple[Lease, ...]:
        """Return leases; see `QueryStore`."""
        query = sa.select(tables.step).where(_step.lease_until.is_not(None))
        if run_id is not None:
            query = query.where(_step.run_id == run_id)
        query = query.order_by(_step.lease_until, _step.run_id, _step.path)
        return tuple(map(to_lease, self._database.rows(query)))

    def extend(self, leases: Sequence[Lease], until: datetime) -> tuple[Lease, ...]:
        """Extend leases; see `QueryStore`."""
        lost = []
        with self._database.writing() as cursor:
            for lease in leases:
                cursor.execute(
                    self._extend,
                    {
                        "which_run": lease.run_id,
                        "which_path": lease.path,
                        "which_token": lease.token,
                        "until": micros(until),
                    },
                )
                if cursor.rowcount == 0:
                    lost.append(lease)
        return tuple(lost)

    def approvals(self, *, run_id: str | None = None) -> tuple[Approval, ...]:
        """Return what waits for a person; see `QueryStore`."""
        query = sa.select(tables.approval).where(_approval.state == "waiting")
        if run_id is not None:
            query = query.where(_approval.run_id == run_id)
        query = query.order_by(_approval.asked_at, _approval.id)
        return tuple(map(to_approval, self._database.rows(query)))

    def get_approval(self, approval_id: str) -> Approval:
        """Return one approval; see `QueryStore`."""
        query = sa.select(tables.approval).where(_approval.id == approval_id)
        row = self._database.row(query)
        if row is None:
            raise NotFoundError(f"there is no approval {approval_id}")
        return to_approval(row)


def _extended() -> sa.Update:
    return (
        tables.step.update()
        .where(
            _step.run_id == sa.bindparam("which_run"),
            _step.path == sa.bindparam("which_path"),
            _step.token == sa.bindparam("which_token"),
            _step.state == sa.literal_column("'running'"),
        )
        .values(lease_until=sa.bindparam("until"))
    )
