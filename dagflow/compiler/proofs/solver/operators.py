"""CEL's operators over shapes: equality, order, arithmetic and membership, with their failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dagflow.compiler.proofs.solver.shapes import (
    Bool,
    Double,
    Duration,
    Fields,
    Formula,
    Instant,
    Int,
    Items,
    Logic,
    Maybe,
    Null,
    Shape,
    Strange,
    Sym,
    Term,
    Text,
    listed,
)
from dagflow.compiler.proofs.solver.variables import Variables
from dagflow.core.records import dataclass
from dagflow.core.values import INT64_MAX, INT64_MIN

EXACT: Final = 2**53
"""Beyond this an integer is compared with a double as the double next to it."""

INSTANTS: Final = (-62_135_596_800 * 10**9, 253_402_300_800 * 10**9 - 1)
"""The first and the last nanosecond that a timestamp can be (years 1 to 9999)."""

DURATIONS: Final = INT64_MAX
"""The longest duration either way, in nanoseconds."""


@dataclass(slots=True)
class Operators:
    """The operators, for one expression; `name` tells apart what is unknown in their results."""

    variables: Variables
    name: str

    @property
    def logic(self) -> Logic:
        """Return the connectives."""
        return self.variables.logic

    # equality

    def equal(self, left: Sym, right: Sym) -> Sym:
        """Return whether two values are equal: an error only where one of them is."""
        return self.logic.product((left, right), self._equal)

    def unequal(self, left: Sym, right: Sym) -> Sym:
        """Return whether two values differ."""
        holds, fails = self.logic.truth(self.equal(left, right))
        return self.logic.bool(fails, holds)

    def _equal(self, left: Shape, right: Shape) -> Shape | None:
        if isinstance(left, Maybe) or isinstance(right, Maybe):
            return Bool(self._unknown())
        return Bool(self.same(left, right))

    def same(self, left: Shape, right: Shape) -> Formula:
        """Return when two shapes are the same value."""
        match left, right:
            case (Null(), Null()):
                return self.logic.true()
            case (Double(), Double()):
                both = self.logic.no(self.logic.any(left.nan, right.nan))
                return self.logic.all(both, left.term == right.term)
            case (Int(), Double()):
                return self._mixed(left, right, lambda a, b: a == b)
            case (Double(), Int()):
                return self.same(right, left)
            case (Items(), Items()):
                return self._same_items(left, right)
            case (Fields(), Fields()) | (Strange(), _) | (_, Strange()):
                return self._unknown()
        one, two = _plain(left), _plain(right)
        if isinstance(left, Text) and isinstance(right, Text):
            return self._same_text(left, right)
        if type(left) is type(right) and one is not None:
            return one == two
        return self.logic.false()

    def _same_text(self, left: Text, right: Text) -> Formula:
        is_fixed = self.logic.z3.is_string_value
        if is_fixed(left.term) and is_fixed(right.term):
            same = left.term.as_string() == right.term.as_string()
            return self.logic.true() if same else self.logic.false()
        return left.term == right.term

    def _same_items(self, left: Items, right: Items) -> Formula:
        if not (left.whole and right.whole):
            return self.logic.all(left.length == right.length, self._unknown())
        pairs = []
        for index, (one, two) in enumerate(zip(left.items, right.items, strict=False)):
            holds, _ = self.logic.truth(self.equal(one, two))
            pairs.append(self.logic.any(left.length <= index, holds))
        return self.logic.all(left.length == right.length, *pairs)

    def _mixed(self, left: Int, right: Double, test: Callable[[Term, Term], Formula]) -> Formula:
        """Compare an integer with a double: exactly within 53 bits, beyond them unknown."""
        z3 = self.logic.z3
        exact = self.logic.all(left.term >= -EXACT, left.term <= EXACT)
        compared = z3.If(exact, test(z3.ToReal(left.term), right.term), self._unknown())
        return self.logic.all(self.logic.no(right.nan), compared)

    def _unknown(self) -> Formula:
        self.variables.unknowns += 1
        return self.variables.flag(f"{self.name} {self.variables.unknowns}")

    # order

    def order(self, operator: str, left: Sym, right: Sym) -> Sym:
        """Return a comparison; values that have no order between them are an error."""
        return self.logic.product((left, right), lambda a, b: self._ordered(operator, a, b))

    def _ordered(self, operator: str, left: Shape, right: Shape) -> Shape | None:
        test = _ORDERS[operator]
        match left, right:
            case (Double(), Double()):
                both = self.logic.no(self.logic.any(left.nan, right.nan))
                return Bool(self.logic.all(both, test(left.term, right.term)))
            case (Int(), Double()):
                return Bool(self._mixed(left, right, test))
            case (Double(), Int()):
                return Bool(self._mixed(right, left, lambda a, b: test(b, a)))
            case (Bool(), Bool()):
                return Bool(test(self._as_int(left.term), self._as_int(right.term)))
            case (Strange(), _) | (_, Strange()):
                return Bool(self._unknown())
        one, two = _plain(left), _plain(right)
        return Bool(test(one, two)) if type(left) is type(right) and one is not None else None

    def _as_int(self, term: Term) -> Term:
        return self.logic.z3.If(term, self.logic.int(1), self.logic.int(0))

    # arithmetic

    def arithmetic(self, operator: str, left: Sym, right: Sym) -> Sym:
        """Return a sum, difference, product, quotient or remainder."""
        return self.logic.product((left, right), lambda a, b: self._computed(operator, a, b))

    def _computed(self, operator: str, left: Shape, right: Shape) -> Sym | Shape | None:
        match left, right:
            case (Int(), Int()):
                return self._integers(operator, left.term, right.term)
            case (Double(), Double()):
                return None if operator == "_%_" else self._rounded()
            case (Text(), Text()):
                is_sum = operator == "_+_"
                return Text(self.logic.z3.Concat(left.term, right.term)) if is_sum else None
            case (Items(), Items()):
                return self._joined(left, right) if operator == "_+_" else None
            case (Strange(), _) | (_, Strange()):
                return self.variables.opaque(f"{self.name} of {operator}")
        return self._times(operator, left, right)

    def _integers(self, operator: str, left: Term, right: Term) -> Sym:
        if operator in {"_/_", "_%_"}:
            return self._divided(operator, left, right)
        result = {"_+_": left + right, "_-_": left - right, "_*_": left * right}[operator]
        return self.logic.under(self._fits(result), self.logic.certain(Int(result)))

    def _fits(self, term: Term) -> Formula:
        return self.logic.all(term >= INT64_MIN, term <= INT64_MAX)

    def _divided(self, operator: str, left: Term, right: Term) -> Sym:
        """Divide towards zero; the remainder has the sign of the left side."""
        z3 = self.logic.z3
        whole = z3.If(left >= 0, left, -left) / z3.If(right >= 0, right, -right)
        quotient = z3.If((left >= 0) == (right > 0), whole, -whole)
        defined = self.logic.all(right != 0, self.logic.no(
            self.logic.all(left == INT64_MIN, right == -1)
        ))  # fmt: skip
        result = quotient if operator == "_/_" else left - right * quotient
        return self.logic.under(defined, self.logic.certain(Int(result)))

    def _rounded(self) -> Sym:
        """Return what arithmetic on doubles gives: never an error, else unknown."""
        self.variables.unknowns += 1
        name = f"{self.name} {self.variables.unknowns}"
        return self.variables.opaque(name, ("double",), fails=False)

    def _joined(self, left: Items, right: Items) -> Shape:
        fixed = left.whole and self.logic.z3.is_int_value(left.length)
        if fixed and left.length.as_long() == left.count:
            items = (*left.items, *right.items)
            return listed(left.length + right.length, items, whole=right.whole)
        return listed(left.length + right.length, (), whole=False)

    def _times(self, operator: str, left: Shape, right: Shape) -> Sym | None:
        """Add and subtract instants and durations, within their ranges."""
        make = _TIMES.get((operator, type(left), type(right)))
        if make is None:
            return None
        first, second = left.term, right.term  # type: ignore[union-attr]  # both are times
        result = first + second if operator == "_+_" else first - second
        low, high = INSTANTS if make is Instant else (-DURATIONS, DURATIONS)
        in_range = self.logic.all(result >= low, result <= high)
        return self.logic.under(in_range, self.logic.certain(make(result)))

    def negative(self, value: Sym) -> Sym:
        """Return the opposite of a number."""
        return self.logic.product((value,), self._negated)

    def _negated(self, value: Shape) -> Sym | Shape | None:
        match value:
            case Int(term=term):
                return self.logic.under(term != INT64_MIN, self.logic.certain(Int(-term)))
            case Double(term=term, nan=nan):
                return Double(-term, nan)
            case Strange():
                return self.variables.opaque(f"{self.name} of -")
        return None

    # membership and elements

    def member(self, value: Sym, among: Sym) -> Sym:
        """Return whether a list has such an element, or an object such a key."""
        return self.logic.product((value, among), self._among)

    def _among(self, value: Shape, among: Shape) -> Shape | None:
        match among:
            case Items():
                return Bool(self._listed(value, among))
            case Fields() if isinstance(value, Text) and self.logic.z3.is_string_value(value.term):
                return Bool(among.get(text_of(value.term))[0])
            case Fields() if isinstance(value, Text) and among.names is not None:
                return Bool(self.logic.any(*(
                    self.logic.all(among.get(name)[0], value.term == self.logic.text(name))
                    for name in among.names
                )))  # fmt: skip
            case Fields() | Strange():
                return Bool(self._unknown())
        return None

    def _listed(self, value: Shape, among: Items) -> Formula:
        sure = self.logic.certain(value)
        found = [
            self.logic.all(among.length > index, self.logic.truth(self.equal(sure, item))[0])
            for index, item in enumerate(among.items)
        ]
        if not among.whole:
            found.append(self.logic.all(among.length > among.count, self._unknown()))
        return self.logic.any(*found)

    def element(self, of: Sym, index: Sym) -> Sym:
        """Return an element of a list or a field of an object; an error where there is none."""
        return self.logic.product((of, index), self._element)

    def _element(self, of: Shape, index: Shape) -> Sym | Shape | None:
        match of, index:
            case (Items(), Int()):
                return self._at(of, index.term)
            case (Fields(), Text()) if self.logic.z3.is_string_value(index.term):
                present, found = of.get(text_of(index.term))
                return self.logic.under(present, found)
            case (Items() | Fields() | Strange(), _):
                return self.variables.opaque(f"{self.name} of [{self._next()}]")
        return None

    def _next(self) -> int:
        self.variables.unknowns += 1
        return self.variables.unknowns

    def _at(self, of: Items, index: Term) -> Sym:
        inside = self.logic.all(index >= 0, index < of.length)
        z3 = self.logic.z3
        fixed = index.as_long() if z3.is_int_value(index) else None
        places = range(of.count) if fixed is None else (p for p in (fixed,) if 0 <= p < of.count)
        cases = [(self.logic.all(inside, index == place), of.get(place)) for place in places]
        if not of.whole:
            beyond = self.logic.all(inside, index >= of.count)
            rest = self.variables.opaque(f"{self.name} of [{self._next()}]", fails=False)
            cases.append((beyond, rest))
        return self.logic.either(*(
            (self.logic.z3.simplify(condition), sym) for condition, sym in cases
        ))  # fmt: skip


def _plain(shape: Shape) -> Term | None:
    """Return the term of a shape that is equal to another when their terms are."""
    return shape.term if isinstance(shape, Bool | Int | Text | Instant | Duration) else None


def text_of(term: Term) -> str:
    """Return the text of a string constant."""
    return decoded(term.as_string())


def decoded(text: str) -> str:
    r"""Return a text as Z3 writes it (`\u{1f600}`) with its characters in place."""
    head, *rest = text.split("\\u{")
    parts = [head]
    for piece in rest:
        code, _, tail = piece.partition("}")
        parts += [chr(int(code, 16)), tail]
    return "".join(parts)


_ORDERS: Final[Mapping[str, Callable[[Term, Term], Formula]]] = {
    "_<_": lambda a, b: a < b,
    "_<=_": lambda a, b: a <= b,
    "_>_": lambda a, b: b < a,
    "_>=_": lambda a, b: b <= a,
}

_TIMES: Final[Mapping[tuple[str, type, type], Callable[[Term], Instant | Duration]]] = {
    ("_+_", Instant, Duration): Instant,
    ("_+_", Duration, Instant): Instant,
    ("_+_", Duration, Duration): Duration,
    ("_-_", Instant, Instant): Duration,
    ("_-_", Instant, Duration): Instant,
    ("_-_", Duration, Duration): Duration,
}
