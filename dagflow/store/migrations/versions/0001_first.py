"""Every table of the first version."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "plan",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_plan"),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("workflow", sa.Text(), nullable=False),
        sa.Column("workflow_version", sa.Text(), nullable=False),
        sa.Column("root", sa.Text(), nullable=False),
        sa.Column("parent", sa.Text(), nullable=False),
        sa.Column("parent_path", sa.Text(), nullable=False),
        sa.Column("parent_key", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("deadline_at", sa.BigInteger(), nullable=True),
        sa.Column("wake_at", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("outputs", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["plan"], ["plan.digest"], name="fk_run_plan"),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
    )
    op.create_index("ix_run_created", "run", ["created_at", "id"], unique=False)
    op.create_index(
        "ix_run_parent",
        "run",
        ["parent"],
        unique=False,
        sqlite_where=sa.text("parent != ''"),
        postgresql_where=sa.text("parent != ''"),
    )
    op.create_index(
        "ix_run_wake",
        "run",
        ["wake_at"],
        unique=False,
        sqlite_where=sa.text("wake_at IS NOT NULL"),
        postgresql_where=sa.text("wake_at IS NOT NULL"),
    )
    op.create_table(
        "workflow",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("source_name", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("registered_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["plan"], ["plan.digest"], name="fk_workflow_plan"),
        sa.PrimaryKeyConstraint("name", "version", name="pk_workflow"),
    )
    op.create_table(
        "approval",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_approval_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_approval"),
    )
    op.create_index(
        "ix_approval_waiting",
        "approval",
        ["asked_at"],
        unique=False,
        sqlite_where=sa.text("state = 'waiting'"),
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_table(
        "event",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_event_run_id"),
        sa.PrimaryKeyConstraint("run_id", "seq", name="pk_event"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "idempotency",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_idempotency_run_id"),
        sa.PrimaryKeyConstraint("scope", "key", name="pk_idempotency"),
    )
    op.create_table(
        "outbox",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_outbox_run_id"),
        sa.PrimaryKeyConstraint("run_id", "kind", "path", name="pk_outbox"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "run_inputs",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_run_inputs_run_id"),
        sa.PrimaryKeyConstraint("run_id", name="pk_run_inputs"),
    )
    op.create_table(
        "step",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("due", sa.BigInteger(), nullable=True),
        sa.Column("ready_at", sa.BigInteger(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_step_run_id"),
        sa.PrimaryKeyConstraint("run_id", "path", name="pk_step"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_step_lease",
        "step",
        ["lease_until"],
        unique=False,
        sqlite_where=sa.text("lease_until IS NOT NULL"),
        postgresql_where=sa.text("lease_until IS NOT NULL"),
    )
    op.create_index(
        "ix_step_ready",
        "step",
        ["ready_at"],
        unique=False,
        sqlite_where=sa.text("state = 'ready'"),
        postgresql_where=sa.text("state = 'ready'"),
    )


def downgrade() -> None:
    """Drop the tables and their indexes."""
    op.drop_table("step")
    op.drop_table("run_inputs")
    op.drop_table("outbox")
    op.drop_table("idempotency")
    op.drop_table("event")
    op.drop_table("approval")
    op.drop_table("workflow")
    op.drop_table("run")
    op.drop_table("plan")
