"""What dagflow needs of a database.

Every method is one transaction. Times are instants in UTC and come back to the microsecond;
JSON values come back exactly. A database that is locked, full, read-only or out of reach raises
`UnavailableError`, and what was being written is not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from dagflow.core.plan import Plan
from dagflow.store.rows import (
    Approval,
    Batch,
    Header,
    IdempotencyKey,
    Lease,
    Message,
    MessageKey,
    MessageKind,
    Registered,
    RunPage,
    RunQuery,
    RunRow,
    StepRow,
    StoredEvent,
    StoredRun,
)


class PlanStore(Protocol):
    """Plans by their digest, and the workflows registered by name."""

    def put_plan(self, plan: Plan, at: datetime) -> None:
        """Keep a plan. Keeping the same plan again changes nothing."""
        ...

    def get_plan(self, digest: str) -> Plan:
        """Return a plan. Raises `NotFoundError`."""
        ...

    def register(self, registered: Registered) -> Registered:
        """Add a version of a workflow, whose plan must be there, and return it with its number.

        The same version with the same plan again returns the first. Raises `ConflictError`
        when the version exists with another plan.
        """
        ...

    def get_workflow(self, name: str, version: str | None = None) -> Registered:
        """Return a version of a workflow, the latest when none is named, or `NotFoundError`."""
        ...

    def list_workflows(self) -> tuple[Registered, ...]:
        """Return the latest version of every workflow, by name."""
        ...

    def list_versions(self, name: str) -> tuple[Registered, ...]:
        """Return every version of a workflow, the latest first."""
        ...


class LogStore(Protocol):
    """Runs and their logs: the truth, and the rows that follow from it."""

    def create(
        self,
        header: Header,
        batch: Batch,
        *,
        plan: Plan | None = None,
        key: IdempotencyKey | None = None,
        answers: MessageKey | None = None,
    ) -> str:
        """Create a run with its first batch, which makes it version 1, and return its id.

        `plan` is kept, too, where it may not be known yet. With a key that was used before,
        nothing is written and the id of that run is returned; `ConflictError` when the
        fingerprint is another. `answers` leaves the outbox with it: of two that answer a message,
        or that answer and settle it, exactly one succeeds. Raises `ConflictError` when that
        message is not there any more, or the run exists, `NotFoundError` when its plan does not.
        """
        ...

    def append(self, batch: Batch, *, expected_version: int) -> int:
        """Add a batch after `expected_version` and return the seq of its last change.

        Raises `VersionConflictError` when the run has moved on: of two writers that read the
        same version exactly one succeeds, in one process or many. The rows of the run, of the
        steps touched, of approvals and of the outbox are written in the same transaction.
        """
        ...

    def load(self, run_id: str, *, after: int = 0) -> StoredRun:
        """Return a run with the changes of the batches after version `after`, in order.

        Raises `NotFoundError`.
        """
        ...

    def events(self, run_id: str, *, after: int = 0, limit: int = 1000) -> tuple[StoredEvent, ...]:
        """Return changes with a seq above `after`, in order."""
        ...

    def versions(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the version of each of these runs that exists."""
        ...


class QueryStore(Protocol):
    """What lists, workers and recovery ask for."""

    def get_run(self, run_id: str) -> RunRow:
        """Return a run's row. Raises `NotFoundError`."""
        ...

    def list_runs(self, query: RunQuery) -> RunPage:
        """Return a page of runs, newest first; runs created meanwhile don't shift the pages.

        Raises `UsageError` for a cursor that no page gave.
        """
        ...

    def unfinished(self, *, family: str | None = None) -> tuple[str, ...]:
        """Return the runs that are not over, oldest first: all, or those with the root of one."""
        ...

    def children(self, run_id: str) -> tuple[RunRow, ...]:
        """Return the child runs of a run, oldest first."""
        ...

    def steps(self, run_id: str) -> tuple[StepRow, ...]:
        """Return the rows of the run's steps, by path."""
        ...

    def due(self, now: datetime) -> tuple[str, ...]:
        """Return runs whose `wake_at` has come, the longest overdue first."""
        ...

    def next_wake(self) -> datetime | None:
        """Return the earliest `wake_at` of all runs."""
        ...

    def ready(self, *, run_id: str | None = None) -> tuple[StepRow, ...]:
        """Return steps that may be claimed, the longest ready first."""
        ...

    def neglected(self, *, unsent: datetime, unclaimed: datetime) -> tuple[str, ...]:
        """Return runs with a bell that nobody rang since, or a step that was ready all the time."""
        ...

    def leases(self, *, run_id: str | None = None) -> tuple[Lease, ...]:
        """Return every lease, the first to end first."""
        ...

    def extend(self, leases: Sequence[Lease], until: datetime) -> tuple[Lease, ...]:
        """Make these leases end at `until`, and return those that no longer hold.

        A lease holds while its step is running under its token. It is not a change of the run:
        the log doesn't show it.
        """
        ...

    def approvals(self, *, run_id: str | None = None) -> tuple[Approval, ...]:
        """Return what waits for a person, the longest waiting first."""
        ...

    def get_approval(self, approval_id: str) -> Approval:
        """Return one approval, decided or not. Raises `NotFoundError`."""
        ...

    def outbox(
        self,
        *,
        families: Sequence[str] | None = None,
        kinds: Sequence[MessageKind] = (),
        before: datetime | None = None,
    ) -> tuple[MessageKey, ...]:
        """Name the messages that are neither sent nor settled, oldest first.

        Of those, only what these runs and all that have the same root have put in, where
        `families` names any; of these kinds, where there are any; and put in `before`.
        """
        ...

    def message(self, key: MessageKey) -> Message | None:
        """Return a message of the outbox, if it is open still."""
        ...

    def mark_sent(self, keys: Sequence[MessageKey], at: datetime) -> None:
        """Note that these messages were handed over. Settled ones are passed over."""
        ...

    def settle(self, keys: Sequence[MessageKey]) -> None:
        """Take these messages out of the outbox."""
        ...


class RunStore(PlanStore, LogStore, QueryStore, Protocol):
    """All of it. `close` may be called twice."""

    def close(self) -> None:
        """Let go of the database."""
        ...
