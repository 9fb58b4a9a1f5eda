"""Child runs: started once, stopped with their parent, and heard of when they are over.

Each act is a message of the outbox, stored with the batch that asks for it and taken out by the
batch that it leads to. Doing one again after a crash changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final, Protocol, cast

from dagflow.core.clock import Clock
from dagflow.core.errors import BugError, ConflictError, NotFoundError, UnavailableError
from dagflow.core.plan import Plan
from dagflow.core.run import Cancel, ChildEnded, Event, Pause, Resume, Run
from dagflow.core.values import JsonObject
from dagflow.executor.attempts import step_of
from dagflow.executor.ids import child_run_id
from dagflow.store.base import RunStore
from dagflow.store.rows import Header, Message, MessageKey, MessageKind

_log = logging.getLogger(__name__)


class Family(Protocol):
    """The part of the engine that parents and children need."""

    store: RunStore
    clock: Clock
    reach: Callable[[str], None]

    def run(self, run_id: str) -> Run:
        """Return a run."""
        ...

    def apart(self, run_id: str) -> AbstractContextManager[None]:
        """Make what is wrong with a run the matter of no other."""
        ...

    def fresh(self, run_id: str) -> Run:
        """Return a run as it is in the database."""
        ...

    def header_of(self, run_id: str) -> Header:
        """Return what is fixed of a run."""
        ...

    def plan_of(self, run_id: str) -> Plan:
        """Return a run's plan."""
        ...

    def start(
        self,
        plan: Plan,
        header: Header,
        *,
        budget: JsonObject | None = None,
        deadline_at: datetime | None = None,
        answers: MessageKey | None = None,
    ) -> str:
        """Create and begin a run, or raise `ConflictError` where it need not be any more."""
        ...

    def handle(self, run_id: str, *events: Event, settled: Sequence[MessageKey] = ()) -> object:
        """Take events."""
        ...


def awaited(plan: Plan, run: Run) -> Iterator[str]:
    """Yield the child runs that a run waits for, started or not."""
    for path in run.active:
        record = run.steps[path]
        if record.state == "waiting(child)" and step_of(plan, path).kind == "workflow":
            yield child_run_id(run.id, str(record.data["key"]))


def addressee(message: Message) -> str:
    """Return the run that a message between parent and child is for."""
    if message.key.kind == "child_ended":
        return str(message.body["parent"])
    return child_run_id(message.key.run_id, _start_of(message.key))


def _start_of(key: MessageKey) -> str:
    return key.path.partition(" ")[0]


def perform(engine: Family, message: Message) -> bool:
    """Do what an outbox message asks for; false where the database fails, to be done later.

    What is wrong with the run that it comes from, or with the one that it is for, is theirs alone.
    """
    act = _ACTS.get(message.key.kind)
    if act is None:
        return True
    try:
        with engine.apart(message.key.run_id):
            act(engine, message)
    except UnavailableError as error:
        _log.warning("message_left run_id=%s kind=%s", message.key.run_id, message.key.kind,
                     exc_info=error)  # fmt: skip
        return False
    return True


def _start(engine: Family, message: Message) -> None:
    parent, child = engine.run(message.key.run_id), addressee(message)
    path = str(message.body["path"])
    plan = step_of(engine.plan_of(parent.id), path).child
    if plan is None:
        raise BugError(f"the plan of run {parent.id} holds no child plan for step {path!r}")
    engine.reach("before-child")
    with engine.apart(child):
        _begin(engine, message, plan, _header(parent, plan, message, engine.clock.now()))
    engine.reach("after-child")
    for key in engine.store.outbox(families=(parent.id,), kinds=("hold_child",)):
        if (key.run_id, _start_of(key)) == (parent.id, message.key.path):
            order = engine.store.message(key)
            if order is not None:  # it came before there was a child
                _hold(engine, order)


def _begin(engine: Family, message: Message, plan: Plan, header: Header) -> None:
    at = message.body["deadline_at"]
    deadline = datetime.fromisoformat(at) if isinstance(at, str) else None
    budget = cast("JsonObject | None", message.body.get("budget"))
    try:
        engine.start(plan, header, budget=budget, deadline_at=deadline, answers=message.key)
    except ConflictError:  # another process was first, or its parent was stopped meanwhile
        engine.store.settle((message.key,))


def _header(parent: Run, plan: Plan, message: Message, now: datetime) -> Header:
    path = str(message.body["path"])
    return Header(
        id=child_run_id(parent.id, message.key.path),
        plan=plan.digest,
        workflow=plan.name,
        workflow_version=plan.version,
        inputs=message.body["inputs"],
        root=parent.root or parent.id,
        parent=parent.id,
        parent_path=path,
        parent_key=message.key.path,
        prefix=f"{parent.prefix}/{path}" if parent.prefix else path,
        created_at=now,
    )


def _stop(engine: Family, message: Message) -> None:
    """Cancel a child run; one that is over stays as it is, one that never began never will."""
    cancel = Cancel(by=f"run {message.key.run_id}", reason="parent")
    _pass_on(engine, message, cancel)


def _hold(engine: Family, message: Message) -> None:
    """Let a child run stand still as long as its parent does; one that is finishing goes on.

    The order stays where the child is still to be started: who starts it looks for orders.
    """
    order = int(str(message.body["order"]))
    event = Pause(order=order) if message.body["paused"] else Resume(order=order)
    start = MessageKey(message.key.run_id, "start_child", _start_of(message.key))
    _pass_on(engine, message, event, is_to_come=engine.store.message(start) is not None)


def _tell(engine: Family, message: Message) -> None:
    """Tell a parent that its child is over."""
    child, header = engine.fresh(message.key.run_id), engine.header_of(message.key.run_id)
    engine.reach("before-child-ended")
    event = ChildEnded(
        path=header.parent_path,
        state=child.state,
        outputs=child.outputs,
        error=child.error,
        key=header.parent_key,
        used=child.used,
    )
    _pass_on(engine, message, event)


def _pass_on(engine: Family, message: Message, event: Event, *, is_to_come: bool = False) -> None:
    """Hand an event to the run that a message is for, and settle the message with it."""
    run_id = addressee(message)
    with engine.apart(run_id):
        try:
            engine.handle(run_id, event, settled=(message.key,))
        except NotFoundError:
            if engine.store.versions((run_id,)):
                raise  # the run is there, its plan is not
            if not is_to_come:
                engine.store.settle((message.key,))


_ACTS: Final[dict[MessageKind, Callable[[Family, Message], None]]] = {
    "start_child": _start,
    "stop_child": _stop,
    "hold_child": _hold,
    "child_ended": _tell,
}
FAMILY: Final = tuple(_ACTS)
"""The kinds of messages between parents and children."""
