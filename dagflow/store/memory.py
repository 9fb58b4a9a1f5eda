"""A store that forgets: for tests, dry runs and simulations."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import inf
from typing import Any

from dagflow.core.errors import ConflictError, NotFoundError, VersionConflictError
from dagflow.core.events import encode
from dagflow.core.plan import Plan
from dagflow.core.plan_json import from_json, to_json
from dagflow.core.run import RUN_FINAL, RunChanged
from dagflow.store.cursor import place, written
from dagflow.store.projection import (
    Row,
    answered,
    asked,
    batch_time,
    changes_of,
    header_fields,
    instant,
    message_fields,
    micros,
    run_fields,
    step_fields,
    text,
    to_approval,
    to_header,
    to_lease,
    to_message,
    to_run,
    to_step,
    touched,
    value_of,
)
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

_OVER = {state.value for state in RUN_FINAL}


class MemoryPlans:
    """Plans and workflows in memory."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._plans: dict[str, str] = {}
        self._workflows: dict[str, dict[str, Registered]] = {}

    def put_plan(self, plan: Plan, at: datetime) -> None:  # noqa: ARG002  # others record it
        """Keep a plan; see `PlanStore`."""
        self._plans.setdefault(plan.digest, text(to_json(plan)))

    def get_plan(self, digest: str) -> Plan:
        """Return a plan; see `PlanStore`."""
        if digest not in self._plans:
            raise NotFoundError(f"there is no plan {digest}")
        return from_json(value_of(self._plans[digest]))

    def register(self, registered: Registered) -> Registered:
        """Add a version of a workflow; see `PlanStore`."""
        with self._lock:
            versions = self._workflows.get(registered.name, {})
            found = versions.get(registered.version)
            if found is None:
                self.get_plan(registered.plan)
                versions = self._workflows.setdefault(registered.name, versions)
                found = replace(registered, number=len(versions) + 1)
                versions[registered.version] = found
            if found.plan != registered.plan:
                raise ConflictError(
                    f"version {registered.version!r} of workflow {registered.name!r} exists"
                    " with another plan",
                    remedy="give the changed workflow a new version",
                )
            return found

    def get_workflow(self, name: str, version: str | None = None) -> Registered:
        """Return a version of a workflow; see `PlanStore`."""
        versions = self._workflows.get(name, {})
        if not versions:
            raise NotFoundError(f"there is no workflow {name!r}")
        if version is None:
            return list(versions.values())[-1]
        if version not in versions:
            raise NotFoundError(f"there is no version {version!r} of workflow {name!r}")
        return versions[version]

    def list_workflows(self) -> tuple[Registered, ...]:
        """Return the latest versions; see `PlanStore`."""
        return tuple(self.get_workflow(name) for name in sorted(self._workflows))

    def list_versions(self, name: str) -> tuple[Registered, ...]:
        """Return every version of a workflow; see `PlanStore`."""
        return tuple(reversed(self._workflows.get(name, {}).values()))


