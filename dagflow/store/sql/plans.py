"""Plans and registered workflows in SQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from dagflow.core.errors import ConflictError, NotFoundError
from dagflow.core.plan import Plan
from dagflow.core.plan_json import from_json, to_json
from dagflow.store import tables
from dagflow.store.projection import Row, micros, registered_fields, text, to_registered, value_of
from dagflow.store.reading import reading
from dagflow.store.rows import Registered
from dagflow.store.sql.database import Cursor, Database, Upsert
from dagflow.store.sql.part import Part

_workflow = tables.workflow.c


def plan_of() -> sa.Select[tuple[str]]:
    """Return the query that tells whether the plan `which` is there."""
    return sa.select(tables.plan.c.digest).where(tables.plan.c.digest == sa.bindparam("which"))


def put_plan(database: Database) -> Upsert:
    """Return the statement that keeps a plan that may be there already."""
    return database.insert(tables.plan).on_conflict_do_nothing(index_elements=["digest"])


def plan_fields(plan: Plan, at: datetime) -> Row:
    """Return a plan's row."""
    return {
        "digest": plan.digest,
        "name": plan.name,
        "body": text(to_json(plan)),
        "created_at": micros(at),
    }


class SqlPlans(Part):
    """Plans by digest, workflows by name and version."""

    def _prepare(self, database: Database) -> None:
        super()._prepare(database)
        self._put_plan = database.prepare(put_plan(database))
        self._plan = database.prepare(plan_of())
        self._register = database.prepare(tables.workflow.insert())
        self._versions = database.prepare(
            sa.select(_workflow.version, _workflow.plan, _workflow.number)
            .where(_workflow.name == sa.bindparam("which"))
            .order_by(_workflow.number.desc())
        )

    def put_plan(self, plan: Plan, at: datetime) -> None:
        """Keep a plan; see `PlanStore`."""
        with self._database.writing() as cursor:
            cursor.execute(self._put_plan, plan_fields(plan, at))

    def get_plan(self, digest: str) -> Plan:
        """Return a plan; see `PlanStore`."""
        query = sa.select(tables.plan.c.body).where(tables.plan.c.digest == digest)
        row = self._database.row(query)
        if row is None:
            raise NotFoundError(f"there is no plan {digest}")
        with reading(f"plan {digest}"):
            return from_json(value_of(row["body"]))

    def register(self, registered: Registered) -> Registered:
        """Add a version of a workflow; see `PlanStore`."""
        with self._database.writing() as cursor:
            number = self._number(cursor, registered)
            if number is not None:
                cursor.execute(self._plan, {"which": registered.plan})
                if cursor.fetchone() is None:
                    raise NotFoundError(f"there is no plan {registered.plan}")
                found = replace(registered, number=number)
                cursor.execute(self._register, registered_fields(found))
        return self.get_workflow(registered.name, registered.version)

    def _number(self, cursor: Cursor, registered: Registered) -> int | None:
        """Return the number of a new version, or None when it is there already."""
        cursor.execute(self._versions, {"which": registered.name})
        rows = cursor.fetchall()
        plans = {version: plan for version, plan, _ in rows}
        known = plans.get(registered.version)
        if known is None:
            return int(rows[0][2]) + 1 if rows else 1
        if known != registered.plan:
            raise ConflictError(
                f"version {registered.version!r} of workflow {registered.name!r} exists"
                " with another plan",
                remedy="give the changed workflow a new version",
            )
        return None

    def get_workflow(self, name: str, version: str | None = None) -> Registered:
        """Return a version of a workflow; see `PlanStore`."""
        query = sa.select(tables.workflow).where(_workflow.name == name)
        if version is not None:
            query = query.where(_workflow.version == version)
        row = self._database.row(query.order_by(_workflow.number.desc()).limit(1))
        if row is None:
            which = f"version {version!r} of workflow {name!r}" if version else f"workflow {name!r}"
            raise NotFoundError(f"there is no {which}")
        return to_registered(row)

    def list_workflows(self) -> tuple[Registered, ...]:
        """Return the latest versions; see `PlanStore`."""
        latest = (
            sa.select(_workflow.name, sa.func.max(_workflow.number).label("number"))
            .group_by(_workflow.name)
            .subquery()
        )
        query = sa.select(tables.workflow).join(
            latest, sa.and_(latest.c.name == _workflow.name, latest.c.number == _workflow.number)
        )
        return tuple(map(to_registered, self._database.rows(query.order_by(_workflow.name))))

    def list_versions(self, name: str) -> tuple[Registered, ...]:
        """Return every version of a workflow; see `PlanStore`."""
        query = sa.select(tables.workflow).where(_workflow.name == name)
        return tuple(
            map(to_registered, self._database.rows(query.order_by(_workflow.number.desc())))
        )
