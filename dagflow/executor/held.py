"""Runs that the engine holds in memory: each the fold of its log at one version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dagflow.core.plan import Plan
from dagflow.core.run import (
    Change,
    Claim,
    Command,
    Dispatch,
    HoldChild,
    Run,
    RunChanged,
    StartChild,
    StepChanged,
    StopChild,
    WakeAt,
)
from dagflow.core.values import JsonObject
from dagflow.executor.decide import next_wake
from dagflow.store.base import LogStore
from dagflow.store.reading import reading
from dagflow.store.rows import Batch, Header, Message, MessageKey, StoredRun


@dataclass(slots=True)
class Held:
    """A run with its plan. `run.version` is the version in the store that it equals.

    `at` is the time of the last change.
    """

    header: Header
    plan: Plan
    run: Run
    wake_at: datetime | None = None
    at: datetime | None = None

    def fold(self, changes: Sequence[Change]) -> None:
        """Fold changes into the run in memory."""
        for change in changes:
            self.run.apply(change)
        if changes:
            self.at = changes[-1].at


def begun(header: Header) -> Run:
    """Return a run as it is before its first change."""
    return Run(
        id=header.id,
        plan=header.plan,
        inputs=header.inputs,
        attempt=header.attempt,
        root=header.root,
        parent=header.parent,
        prefix=header.prefix,
        created_at=header.created_at,
    )


def loaded(stored: StoredRun, plan: Plan) -> Held:
    """Return a run as its whole log makes it."""
    held = Held(header=stored.header, plan=plan, run=begun(stored.header))
    with reading(f"run {stored.header.id}"):
        if len(stored.changes) < stored.seq:
            raise ValueError(f"{stored.seq - len(stored.changes)} of its changes are missing")
    _fold(held, stored)
    return held


def catch_up(held: Held, store: LogStore, version: int) -> StoredRun:
    """Fold in what others have added, and return all that was added after a version."""
    while True:
        news = store.load(held.run.id, after=version)
        if held.run.version == version:
            _fold(held, news)
        if held.run.version == news.version:
            return news
        _fold(held, store.load(held.run.id, after=held.run.version))


def _fold(held: Held, stored: StoredRun) -> None:
    with reading(f"run {held.run.id}"):
        held.fold(stored.changes)
    held.run.version = stored.version
    final = held.run.state.is_final
    held.wake_at = None if final else next_wake(held.plan, held.run)


def bounded(run: Run, deadline_at: datetime | None, at: datetime, budget: JsonObject) -> RunChanged:
    """Return the change that gives a run a deadline and its parent's budget before it begins."""
    fields: dict[str, object] = {"budget": budget} if budget else {}
    if deadline_at is not None:
        fields["deadline_at"] = deadline_at
    return RunChanged(before=run.state, after=run.state, at=at, set=fields)


@dataclass(slots=True)
class Turn:
    """What came of some events: everything to store in one batch, and to do after it."""

    changes: list[Change] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    claimed: dict[str, None] = field(default_factory=dict)

    def fold(self, held: Held, *changes: Change) -> None:
        """Fold changes into the run in memory, and note them."""
        held.fold(changes)
        self.changes.extend(changes)

    def claim(self, path: str) -> None:
        """Note that a step was claimed."""
        self.claimed[path] = None

    def command(self, commands: Iterable[Command]) -> None:
        """Note what is to be done; a step that is rung for anew is not claimed any more."""
        for command in commands:
            if isinstance(command, Dispatch):
                self.claimed.pop(command.path, None)
            self.commands.append(command)

    def batch(self, held: Held, settled: Sequence[MessageKey]) -> Batch:
        """Return everything to store. `settled` leaves the outbox, too."""
        return Batch(
            run=held.run,
            changes=tuple(self.changes),
            messages=tuple(self.messages(held)),
            settled=(*settled, *self.settled(held.run.id)),
            wake_at=held.wake_at,
        )

    def bells(self) -> list[Dispatch]:
        """Return what is to be rung for: ready steps that this turn has not claimed itself."""
        last = {c.path: c for c in self.commands if isinstance(c, Dispatch)}
        return [bell for path, bell in last.items() if path not in self.claimed]

    def messages(self, held: Held) -> list[Message]:
        """Return the outbox rows of the turn."""
        run_id, stopped = held.run.id, self._stopped()
        starts = [c for c in self.commands if isinstance(c, StartChild) and c.key not in stopped]
        found = [
            *(_dispatch(run_id, bell) for bell in self.bells()),
            *(_start_child(run_id, start) for start in starts),
            *(Message(key=MessageKey(run_id, "stop_child", key), body={}) for key in stopped),
        ]
        if held.header.parent and held.run.state.is_final:
            found.append(_ended(held.header, held.run.version + 1))
        holds = [command for command in self.commands if isinstance(command, HoldChild)]
        found.extend(_hold_child(run_id, hold, held.run.version + 1) for hold in holds)
        return found

    def settled(self, run_id: str) -> list[MessageKey]:
        """Return what is not to be done any more: steps have left `ready`, children are stopped."""
        moves = [c for c in self.changes if isinstance(c, StepChanged) and c.before != c.after]
        fresh = {move.path for move in moves if move.after == "ready"}
        left = {move.path for move in moves if move.before == "ready"} - fresh
        return [
            *(bell_key(run_id, path) for path in sorted(left)),
            *(MessageKey(run_id, "start_child", key) for key in self._stopped()),
        ]

    def _stopped(self) -> list[str]:
        """Return the keys of the child runs that are to be stopped."""
        return [c.key for c in self.commands if isinstance(c, StopChild)]


def wake_of(held: Held, turn: Turn, *, ticked: bool) -> datetime | None:
    """Return a time no later than anything that the run must wake for.

    Going through all steps for the exact time is left to ticks: an early tick is harmless.
    """
    if held.run.state.is_final:
        return None
    if ticked:
        return next_wake(held.plan, held.run)
    times = [command.at for command in turn.commands if isinstance(command, WakeAt)]
    return min([*times, *([held.wake_at] if held.wake_at else [])], default=None)


def claims(bells: list[Dispatch], worker: str, until: datetime, slots: int) -> list[Claim]:
    """Return claims of the most urgent of these steps, as many as there are slots."""
    urgent = sorted(bells, key=lambda bell: -bell.priority)[:slots]
    return [Claim(path=bell.path, worker=worker, until=until) for bell in urgent]


def bell_key(run_id: str, path: str) -> MessageKey:
    """Name the message that a step is ready to be claimed."""
    return MessageKey(run_id, "dispatch", path)


def _ended(child: Header, number: int) -> Message:
    """Return the news of a child's end, or of what it used after it: each is settled by itself."""
    key = MessageKey(child.id, "child_ended", str(number))
    return Message(key=key, body={"parent": child.parent})


def _dispatch(run_id: str, bell: Dispatch) -> Message:
    body: JsonObject = {"queue": bell.queue, "priority": bell.priority}
    return Message(key=bell_key(run_id, bell.path), body=body)


def _hold_child(run_id: str, command: HoldChild, order: int) -> Message:
    """Return an order to a child run, one of many: each is settled by itself."""
    body: JsonObject = {"paused": command.paused, "order": order}
    return Message(key=MessageKey(run_id, "hold_child", f"{command.key} {order}"), body=body)


def _start_child(run_id: str, command: StartChild) -> Message:
    at = command.deadline_at
    body: JsonObject = {
        "path": command.path,
        "inputs": command.inputs,
        "deadline_at": None if at is None else at.isoformat(),
        "budget": command.budget,
    }
    return Message(key=MessageKey(run_id, "start_child", command.key), body=body)