class MemoryRunStore(MemoryPlans):
    """A `RunStore` of plain dicts, holding the same rows as the SQL store's tables."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[str, Row] = {}
        self._inputs: dict[str, str] = {}
        self._keys: dict[tuple[str, str], IdempotencyKey] = {}
        self._key_runs: dict[tuple[str, str], str] = {}
        self._events: dict[str, list[tuple[int, str]]] = {}
        self._steps: dict[tuple[str, str], Row] = {}
        self._outbox: dict[MessageKey, Row] = {}
        self._approvals: dict[str, Row] = {}

    def create(
        self,
        header: Header,
        batch: Batch,
        *,
        plan: Plan | None = None,
        key: IdempotencyKey | None = None,
        answers: MessageKey | None = None,
    ) -> str:
        """Create a run; see `LogStore`."""
        with self._lock:
            known = self._known(key)
            if known is not None:
                return known
            if answers is not None and answers not in self._outbox:
                raise ConflictError(f"run {header.id} is not asked for any more")
            if header.id in self._runs:
                raise ConflictError(f"run {header.id} exists already")
            if plan is not None:
                self.put_plan(plan, header.created_at)
            self.get_plan(header.plan)
            self._runs[header.id] = {
                **header_fields(header),
                **run_fields(batch.run, batch.wake_at),
                "version": 0,
                "seq": 0,
            }
            self._inputs[header.id] = text(header.inputs)
            self._events[header.id] = []
            if key is not None:
                self._keys[key.scope, key.key] = key
                self._key_runs[key.scope, key.key] = header.id
            self.append(batch, expected_version=0)
            self.settle([] if answers is None else [answers])
            return header.id

    def _known(self, key: IdempotencyKey | None) -> str | None:
        found = self._keys.get((key.scope, key.key)) if key else None
        if key is None or found is None:
            return None
        if found.fingerprint != key.fingerprint:
            raise ConflictError(
                f"the idempotency key {key.key!r} was used for another submission",
                remedy="use a new key for a new submission",
            )
        return self._key_runs[key.scope, key.key]

    def append(self, batch: Batch, *, expected_version: int) -> int:
        """Add a batch; see `LogStore`."""
        with self._lock:
            row = self._row(batch.run.id)
            if row["version"] != expected_version:
                raise VersionConflictError(batch.run.id, expected_version, row["version"])
            bodies = [text(encode(change)) for change in batch.changes]
            if any(isinstance(change, RunChanged) for change in batch.changes):
                row.update(run_fields(batch.run, batch.wake_at))
            row["wake_at"] = micros(batch.wake_at)
            row["version"] += 1
            row["seq"] += len(bodies)
            self._events[batch.run.id].extend((row["version"], body) for body in bodies)
            self._project(batch)
            return int(row["seq"])

    def _project(self, batch: Batch) -> None:
        for record in touched(batch):
            new = step_fields(batch.run.id, record)
            old = self._steps.get((batch.run.id, record.path))
            if old and old["state"] == new["state"] == "running" and old["token"] == new["token"]:
                new["lease_until"] = old["lease_until"]
            self._steps[batch.run.id, record.path] = new
        self.settle(batch.settled)
        for message in batch.messages:
            self._outbox[message.key] = message_fields(message, batch_time(batch))
        for asking in asked(batch):
            self._approvals[asking["id"]] = asking
        for answer in answered(batch):
            self._approvals[answer.pop("which")].update(answer)

    def load(self, run_id: str, *, after: int = 0) -> StoredRun:
        """Return a run with its changes; see `LogStore`."""
        with self._lock:
            row = self._row(run_id)
            bodies = [body for version, body in self._events[run_id] if version > after]
            return StoredRun(
                header=to_header(row, self._inputs[run_id]),
                version=row["version"],
                seq=row["seq"],
                changes=changes_of(run_id, bodies),
            )

    def events(self, run_id: str, *, after: int = 0, limit: int = 1000) -> tuple[StoredEvent, ...]:
        """Return changes with their places; see `LogStore`."""
        with self._lock:
            log = enumerate(self._events.get(run_id, ()), start=1)
            found = [(seq, *entry) for seq, entry in log if seq > after][:limit]
        return tuple(
            StoredEvent(seq=seq, version=version, body=json.loads(body))
            for seq, version, body in found
        )

    def versions(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        """Return versions; see `LogStore`."""
        with self._lock:
            return {i: self._runs[i]["version"] for i in run_ids if i in self._runs}

    def get_run(self, run_id: str) -> RunRow:
        """Return a run's row; see `QueryStore`."""
        with self._lock:
            return to_run(self._row(run_id))

    def list_runs(self, query: RunQuery) -> RunPage:
        """Return a page of runs; see `QueryStore`."""
        before = place(query.cursor) if query.cursor else None
        found = [
            row
            for row in self._sorted(self._runs.values(), "created_at", "id")
            if (not query.states or row["state"] in query.states)
            and (not query.workflow or row["workflow"] == query.workflow)
            and (query.parent is None or row["parent"] == query.parent)
            and (before is None or (row["created_at"], row["id"]) < before)
        ]
        found.reverse()
        page = tuple(map(to_run, found[: query.limit]))
        return RunPage(runs=page, next=written(page[-1]) if len(found) > len(page) > 0 else "")

    def unfinished(self, *, family: str | None = None) -> tuple[str, ...]:
        """Return runs that are not over; see `QueryStore`."""
        among = self._runs if family is None else self._families([family])
        rows = self._sorted(self._runs.values(), "created_at", "id")
        return tuple(r["id"] for r in rows if r["state"] not in _OVER and r["id"] in among)

    def children(self, run_id: str) -> tuple[RunRow, ...]:
        """Return child runs; see `QueryStore`."""
        rows = self._sorted(self._runs.values(), "created_at", "id")
        return tuple(to_run(row) for row in rows if row["parent"] == run_id != "")

    def steps(self, run_id: str) -> tuple[StepRow, ...]:
        """Return the steps of a run; see `QueryStore`."""
        rows = self._sorted(self._steps.values(), "path")
        return tuple(to_step(row) for row in rows if row["run_id"] == run_id)

    def due(self, now: datetime) -> tuple[str, ...]:
        """Return runs to wake; see `QueryStore`."""
        until = micros(now) or 0
        rows = [r for r in self._runs.values() if r["wake_at"] is not None]
        late = [r for r in rows if r["wake_at"] <= until]
        return tuple(row["id"] for row in self._sorted(late, "wake_at", "id"))

    def next_wake(self) -> datetime | None:
        """Return the earliest wake; see `QueryStore`."""
        with self._lock:
            times = [r["wake_at"] for r in self._runs.values() if r["wake_at"] is not None]
        return instant(min(times, default=None))

    def ready(self, *, run_id: str | None = None) -> tuple[StepRow, ...]:
        """Return steps to claim; see `QueryStore`."""
        rows = self._of(self._steps.values(), run_id, lambda row: row["state"] == "ready")
        return tuple(map(to_step, self._sorted(rows, "ready_at", "run_id", "path")))

    def neglected(self, *, unsent: datetime, unclaimed: datetime) -> tuple[str, ...]:
        """Return runs to take up again; see `QueryStore`."""
        bells = self.outbox(kinds=("dispatch",), before=unsent)
        until = micros(unclaimed) or 0
        with self._lock:
            steps = [row for row in self._steps.values() if row["state"] == "ready"]
            ready = {row["run_id"] for row in steps if (row["ready_at"] or inf) <= until}
        return tuple(sorted(ready | {key.run_id for key in bells}))

    def leases(self, *, run_id: str | None = None) -> tuple[Lease, ...]:
        """Return leases; see `QueryStore`."""
        held = self._of(self._steps.values(), run_id, lambda r: r["lease_until"] is not None)
        return tuple(map(to_lease, self._sorted(held, "lease_until", "run_id", "path")))

    def extend(self, leases: Sequence[Lease], until: datetime) -> tuple[Lease, ...]:
        """Extend leases; see `QueryStore`."""
        lost = []
        with self._lock:
            for lease in leases:
                row = self._steps.get((lease.run_id, lease.path))
                if row and row["state"] == "running" and row["token"] == lease.token:
                    row["lease_until"] = micros(until)
                else:
                    lost.append(lease)
        return tuple(lost)

    def approvals(self, *, run_id: str | None = None) -> tuple[Approval, ...]:
        """Return what waits for a person; see `QueryStore`."""
        rows = self._of(self._approvals.values(), run_id, lambda row: row["state"] == "waiting")
        return tuple(map(to_approval, self._sorted(rows, "asked_at", "id")))

    def get_approval(self, approval_id: str) -> Approval:
        """Return one approval; see `QueryStore`."""
        if approval_id not in self._approvals:
            raise NotFoundError(f"there is no approval {approval_id}")
        return to_approval(self._approvals[approval_id])

    def outbox(
        self,
        *,
        families: Sequence[str] | None = None,
        kinds: Sequence[MessageKind] = (),
        before: datetime | None = None,
    ) -> tuple[MessageKey, ...]:
        """Name open messages; see `QueryStore`."""
        until = inf if before is None else micros(before) or 0
        senders = self._runs if families is None else self._families(families)
        rows = self._of(
            self._outbox.values(),
            None,
            lambda row: (
                row["sent_at"] is None
                and row["created_at"] <= until
                and row["run_id"] in senders
                and (not kinds or row["kind"] in kinds)
            ),
        )
        rows = self._sorted(rows, "created_at", "run_id", "kind", "path")
        return tuple(MessageKey(row["run_id"], row["kind"], row["path"]) for row in rows)

    def message(self, key: MessageKey) -> Message | None:
        """Return an open message; see `QueryStore`."""
        with self._lock:
            row = self._outbox.get(key)
            return to_message(row) if row is not None and row["sent_at"] is None else None

    def _families(self, run_ids: Sequence[str]) -> set[str]:
        with self._lock:
            named = {*run_ids, *(self._runs[one]["root"] for one in run_ids if one in self._runs)}
            named.discard("")
            return {r["id"] for r in self._runs.values() if r["id"] in named or r["root"] in named}

    def mark_sent(self, keys: Sequence[MessageKey], at: datetime) -> None:
        """Note that messages were handed over; see `QueryStore`."""
        with self._lock:
            for key in keys:
                if key in self._outbox:
                    self._outbox[key]["sent_at"] = micros(at)

    def settle(self, keys: Sequence[MessageKey]) -> None:
        """Take messages out; see `QueryStore`."""
        with self._lock:
            for key in keys:
                self._outbox.pop(key, None)

    def close(self) -> None:
        """Let go of nothing."""

    def _row(self, run_id: str) -> Row:
        if run_id not in self._runs:
            raise NotFoundError(f"there is no run {run_id}")
        return self._runs[run_id]

    def _of(
        self, rows: Iterable[Row], run_id: str | None, holds: Callable[[Row], bool]
    ) -> list[Row]:
        with self._lock:
            return [r for r in rows if run_id in {None, r["run_id"]} and holds(r)]

    def _sorted(self, rows: Iterable[Row], *columns: str) -> list[Row]:
        def place_of(row: Row) -> tuple[Any, ...]:
            return tuple(row[column] for column in columns)

        with self._lock:
            return sorted(rows, key=place_of)
