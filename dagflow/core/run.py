"""The run: what happened to a plan, as a fold over recorded changes.

A step's life is a table of moves between labelled states. A plan carries that table
instantiated for each of its steps (`Plan.constraints`), and the engine makes listed moves only.
"""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import TypeAlias

from dagflow.core.errors import ErrorClass
from dagflow.core.records import dataclass
from dagflow.core.states import (
    FINAL,
    FINAL_LABELS,
    MOVES,
    RUN_FINAL,
    STATES,
    RunState,
    StepState,
    WaitReason,
)
from dagflow.core.values import JsonObject, JsonValue

# The states belong to the run for whoever imports this; only a check takes them from their file.
__all__ = ["FINAL", "MOVES", "RUN_FINAL", "STATES", "RunState", "StepState", "WaitReason"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailure:
    """Why an attempt failed. `retry_after`: seconds a server asked to wait, if it did."""

    error_class: ErrorClass
    message: str
    attempt: int = 1
    retry_after: float | None = None


@dataclass(slots=True, kw_only=True)
class StepRecord:
    """What is known of one execution of a step. Fields change only through `StepChanged`.

    `state` is a label of `STATES`; `input` what its templates gave when it became ready (secrets
    as references); `has_output` tells an output of null from none; `token` is the fencing token,
    grown by every claim and by every begin in the engine; `due` when the timer it waits for goes
    off; `data` what its kind remembers (a loop's counters and turn, an approval's hash).
    `deadline_at` bounds all attempts; `counted` is what of each of its child runs, by key, is in
    the run's `used`; `held_back` tells of a ready step that its claim was refused until an answer
    that is being written is over, and `let_go` that it may be claimed now: its tokens are promised
    to it (any move ends both); `ended` is the step's place in the order of
    completion, from 1 (counted by `Run.apply`).
    """

    path: str
    state: str = "pending"
    attempt: int = 0
    generation: int = 0
    token: int = 0
    worker: str = ""
    lease_until: datetime | None = None
    input: JsonValue = None
    output: JsonValue = None
    has_output: bool = False
    recovered: bool = False
    error: StepFailure | None = None
    errors: JsonValue = None
    handled: bool = False
    goto: str = ""
    due: datetime | None = None
    ready_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    data: JsonObject = field(default_factory=dict)
    deadline_at: datetime | None = None
    counted: JsonObject = field(default_factory=dict)
    held_back: bool = False
    let_go: bool = False
    ended: int = 0

    @property
    def is_final(self) -> bool:
        """Tell whether nothing more can happen to the step."""
        return self.state in FINAL_LABELS


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChanged:
    """A step moved (or stayed, `before == after`) and these fields of its record changed.

    `set` maps names of `StepRecord` fields to their new values, as they are in Python.
    """

    path: str
    before: str
    after: str
    at: datetime
    set: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChanged:
    """The run moved, and these fields of it changed."""

    before: RunState
    after: RunState
    at: datetime
    set: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalArrived:
    """A signal joined the queue of its name."""

    name: str
    payload: JsonValue
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalTaken:
    """The oldest signal of a name went to a waiting step, or was left over at the end."""

    name: str
    path: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsReset:
    """The composite at `path` begins again: these steps inside it are pending as at first.

    Their token and generation stay, so that a report of the earlier life is still void and the
    idempotency key is the same; so does what was counted of child runs.
    """

    path: str
    steps: tuple[str, ...]
    at: datetime


Change: TypeAlias = StepChanged | RunChanged | SignalArrived | SignalTaken | StepsReset
"""A fact about a run. The log of a run is its changes in order; the run is their fold."""


@dataclass(slots=True, kw_only=True)
class Run:
    """The state of a run. Only `apply` changes it.

    `outcome` is fixed when the run begins to finish; `steps` has a record for every step that
    has left `pending`, under its run path (a step without one is pending); `version` counts
    applied batches; `prefix` is the path of the step, from the root run down, that started this
    child run ("" at the root). `budget` is what that step's run had left of each bounded part of
    its own when it started this one; `used` counts child runs that ended, too, and grows after
    the end of the run where it has stopped some. `order` is that of the last `Pause` or `Resume`
    taken from the parent.

    The last eight fields are counted from the steps, by `apply` and when a run is made from stored
    records: `ended` (how many ended so far), `done` (final steps of each frame), `active` (steps
    neither pending nor final), `running`, `held_back` and `let_go` ones (each in that order),
    `busy` (ready or running ones), `holding` (waiting ones that stop the run's clock).
    """

    id: str
    plan: str
    inputs: JsonValue
    state: RunState = RunState.QUEUED
    version: int = 0
    attempt: int = 1
    root: str = ""
    parent: str = ""
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    deadline_at: datetime | None = None
    cleanup_deadline_at: datetime | None = None
    clock_stopped_at: datetime | None = None
    outcome: str = ""
    cancel_requested: bool = False
    paused: bool = False
    outputs: JsonValue = None
    error: StepFailure | None = None
    used: JsonObject = field(default_factory=dict)
    steps: dict[str, StepRecord] = field(default_factory=dict)
    signals: dict[str, list[JsonValue]] = field(default_factory=dict)
    paused_at: datetime | None = None
    budget: JsonObject = field(default_factory=dict)
    prefix: str = ""
    order: int = 0
    ended: int = field(default=0, init=False, compare=False, repr=False)
    done: dict[str, int] = field(default_factory=dict, init=False, compare=False, repr=False)
    active: dict[str, None] = field(default_factory=dict, init=False, compare=False, repr=False)
    running: dict[str, None] = field(default_factory=dict, init=False, compare=False, repr=False)
    held_back: dict[str, None] = field(default_factory=dict, init=False, compare=False, repr=False)
    let_go: dict[str, None] = field(default_factory=dict, init=False, compare=False, repr=False)
    busy: int = field(default=0, init=False, compare=False, repr=False)
    holding: int = field(default=0, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for record in self.steps.values():
            self._count(record, 1)
            self.ended = max(self.ended, record.ended)

    def apply(self, change: Change) -> None:
        """Fold one change in. The change must fit: the engine made it from this very state."""
        match change:
            case StepChanged():
                self._change_step(change)
            case RunChanged():
                self.state = change.after
                for name, value in change.set.items():
                    setattr(self, name, value)
            case SignalArrived():
                self.signals[change.name] = [*self.signals.get(change.name, ()), change.payload]
            case SignalTaken():
                self.signals[change.name] = self.signals[change.name][1:]
            case StepsReset():
                for path in change.steps:
                    old = self._writable(path)
                    self._count(old, -1)
                    self.steps[path] = StepRecord(
                        path=path,
                        token=old.token,
                        generation=old.generation,
                        counted=old.counted,
                    )

    def _change_step(self, change: StepChanged) -> None:
        record = self._writable(change.path)
        moved = record.state != change.after
        recounted = moved or "held_back" in change.set
        if recounted:
            self._count(record, -1)
        elif "let_go" in change.set:  # its place among those held back stays
            _enter(self.let_go, change.path, 1 if change.set["let_go"] else -1)
        if moved:
            record.state = change.after
            record.held_back = record.let_go = False
        for name, value in change.set.items():
            setattr(record, name, value)
        if recounted:
            self._count(record, 1)
        if moved and record.is_final:
            self.ended += 1
            record.ended = self.ended

    def _writable(self, path: str) -> StepRecord:
        record = self.steps.get(path)
        if record is None:
            record = self.steps[path] = StepRecord(path=path)
        return record

    def _count(self, record: StepRecord, by: int) -> None:
        state = record.state
        if state == "pending":
            return
        if state in FINAL_LABELS:
            frame = record.path.rpartition(".")[0]
            self.done[frame] = self.done.get(frame, 0) + by
            return
        _enter(self.active, record.path, by)
        if state == "running":
            _enter(self.running, record.path, by)
        if record.held_back:
            _enter(self.held_back, record.path, by)
        if record.let_go:
            _enter(self.let_go, record.path, by)
        if state in {"ready", "running"}:
            self.busy += by
        elif record.data.get("pause_clock"):
            self.holding += by


def _enter(paths: dict[str, None], path: str, by: int) -> None:
    if by > 0:
        paths[path] = None
    else:
        del paths[path]


# ── what happens to a run from outside: the events that `decide` answers ──────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Start a queued run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A worker wants to run a ready step; the lease ends at `until` unless it is extended."""

    path: str
    worker: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed:
    """An attempt ended well. `token` must be the record's, or the report is void."""

    path: str
    token: int
    output: JsonValue
    used: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """An attempt failed. `token` as in `Succeed`; `unsent` as in `StepError`."""

    path: str
    token: int
    error: StepFailure
    used: JsonObject = field(default_factory=dict)
    unsent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseLease:
    """The worker of a running step is gone, or gave it back (`released`: no attempt counted).

    What it may have used counts either way.
    """

    path: str
    token: int
    released: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Time has passed: every timer and deadline that is due at `now` goes off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    """A person's answer to an approval. `arguments` is the hash that the person saw."""

    path: str
    approve: bool
    by: str
    comment: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A named signal with its payload."""

    name: str
    payload: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnded:
    """A child run is over. `key`, where given, must be that of the `StartChild` in force.

    What it `used` is all that it has used so far; it counts even if the key is another one's, and
    is told again when it grows, by what child runs of its own were still doing.
    """

    path: str
    state: RunState
    outputs: JsonValue
    error: StepFailure | None = None
    key: str = ""
    used: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """A person settled an unknown outcome: succeeded with a value, or failed(conflict)."""

    path: str
    succeeded: bool
    output: JsonValue = None
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Stop the run."""

    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Start no more steps until `Resume`.

    `order` is the place of a parent's order among all that it gave, from 1: one that comes after
    a later one is void. A person's has none (0).
    """

    order: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """End a pause. `order` as in `Pause`."""

    order: int = 0


Event: TypeAlias = (
    Begin | Claim | Succeed | Fail | LoseLease | Tick | Decide | Signal | ChildEnded
    | Settle | Cancel | Pause | Resume
)  # fmt: skip


# ── what the engine must do after the changes are stored ──────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """Ring the doorbell: the step at `path` is ready to be claimed."""

    path: str
    queue: str = "default"
    priority: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeAt:
    """Send a `Tick` at this time (a record's `due` or a deadline); the earliest counts."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChild:
    """Start a child run for the step at `path`; `key` makes it the same run on a repeat.

    It may use no more than `budget` says, by the names of `BudgetLimits`.
    """

    path: str
    inputs: JsonValue
    key: str
    deadline_at: datetime | None = None
    budget: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopChild:
    """Cancel the child run that the step at `path` started with `key`, or start it no more."""

    path: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldChild:
    """Pause the child run that was started with `key`, or let it go on, as its parent does."""

    key: str
    paused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """Stop the running attempt of the step at `path`: SIGTERM, then the cage is killed."""

    path: str
    token: int


Command: TypeAlias = Dispatch | WakeAt | StartChild | StopChild | HoldChild | Kill


@dataclass(frozen=True, slots=True)
class Decision:
    """What `decide` answers: the changes to record, and what to do once they are.

    `refused` says why the event was not taken ("" when it was): a stale token, an approval already
    decided, a signal that nothing can consume. There may be changes even so, of what happened
    instead: a deadline that had passed, a claimed step that was out of budget.
    """

    changes: tuple[Change, ...] = ()
    commands: tuple[Command, ...] = ()
    refused: str = ""
