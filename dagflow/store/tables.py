"""The tables, for SQLite and PostgreSQL alike.

Times are whole microseconds since 1970 in UTC; JSON is text, so that integers keep every digit.
Rows that a step touches are small and few: a commit writes each page that it touched.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _name(column: str, *, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(column, sa.Text(), nullable=False, primary_key=primary_key)


def _count(column: str) -> sa.Column[int]:
    return sa.Column(column, sa.BigInteger(), nullable=False)


def _time(column: str, *, nullable: bool = True) -> sa.Column[int]:
    return sa.Column(column, sa.BigInteger(), nullable=nullable)


def _json(column: str, *, nullable: bool = True) -> sa.Column[str]:
    return sa.Column(column, sa.Text(), nullable=nullable)


def _of_run() -> sa.Column[str]:
    return sa.Column("run_id", sa.Text(), sa.ForeignKey("run.id"), primary_key=True)


def _partial(name: str, *columns: sa.Column[Any], where: sa.ColumnElement[bool]) -> None:
    sa.Index(name, *columns, sqlite_where=where, postgresql_where=where)


plan = sa.Table(
    "plan",
    metadata,
    _name("digest", primary_key=True),
    _name("name"),
    _json("body", nullable=False),
    _time("created_at", nullable=False),
)

workflow = sa.Table(
    "workflow",
    metadata,
    _name("name", primary_key=True),
    _name("version", primary_key=True),
    _count("number"),
    sa.Column("plan", sa.Text(), sa.ForeignKey("plan.digest"), nullable=False),
    _name("source_name"),
    _name("source"),
    _json("report", nullable=False),
    _time("registered_at", nullable=False),
)

run = sa.Table(
    "run",
    metadata,
    _name("id", primary_key=True),
    sa.Column("plan", sa.Text(), sa.ForeignKey("plan.digest"), nullable=False),
    _name("workflow"),
    _name("workflow_version"),
    _name("root"),
    _name("parent"),
    _name("parent_path"),
    _name("parent_key"),
    _name("prefix"),
    _count("attempt"),
    _name("state"),
    _count("version"),
    _count("seq"),
    _time("created_at", nullable=False),
    _time("started_at"),
    _time("finished_at"),
    _time("deadline_at"),
    _time("wake_at"),
    _json("error"),
    _json("outputs"),
)
sa.Index("ix_run_created", run.c.created_at, run.c.id)
_partial("ix_run_parent", run.c.parent, where=run.c.parent != "")
_partial("ix_run_wake", run.c.wake_at, where=run.c.wake_at.is_not(None))

run_inputs = sa.Table(
    "run_inputs",
    metadata,
    _of_run(),
    _json("body", nullable=False),
)
"""Apart from the run, whose row is written at every step."""

idempotency = sa.Table(
    "idempotency",
    metadata,
    _name("scope", primary_key=True),
    _name("key", primary_key=True),
    _name("fingerprint"),
    sa.Column("run_id", sa.Text(), sa.ForeignKey("run.id"), nullable=False),
    _time("created_at", nullable=False),
)

event = sa.Table(
    "event",
    metadata,
    _of_run(),
    sa.Column("seq", sa.BigInteger(), primary_key=True),
    _count("version"),
    _json("body", nullable=False),
    sqlite_with_rowid=False,
)

step = sa.Table(
    "step",
    metadata,
    _of_run(),
    _name("path", primary_key=True),
    _name("state"),
    _count("attempt"),
    _count("token"),
    _name("worker"),
    _time("lease_until"),
    _time("due"),
    _time("ready_at"),
    _time("started_at"),
    _time("finished_at"),
    _json("error"),
    sqlite_with_rowid=False,
)
_partial("ix_step_ready", step.c.ready_at, where=step.c.state == "ready")
_partial("ix_step_lease", step.c.lease_until, where=step.c.lease_until.is_not(None))

outbox = sa.Table(
    "outbox",
    metadata,
    _of_run(),
    _name("kind", primary_key=True),
    _name("path", primary_key=True),
    _json("body", nullable=False),
    _time("created_at", nullable=False),
    _time("sent_at"),
    sqlite_with_rowid=False,
)

approval = sa.Table(
    "approval",
    metadata,
    _name("id", primary_key=True),
    sa.Column("run_id", sa.Text(), sa.ForeignKey("run.id"), nullable=False),
    _name("path"),
    _name("state"),
    _json("body", nullable=False),
    _time("asked_at", nullable=False),
    _time("expires_at"),
    _time("decided_at"),
)
_partial("ix_approval_waiting", approval.c.asked_at, where=approval.c.state == "waiting")

version = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""The revision of the schema, as alembic keeps it."""
