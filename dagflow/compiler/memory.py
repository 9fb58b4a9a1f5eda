"""What compilations of one file leave to the next: the values of pure questions, by all they ask.

Nothing in it knows a place in the file. An expression is asked about by its text and the types of
what it reads, so the answer is the same one however far its step has moved; places are worked out
anew in every compilation. ADR 0016 tells why.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field
from typing import Any, Final, TypeVar

from dagflow.core.records import dataclass
from dagflow.core.values import JsonValue, Schema

T = TypeVar("T")

_MISSING: Final = object()


@dataclass(slots=True, kw_only=True)
class _Table:
    """The answers to one kind of question: those this compilation used, and the one before."""

    used: dict[Hashable, Any] = field(default_factory=dict)
    before: dict[Hashable, Any] = field(default_factory=dict)
    made: int = 0


class Memory:
    """The answers of one file's compilations, one after the other; it serves no two at once.

    It holds only what a compilation without it would work out, too, so its results are the same
    to the byte. What a compilation asked nothing of is forgotten at its end, so it is never
    larger than what the last two needed; questions of a kind that it did not come to (the file
    had an error) are kept until one does.
    """

    def __init__(self) -> None:
        self._called: dict[str, Memory] = {}
        self._tables: dict[str, _Table] = {}
        self._shapes: dict[int, tuple[object, int]] = {}
        self._numbers = 0

    def recall(self, kind: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return the answer to a question, worked out by `make` where it is not known.

        `key` must hold all that `make` depends on, and the answer must be immutable.
        """
        table = self._tables.get(kind)
        if table is None:
            table = self._tables[kind] = _Table()
        found = table.used.get(key, _MISSING)
        if found is _MISSING:
            found = table.before.get(key, _MISSING)
            if found is _MISSING:
                table.made += 1
                found = make()
            table.used[key] = found
        return found  # type: ignore[no-any-return]  # a kind of question has one type of answer

    def about(self, kind: str, thing: object, make: Callable[[], T]) -> T:
        """Return the answer to a question about an object that compilations have in common.

        It is known again by its identity, which costs less than to compare.
        """
        return self.recall(kind, id(thing), lambda: (thing, make()))[
            1
        ]  # holds it: its id is its own

    def number(self, value: JsonValue | Mapping[str, Schema]) -> int:
        """Return a number that stands for a JSON value in keys: equal ones have the same.

        The order of an object's keys counts: messages list names in it. The value must not be
        changed afterwards.
        """
        known = self._shapes.get(id(value))
        if known is None:
            known = (value, self.recall("shapes", repr(value), self._next))
            self._shapes[id(value)] = known  # holds the value, so no other takes its id
        return known[1]

    def of(self, called: str) -> Memory:
        """Return the memory of a file that this one calls, by the name that it calls it by."""
        return self._called.setdefault(called, Memory())

    def __len__(self) -> int:
        """Return how many answers are kept."""
        return sum(len(table.before) + len(table.used) for table in self._tables.values())

    def made(self, kind: str) -> int:
        """Return how many questions of a kind the compilation before the last `settle` answered."""
        table = self._tables.get(kind)
        return 0 if table is None else table.made

    def settle(self) -> None:
        """End a compilation: forget what it did not use."""
        self._shapes.clear()
        for table in self._tables.values():
            if table.used:
                table.before, table.used = table.used, {}

    def begin(self) -> None:
        """Begin a compilation: count anew."""
        for table in self._tables.values():
            table.made = 0

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers
