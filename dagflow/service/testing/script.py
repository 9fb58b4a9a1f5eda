"""The script of one case while it runs: who answers what, how often, and what was left over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from dagflow.core.node import Mapping as Written
from dagflow.core.node import plain
from dagflow.core.plan import PlanStep
from dagflow.core.shape import Alone, Table
from dagflow.core.source import At
from dagflow.core.text import counted
from dagflow.core.values import JsonObject
from dagflow.service.testing.cases import Answer, Case, Decided, Given, Sent, Settled
from dagflow.service.testing.failure import FailedError, Failure
from dagflow.service.testing.paths import selector, static_of
from dagflow.service.testing.reading import instant_of
from dagflow.service.testing.subject import Subject, model_of

T = TypeVar("T")
ALL = "all"
CODE = frozenset({"python", "shell"})
SCRIPTED = frozenset({"tool", "llm", "python", "shell", "workflow"})
"""The kinds that a script answers for; the engine makes the others itself."""


@dataclass
class Entry(Generic[T]):
    """What stands under one key: one answer for every time, or a list that is used up in order.

    `what` says what it is, such as "the answer of step"; `shared` entries need not be used.
    """

    what: str
    key: At[str]
    items: tuple[T, ...]
    for_ever: bool
    shared: bool
    used: int = 0

    def take(self) -> T:
        """Return the next answer. Raises `FailedError` where a list has no more."""
        self.used += 1
        if self.for_ever:
            return self.items[0]
        if self.used > len(self.items):
            said = f"{self.what} `{self.key.value}` was asked for a {_nth(self.used)} time"
            count = counted(len(self.items), "answer")
            help_ = f"the list has {count}; add one, or write one without brackets for every time"
            raise FailedError(Failure(said, self.key.span, help=help_))
        return self.items[self.used - 1]

    def left_over(self) -> Failure | None:
        """Return what is to be said of answers that nobody asked for."""
        if self.shared or not self.items or self.used >= (1 if self.for_ever else len(self.items)):
            return None
        subject = f"{self.what} `{self.key.value}`"
        if self.used == 0:
            said = f"{subject} was never asked for"
            return Failure(
                said, self.key.span, help="remove it, or look why the run went another way"
            )
        left = f"{len(self.items) - self.used} of {counted(len(self.items), 'answer')}"
        item: object = self.items[self.used]
        return Failure(
            f"{subject}: {left} not asked for", getattr(item, "span", self.key.span),
            help="remove what is left over, or look why the run asked less often",
        )  # fmt: skip


def _nth(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    end = "th" if number % 100 in {11, 12, 13} else ends.get(number % 10, "th")
    return f"{number}{end}"


@dataclass
class Script:
    """Everything that a case says of what its run meets."""

    case: Case
    subject: Subject
    inputs: JsonObject
    real: frozenset[str]
    start: datetime
    cancel: At[timedelta] | None
    steps: list[Entry[Answer]] = field(default_factory=list)
    tools: list[Entry[Answer]] = field(default_factory=list)
    models: list[Entry[Answer]] = field(default_factory=list)
    approvals: list[Entry[Decided]] = field(default_factory=list)
    signals: list[Entry[At[str] | Sent]] = field(default_factory=list)
    settle: list[Entry[Settled]] = field(default_factory=list)

    def answer(self, path: str, step: PlanStep) -> Answer | None:
        """Return what an attempt comes to, or None where it is for real.

        Raises `FailedError` where nothing says so, or a list is used up.
        """
        entry = self._entry(path, step)
        if entry is not None:
            return entry.take()
        if step.kind not in SCRIPTED or self.is_real(path, step):
            return None
        raise FailedError(_unscripted(self.case, path, step))

    def scripts(self, path: str) -> bool:
        """Tell whether the step at a path has answers of its own, in place of a child run."""
        return picked(self.steps, path) is not None

    def _entry(self, path: str, step: PlanStep) -> Entry[Answer] | None:
        """Return who answers for a step: the case before `defaults`, its path before its tool."""
        for shared in (False, True):
            found = picked((it for it in self.steps if it.shared is shared), path)
            if found is None and step.kind == "tool":
                operation = str(step.body["operation"])
                named = (it for it in self.tools if self._is(it.key.value, operation))
                found = next((it for it in named if it.shared is shared), None)
            if found is None and step.kind == "llm":
                named = (it for it in self.models if it.key.value == model_of(step))
                found = next((it for it in named if it.shared is shared), None)
            if found is not None:
                return found
        return None

    def _is(self, name: str, operation: str) -> bool:
        return operation in self.subject.operations.get(name, frozenset({name}))

    def is_real(self, path: str, step: PlanStep) -> bool:
        """Tell whether a step's code is to run in the sandbox."""
        return step.kind in CODE and bool(self.real & {ALL, static_of(path)})

    def left_over(self) -> tuple[Failure, ...]:
        """Return what is to be said of what was scripted and never asked for."""
        answers = (it.left_over() for it in (*self.steps, *self.tools, *self.models))
        decided = (it.left_over() for it in self.approvals)
        sent = (it.left_over() for it in self.signals)
        settled = (it.left_over() for it in self.settle)
        return tuple(it for it in (*answers, *decided, *sent, *settled) if it is not None)


