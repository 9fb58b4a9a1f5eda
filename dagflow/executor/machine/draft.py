"""A decision in the making: the run as it would be, and the changes that take it there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeAlias

from dagflow.core.errors import IllegalMoveError
from dagflow.core.plan import Plan
from dagflow.core.run import (
    Change,
    Command,
    Decision,
    Dispatch,
    Run,
    RunChanged,
    RunState,
    StepChanged,
    StepRecord,
    WakeAt,
)
from dagflow.executor.machine.evaluator import Evaluator
from dagflow.executor.machine.index import Site, index_of
from dagflow.executor.machine.overlay import Shadow
from dagflow.executor.machine.paths import pattern_of


class Refused(Exception):  # noqa: N818  # an answer, not an error
    """The event changes nothing, and why."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


Work: TypeAlias = "tuple[str, tuple[object, ...]]"
Verbs: TypeAlias = "Mapping[str, Callable[..., None]]"
"""What can be done later, by name: `decide` fills the table, so that parts need not know parts."""


class Draft:
    """Collects changes; `run` shows the state after them. The run given is never written."""

    __slots__ = (
        "changes", "closed", "commands", "evaluator", "index", "now", "plan", "run", "verbs",
        "wake", "work",
    )  # fmt: skip

    def __init__(
        self, plan: Plan, run: Run, now: datetime, evaluator: Evaluator, verbs: Verbs
    ) -> None:
        self.verbs = verbs
        self.closed: set[str] = set()
        self.plan = plan
        self.index = index_of(plan)
        self.run = Shadow(run)
        self.now = now
        self.evaluator = evaluator
        self.changes: list[Change] = []
        self.commands: list[Command] = []
        self.work: deque[Work] = deque()
        self.wake: datetime | None = None

    def record(self, path: str) -> StepRecord:
        """Return the step's record to read; a step without one is pending."""
        return self.run.steps.get(path) or StepRecord(path=path)

    def site(self, path: str) -> Site:
        """Return the plan's side of the step at a run path. Raises `Refused` when there is none."""
        site = self.index.sites.get(pattern_of(path))
        if site is None:
            raise Refused(f"the plan has no step {path!r}")
        return site

    def apply(self, change: Change) -> None:
        """Record a change."""
        self.changes.append(change)
        self.run.apply(change)

    def move(self, path: str, site: Site, after: str, **fields: object) -> None:
        """Move a step, if the plan lists the move. Raises `IllegalMoveError` when it doesn't."""
        record = self.run.steps.get(path)
        before = record.state if record else "pending"
        if (before, after) not in site.moves:
            raise IllegalMoveError(path, before, after)
        self.apply(StepChanged(path=path, before=before, after=after, at=self.now, set=fields))
        if site.step.kind == "llm" and before in {"ready", "running"} and after != "running":
            self.later("answered")

    def note(self, path: str, **fields: object) -> None:
        """Change fields of a step that stays where it is."""
        state = self.record(path).state
        self.apply(StepChanged(path=path, before=state, after=state, at=self.now, set=fields))

    def set_run(self, after: RunState | None = None, **fields: object) -> None:
        """Move the run, or change fields of it."""
        before = self.run.state
        after = before if after is None else after
        self.apply(RunChanged(before=before, after=after, at=self.now, set=fields))

    def send(self, command: Command) -> None:
        """Ask for something to be done once the changes are stored."""
        self.commands.append(command)

    def wake_at(self, at: datetime | None) -> None:
        """Ask for a tick at that time, if it is one; the earliest counts."""
        if at is not None and (self.wake is None or at < self.wake):
            self.wake = at

    def later(self, verb: str, *arguments: object) -> None:
        """Do this after what is already waiting."""
        self.work.append((verb, arguments))

    def settle(self) -> None:
        """Do all the work that waits, and what comes of it."""
        while self.work:
            verb, arguments = self.work.popleft()
            self.verbs[verb](self, *arguments)

    def decision(self, refused: str = "") -> Decision:
        """Return what was collected."""
        commands = [command for command in self.commands if self._still_wanted(command)]
        if self.wake is not None:
            commands.append(WakeAt(at=self.wake))
        return Decision(tuple(self.changes), tuple(commands), refused)

    def _still_wanted(self, command: Command) -> bool:
        """A bell for a step that was claimed, or cancelled, in the same batch needs no ringing."""
        return not isinstance(command, Dispatch) or self.record(command.path).state == "ready"
