"""Workflows with loops as values: steps, blocks and expressions that say what they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from dagflow.core.values import JsonValue
from tests.property.joins import Edge, Handler


class NoValueError(Exception):
    """An expression has no value."""


class Glimpse(Protocol):
    """What an expression may know of a step."""

    state: str
    output: JsonValue
    error: str
    errors: list[int]


class Sight(Protocol):
    """What an expression sees where it stands."""

    n: int
    xs: tuple[int, ...]

    def step(self, name: str) -> Glimpse:
        """Return the step of that name, the innermost."""
        ...

    def variable(self, name: str) -> JsonValue:
        """Return a variable of a loop around, the innermost."""
        ...


@dataclass(frozen=True)
class Expr:
    """An expression: its CEL, what it reads plainly and under `?`, and the same in Python.

    `value` raises `NoValueError` where the CEL fails.
    """

    cel: str
    value: Callable[[Sight], JsonValue]
    plain: frozenset[str] = frozenset()
    ordering: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Foreach:
    """Nested steps for each item."""

    steps: tuple[Part, ...]
    items: Expr
    as_: str
    concurrency: int
    max_items: int
    tolerate: int
    collect: Expr | None

    def ending(self) -> tuple[Expr, ...]:
        """Return what is evaluated when an item has ended."""
        return () if self.collect is None else (self.collect,)


@dataclass(frozen=True)
class Repeat:
    """Nested steps turn after turn."""

    steps: tuple[Part, ...]
    until: Expr
    max: int
    on_max: str
    collect: Expr | None

    def ending(self) -> tuple[Expr, ...]:
        """Return what is evaluated when a turn has ended."""
        return (self.until,) if self.collect is None else (self.until, self.collect)


@dataclass(frozen=True)
class Part:
    """One step: work, unless it has branches or a loop."""

    name: str
    after: tuple[Edge, ...] = ()
    join: str | int = "all"
    when: Expr | None = None
    handlers: tuple[Handler, ...] = ()
    arguments: tuple[Expr, ...] = ()
    branches: tuple[tuple[Expr | None, tuple[str, ...]], ...] = ()
    loop: Foreach | Repeat | None = None
    attempts: int = 1
    retried: tuple[str, ...] = ()
    timeout: int | None = None
    compensated: bool = False

    @property
    def kind(self) -> str:
        if self.branches:
            return "switch"
        return type(self.loop).__name__.lower() if self.loop else "work"

    @property
    def targets(self) -> tuple[tuple[str, ...], ...]:
        return tuple(targets for _, targets in self.branches)

    def expressions(self) -> Iterator[Expr]:
        """Yield what is evaluated before the step begins."""
        yield from (it for it in (self.when, *self.arguments) if it is not None)
        yield from (guard for guard, _ in self.branches if guard is not None)
        if isinstance(self.loop, Foreach):
            yield self.loop.items

    def reads(self, way: str) -> frozenset[str]:
        """Return the steps beside or around this one that it, or a step inside, reads.

        `way` is `plain` or `ordering`.
        """
        found = {name for it in self.expressions() for name in getattr(it, way)}
        if self.loop is None:
            return frozenset(found)
        inside = {name for it in self.loop.steps for name in it.reads(way)}
        inside |= {name for it in self.loop.ending() for name in getattr(it, way)}
        return frozenset(found | (inside - {it.name for it in self.loop.steps}))


@dataclass(frozen=True)
class LoopFlow:
    """A generated workflow and its inputs; `stops` is `on_failure: stop`."""

    steps: tuple[Part, ...]
    n: int
    xs: tuple[int, ...]
    stops: bool = False


def sinks(steps: tuple[Part, ...]) -> list[Part]:
    """Return the last steps of a block: no other waits for them, reads them, or is led to."""
    names = {it.name for it in steps}
    before = {edge.step for it in steps for edge in it.after}
    before |= {name for it in steps for way in ("plain", "ordering") for name in it.reads(way)}
    leads = {it.name for it in steps if any(to in names for way in it.targets for to in way)}
    leads |= {it.name for it in steps if any(handler.goto for handler in it.handlers)}
    return [it for it in steps if it.name not in before | leads]