def picked(entries: Iterable[Entry[T]], path: str) -> Entry[T] | None:
    """Return the entry for a step: the case's own, and of several the most exact."""
    found: Entry[T] | None = None
    best = (False, -1)
    for entry in entries:
        chosen = selector(entry.key.value)
        if chosen is not None and chosen.picks(path) and (not entry.shared, chosen.exact) > best:
            found, best = entry, (not entry.shared, chosen.exact)
    return found


def script_of(case: Case, defaults: Given | None, subject: Subject) -> Script:
    """Return the script of a case; what it says itself goes before what `defaults` say."""
    own, common = case, defaults if defaults is not None else Given()
    inputs = {**_object(common), **_object(own)}
    real = frozenset(it.value for it in (*own.real, *common.real))
    return Script(
        case,
        subject,
        inputs,
        real,
        instant_of(own.clock or common.clock),
        own.cancel or common.cancel,
        steps=_answers("the answer of step", own.steps, common.steps),
        tools=_answers("the answer of tool", own.tools, common.tools),
        models=_answers("the answer of model", own.models, common.models),
        approvals=_entries("the answer to approval", own.approvals, common.approvals),
        signals=_entries("the signal", own.signals, common.signals),
        settle=_entries("what is settled of step", own.settle, common.settle),
    )


def _object(given: Given) -> JsonObject:
    if not isinstance(given.inputs, Written):
        return {}
    found = plain(given.inputs)
    assert isinstance(found, dict)
    return found


def _answers(
    what: str, own: Table[tuple[Answer, ...]], common: Table[tuple[Answer, ...]]
) -> list[Entry[Answer]]:
    found = _entries(what, own, common)
    for entry in found:
        if not entry.for_ever:
            entry.items = tuple(
                it for it in entry.items for _ in range(it.times.value if it.times else 1)
            )
    return found


def _entries(what: str, own: Table[tuple[T, ...]], common: Table[tuple[T, ...]]) -> list[Entry[T]]:
    names = own.names()
    mine = [Entry(what, key, items, isinstance(items, Alone), False) for key, items in own]
    return mine + [
        Entry(what, key, items, isinstance(items, Alone), True)
        for key, items in common
        if key.value not in names
    ]


EXAMPLES: Mapping[str, str] = {
    "tool": "{status: 200, body: …} or {error: network}",
    "llm": "{output: …} or {error: model}",
    "python": "{output: …}, or name it under `real` to run its code",
    "shell": "{stdout: …}, or name it under `real` to run its program",
}


def _unscripted(case: Case, path: str, step: PlanStep) -> Failure:
    said = f"step `{path}` ran, and the case does not say what it answers"
    help_ = f"under `steps`, `{static_of(path)}: …`: {EXAMPLES[step.kind]}"
    return Failure(said, case.name.span, help=help_)
