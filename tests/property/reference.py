"""A small interpreter of the language, written from its description and sharing nothing.

It knows no plan, no event log and no state table: it keeps what happened to each step and works
out the rest afresh, by the rules in the order in which the description gives them. Slow on
purpose. It covers the core: edges, joins, guards, reads, switches, retries, handlers,
compensation and `finally`, with steps whose attempts are scripted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.property.joins import FINAL, Edge, Handler, edges, joined

View: TypeAlias = Callable[[str], "Seen"]


@dataclass(frozen=True)
class Guard:
    """A condition: its CEL, what it reads plainly and under `?`, and the same in Python.

    Where the CEL fails, the test raises `ZeroDivisionError`.
    """

    cel: str
    test: Callable[[int, View], bool]
    plain: frozenset[str] = frozenset()
    ordering: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Step:
    """One step of a generated workflow. `branches` makes it a switch: (guard | None, targets)."""

    name: str
    after: tuple[Edge, ...] = ()
    join: str | int = "all"
    when: Guard | None = None
    reads: frozenset[str] = frozenset()
    attempts: int = 1
    handlers: tuple[Handler, ...] = ()
    branches: tuple[tuple[Guard | None, tuple[str, ...]], ...] = ()
    compensated: bool = False
    script: tuple[str, ...] = ("ok",)

    @property
    def is_switch(self) -> bool:
        return bool(self.branches)

    @property
    def targets(self) -> tuple[tuple[str, ...], ...]:
        return tuple(targets for _, targets in self.branches)


@dataclass(frozen=True)
class Flow:
    """A generated workflow: its steps in order, the names in `finally`, and its input `n`."""

    steps: tuple[Step, ...]
    finally_: tuple[str, ...] = ()
    n: int = 0

    def step(self, name: str) -> Step:
        return next(step for step in self.steps if step.name == name)


@dataclass
class Seen:
    """What is known of a step."""

    state: str = "pending"
    output: int | None = None
    branch: int | None = None
    attempts: int = 0
    error: str = ""
    handled: bool = False
    goto: str = ""


RETRIED = {"timeout", "network"}


@dataclass
class Reference:
    """A run of a flow. `deliver` tells how an attempt ended; everything else follows."""

    flow: Flow
    seen: dict[str, Seen] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    compensated: list[str] = field(default_factory=list)
    outcome: str = ""
    cancelled: bool = False

    def start(self) -> None:
        self.seen = {step.name: Seen() for step in self.flow.steps}
        self._settle()

    def ready(self) -> set[str]:
        return {name for name, it in self.seen.items() if it.state == "ready"}

    def deliver(self, name: str) -> None:
        """Let the next attempt of a ready step end as its script says."""
        step, it = self.flow.step(name), self.seen[name]
        ending = step.script[min(it.attempts, len(step.script) - 1)]
        it.attempts += 1
        if ending == "ok":
            self._succeed(name, it.attempts)
        elif ending in RETRIED and it.attempts < step.attempts:
            pass  # the delay is over at once: it stays ready for another attempt
        else:
            self._fail(step, ending)
        self._settle()

    def cancel(self) -> None:
        self.cancelled = True
        for it in self.seen.values():
            if it.state not in FINAL:
                it.state = "cancelled"

    # ── one step ──────────────────────────────────────────────────────────────────────────────

    def _succeed(self, name: str, output: int) -> None:
        self.seen[name].state = "succeeded"
        self.seen[name].output = output
        self.order.append(name)

    def _fail(self, step: Step, error: str) -> None:
        it = self.seen[step.name]
        it.error = error
        handler = next((h for h in step.handlers if not h.on or error in h.on), None)
        if handler is not None and handler.continue_ is not None:
            it.branch = handler.continue_ if step.is_switch else None
            self._succeed(step.name, handler.continue_)
            return
        it.state = "timed_out" if error == "timeout" else "failed"
        if handler is not None and handler.goto is not None:
            it.handled, it.goto = True, handler.goto

    # ── rules ─────────────────────────────────────────────────────────────────────────────────

    def _settle(self) -> None:
        changed = True
        while changed:
            moves = [self._decide(step) for step in self.flow.steps]
            changed = any(moves)

    def _decide(self, step: Step) -> bool:
        it = self.seen[step.name]
        if it.state != "pending":
            return False
        verdict = joined(step.join, edges(step, self.flow.steps, self.seen))
        needed = [self.seen[name].state for name in sorted(self._plain(step))]
        if verdict == "not taken" or any(s in FINAL and s != "succeeded" for s in needed):
            it.state = "skipped(upstream)"
            return True
        waits = [self.seen[name].state for name in sorted(self._ordering(step))]
        if verdict == "undecided" or any(s not in FINAL for s in [*needed, *waits]):
            return False
        try:
            self._enter(step)
        except ZeroDivisionError:
            self._fail(step, "guard")
        return True

    def _enter(self, step: Step) -> None:
        it = self.seen[step.name]
        if step.when is not None and not step.when.test(self.flow.n, self._view):
            it.state = "skipped(guard)"
            return
        if step.is_switch:
            it.branch = self._choose(step)
            self._succeed(step.name, 0)
            return
        it.state = "ready"

    def _view(self, name: str) -> Seen:
        return self.seen[name]

    def _plain(self, step: Step) -> frozenset[str]:
        found = step.reads
        for guard in self._guards(step):
            found |= guard.plain
        return found

    def _ordering(self, step: Step) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for guard in self._guards(step):
            found |= guard.ordering
        if isinstance(step.join, int):
            found -= {name for name, _ in edges(step, self.flow.steps, self.seen)}
        return found

    @staticmethod
    def _guards(step: Step) -> Iterable[Guard]:
        if step.when is not None:
            yield step.when
        for guard, _ in step.branches:
            if guard is not None:
                yield guard

    def _choose(self, step: Step) -> int | None:
        for index, (guard, _) in enumerate(step.branches):
            if guard is None or guard.test(self.flow.n, self._view):
                return index
        return None

    # ── the end ───────────────────────────────────────────────────────────────────────────────

    def finish(self) -> str:
        """Return the run's outcome once nothing is left to do, and compensate if it wasn't well."""
        assert not self.ready()
        bad = any(
            it.state in {"failed", "timed_out"} and not it.handled for it in self.seen.values()
        )
        self.outcome = "cancelled" if self.cancelled else "failed" if bad else "succeeded"
        if self.outcome != "succeeded":
            done = [name for name in self.order if self.flow.step(name).compensated]
            self.compensated = done[::-1]
        return self.outcome

    def states(self) -> Mapping[str, str]:
        return {name: it.state for name, it in self.seen.items()}
