"""What goes into a store and comes out of it, as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from dagflow.core.run import Change, Run, StepFailure
from dagflow.core.values import JsonObject, JsonValue

MessageKind: TypeAlias = Literal[
    "dispatch", "start_child", "stop_child", "hold_child", "child_ended"
]


@dataclass(frozen=True, slots=True)
class MessageKey:
    """Names one outbox row: a run has at most one message of a kind for a path.

    Of messages about a child run, `path` begins with the key of its start: each attempt has its
    own. What may be said again (orders to a child, what one used) is told apart by the version of
    the run that says it.
    """

    run_id: str
    kind: MessageKind
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Something that must be done because of a batch, stored with it.

    It stays until a later batch settles it, so a crash in between only repeats it.
    """

    key: MessageKey
    body: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What never changes about a run.

    Of a child run, `parent_path` is the parent's step that started it, `parent_key` the key of
    that start, and `prefix` that step's path from the root run down.
    """

    id: str
    plan: str
    workflow: str
    workflow_version: str = ""
    inputs: JsonValue
    root: str
    parent: str = ""
    parent_path: str = ""
    parent_key: str = ""
    prefix: str = ""
    attempt: int = 1
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey:
    """A caller's name for a submission; `fingerprint` tells whether it is the same one."""

    scope: str
    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One transition of one run: everything here is stored, or nothing.

    `run` is the run after `changes` (only what the changes touch is read from it); `wake_at` when
    it must be looked at next. `messages` join the outbox, where one of the same key is replaced;
    `settled` leave it, and may be other runs' messages.
    """

    run: Run
    changes: tuple[Change, ...]
    messages: tuple[Message, ...] = ()
    settled: tuple[MessageKey, ...] = ()
    wake_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run as recorded: its header, and the changes after the version that was asked for."""

    header: Header
    version: int
    seq: int
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """One change with its place in the run's log: `seq` counts changes from 1."""

    seq: int
    version: int
    body: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as lists show it."""

    id: str
    plan: str
    workflow: str
    workflow_version: str
    root: str
    parent: str
    parent_path: str
    attempt: int
    state: str
    version: int
    seq: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    deadline_at: datetime | None
    wake_at: datetime | None
    error: StepFailure | None
    outputs: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Which runs to list, newest first. `cursor` is a page's `next`; `states` empty means all."""

    states: tuple[str, ...] = ()
    workflow: str = ""
    parent: str | None = None
    cursor: str = ""
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """A part of a list; `next` is "" on the last page."""

    runs: tuple[RunRow, ...]
    next: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A step as queries see it; its values are in the log. `state` is a label of `STATES`."""

    run_id: str
    path: str
    state: str
    attempt: int
    token: int
    worker: str
    lease_until: datetime | None
    due: datetime | None
    ready_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    error: StepFailure | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A claimed step: `token` is the fencing token of the claim."""

    run_id: str
    path: str
    token: int
    worker: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A person is, or was, asked. `state` is "waiting" or the label the step went on to.

    `body` holds the step's recorded `input` and `data` as they were when it was asked.
    """

    id: str
    run_id: str
    path: str
    state: str
    body: JsonObject
    asked_at: datetime
    expires_at: datetime | None
    decided_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A version of a workflow, registered under its name. `number` grows by one a version."""

    name: str
    version: str
    plan: str
    source_name: str
    source: str
    report: JsonObject
    registered_at: datetime
    number: int = 0
