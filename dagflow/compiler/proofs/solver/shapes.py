"""What a value can be, for the solver: alternatives of one kind each, none of which is an error.

An expression of CEL has a value or is an error. A `Sym` is a list of alternatives, each a
condition and a shape; the conditions exclude each other, and where none of them holds the
expression is an error. So truth, falsehood and failure of a guard are three formulas, and the
absorbing `&&` and `||` need nothing more.

Integers are Z3's, kept within 64 bits by the operators. Doubles are reals with a flag for NaN,
which is exact for order and equality; what rounds (arithmetic) becomes an unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from dagflow.core.records import dataclass

if TYPE_CHECKING:
    import z3

Formula: TypeAlias = "z3.BoolRef"
Term: TypeAlias = Any
"""A Z3 term of the sort that its shape asks for (z3 is untyped)."""


@dataclass(frozen=True, slots=True)
class Null:
    """The value null."""


@dataclass(frozen=True, slots=True)
class Bool:
    """A boolean."""

    term: Term


@dataclass(frozen=True, slots=True)
class Int:
    """An integer within 64 bits."""

    term: Term


@dataclass(frozen=True, slots=True)
class Double:
    """A double: NaN, or a real (an infinity is as good as a large one)."""

    term: Term
    nan: Formula


@dataclass(frozen=True, slots=True)
class Text:
    """A string of code points. `is_instant`: it is surely an RFC 3339 instant."""

    term: Term
    is_instant: bool = False


@dataclass(frozen=True, slots=True)
class Instant:
    """A timestamp, in nanoseconds since 1970."""

    term: Term


@dataclass(frozen=True, slots=True)
class Duration:
    """A duration, in nanoseconds."""

    term: Term


@dataclass(frozen=True, slots=True)
class Items:
    """A list: its length, and its first `count` elements; `whole` says that it has no others.

    An element is made when it is asked for: lists may nest without end.
    """

    length: Term
    get: Callable[[int], Sym]
    count: int
    whole: bool

    @property
    def items(self) -> tuple[Sym, ...]:
        """Return the elements that are looked at one by one."""
        return tuple(self.get(index) for index in range(self.count))


def listed(length: Term, items: Sequence[Sym], *, whole: bool) -> Items:
    """Return the list of these elements."""
    return Items(length, items.__getitem__, len(items), whole)


@dataclass(frozen=True, slots=True)
class Fields:
    """An object: its field of a name, with whether it is there; `names` where it has no others."""

    get: Callable[[str], tuple[Formula, Sym]]
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Maybe:
    """An optional: whether it holds something, and what."""

    present: Formula
    value: Sym


@dataclass(frozen=True, slots=True)
class Strange:
    """A value of which nothing is known but that it is the same at every place of this name."""

    name: str


Shape: TypeAlias = (
    Null | Bool | Int | Double | Text | Instant | Duration | Items | Fields | Maybe | Strange
)


@dataclass(frozen=True, slots=True)
class Sym:
    """What an expression can be; an error where none of the conditions holds."""

    ways: tuple[tuple[Formula, Shape], ...]


@dataclass(slots=True)
class Logic:
    """The connectives, in one context of Z3, so that questions do not influence each other."""

    context: Any
    z3: Any = field(repr=False)

    def true(self) -> Formula:
        """Return the formula that always holds."""
        return self.z3.BoolVal(True, self.context)

    def false(self) -> Formula:
        """Return the formula that never holds."""
        return self.z3.BoolVal(False, self.context)

    def all(self, *parts: Formula) -> Formula:
        """Return the conjunction, without the parts that are plainly true."""
        kept = [part for part in parts if not self.z3.is_true(part)]
        if any(self.z3.is_false(part) for part in kept):
            return self.false()
        if len(kept) <= 1:
            return kept[0] if kept else self.true()
        return self.z3.And(*kept)

    def any(self, *parts: Formula) -> Formula:
        """Return the disjunction, without the parts that are plainly false."""
        kept = [part for part in parts if not self.z3.is_false(part)]
        if any(self.z3.is_true(part) for part in kept):
            return self.true()
        if len(kept) <= 1:
            return kept[0] if kept else self.false()
        return self.z3.Or(*kept)

    def no(self, part: Formula) -> Formula:
        """Return the negation."""
        if self.z3.is_true(part):
            return self.false()
        return self.true() if self.z3.is_false(part) else self.z3.Not(part)

    def int(self, value: int) -> Term:
        """Return an integer constant."""
        return self.z3.IntVal(value, self.context)

    def real(self, value: float) -> Term:
        """Return the real that a finite double is, exactly."""
        top, bottom = value.as_integer_ratio()
        return self.z3.Q(top, bottom, self.context)

    def text(self, value: str) -> Term:
        """Return a string constant."""
        return self.z3.StringVal(value, self.context)

    # what a value is

    def certain(self, shape: Shape) -> Sym:
        """Return a value that surely has one shape."""
        return Sym(((self.true(), shape),))

    def error(self) -> Sym:
        """Return what is surely an error."""
        return Sym(())

    def bool(self, holds: Formula, fails: Formula | None = None) -> Sym:
        """Return a boolean by when it is true and when it is false (else an error)."""
        if fails is None:
            return self.certain(Bool(holds))
        ways = [(holds, Bool(self.true())), (fails, Bool(self.false()))]
        return Sym(tuple(way for way in ways if not self.z3.is_false(way[0])))

    def truth(self, sym: Sym) -> tuple[Formula, Formula]:
        """Return when a value is true, and when it is false; anything else is neither."""
        held = [(when, shape.term) for when, shape in sym.ways if isinstance(shape, Bool)]
        return (
            self.any(*(self.all(when, term) for when, term in held)),
            self.any(*(self.all(when, self.no(term)) for when, term in held)),
        )

    def defined(self, sym: Sym) -> Formula:
        """Return when a value is no error."""
        return self.any(*(when for when, _ in sym.ways))

    def under(self, condition: Formula, sym: Sym) -> Sym:
        """Return the value where a condition holds; elsewhere an error."""
        return Sym(tuple(self._kept((self.all(condition, w), s) for w, s in sym.ways)))

    def either(self, *cases: tuple[Formula, Sym]) -> Sym:
        """Return the value of the case whose condition holds; the conditions exclude each other."""
        return Sym(
            tuple(way for condition, sym in cases for way in self.under(condition, sym).ways)
        )

    def _kept(self, ways: Iterable[tuple[Formula, Shape]]) -> Iterable[tuple[Formula, Shape]]:
        return (way for way in ways if not self.z3.is_false(way[0]))

    def product(self, syms: Sequence[Sym], take: Callable[..., Sym | Shape | None]) -> Sym:
        """Return what `take` makes of every combination of shapes; None of it is an error."""
        found: list[tuple[Formula, Shape]] = []
        for condition, shapes in self._combined(syms):
            made = take(*shapes)
            if isinstance(made, Sym):
                found += self.under(condition, made).ways
            elif made is not None:
                found.append((condition, made))
        return Sym(tuple(found))

    def _combined(self, syms: Sequence[Sym]) -> list[tuple[Formula, tuple[Shape, ...]]]:
        found: list[tuple[Formula, tuple[Shape, ...]]] = [(self.true(), ())]
        for sym in syms:
            found = [
                (self.all(condition, when), (*shapes, shape))
                for condition, shapes in found
                for when, shape in sym.ways
            ]
            found = [entry for entry in found if not self.z3.is_false(entry[0])]
        return found


Environment: TypeAlias = Mapping[str, Sym]
"""What the names of loops and lets stand for."""
