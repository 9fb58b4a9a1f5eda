"""Bounds on what an evaluation makes, as polynomials of the sizes of what it reads.

Three things are bounded, each summed over everything that is evaluated:

- `turns`: loop turns, at most 10,000 (the library's own limit);
- `growth`: the squares of the lengths of the lists that `map` and `filter` make, at most 2,000²
  (the library copies the list on each turn: 2,000 elements take 60 ms and 70 MB);
- `made`: elements and bytes of every value made, at most 10,000,000.

A polynomial's variables are sizes of the paths read: `n` how many elements a value has at its top,
`N` in all, `W` elements and bytes in all, `M` and `V` the same as `N` and `W` of its largest
element. They are evaluated with the real sizes before the expression is; beyond a bound nothing
is evaluated. Where an operation's size can't be told apart from its operands', the sum is used:
a bound is never too small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from itertools import product
from typing import Final, TypeAlias

from dagflow.core.records import dataclass
from dagflow.core.values import JsonValue
from dagflow.expr.ast import (
    Call,
    Chain,
    Const,
    Let,
    ListOf,
    Loop,
    MapOf,
    Node,
    Path,
    Select,
    Var,
    chain_of,
    walk,
)
from dagflow.expr.functions import ORDER
from dagflow.expr.problem import Problem

MAX_TURNS: Final = 10_000
MAX_GROWTH: Final = 2_000**2
MAX_MADE: Final = 10_000_000
_MAX_TERMS: Final = 20_000

Symbol: TypeAlias = tuple[str, Path]
Monomial: TypeAlias = tuple[Symbol, ...]
Poly: TypeAlias = Mapping[Monomial, int]

ZERO: Poly = {}
ONE: Poly = {(): 1}


class _TooManyTermsError(Exception):
    """The bound itself is too long to write down."""


def constant(value: int) -> Poly:
    """Return a polynomial without variables."""
    return {(): value} if value else ZERO


def add(*polys: Poly) -> Poly:
    """Return the sum."""
    terms = [poly for poly in polys if poly]
    if len(terms) == 1:
        return terms[0]  # as most sums are: numbers have no sizes
    total: dict[Monomial, int] = {}
    for poly in terms:
        for monomial, factor in poly.items():
            total[monomial] = total.get(monomial, 0) + factor
    return total


def times(a: Poly, b: Poly) -> Poly:
    """Return the product."""
    if len(a) * len(b) > _MAX_TERMS:
        raise _TooManyTermsError
    total: dict[Monomial, int] = {}
    for (left, x), (right, y) in product(a.items(), b.items()):
        monomial = tuple(sorted((*left, *right)))
        total[monomial] = total.get(monomial, 0) + x * y
    return total


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes of a value: `n`, `N`, `W`, `M`, `V` as the module says."""

    n: Poly = field(default_factory=dict)
    nodes: Poly = field(default_factory=dict)
    weight: Poly = field(default_factory=dict)
    item_nodes: Poly = field(default_factory=dict)
    item_weight: Poly = field(default_factory=dict)

    def element(self) -> Size:
        """Return the sizes of one element."""
        a, b = self.item_nodes, self.item_weight
        return Size(a, a, b, a, b)

    def inside(self) -> Size:
        """Return the sizes of any value inside this one."""
        a, b = self.nodes, self.weight
        return Size(a, a, b, a, b)


_DIGITS: Final = 32  # of the longest number, instant or duration as text
_EACH: Final = 8
"""What every element weighs besides the bytes of its text."""
SCALAR = Size(ZERO, ONE, constant(_EACH), ZERO, ZERO)


@dataclass(frozen=True, slots=True)
class Cost:
    """The three bounds of an expression; empty where it only reads, compares and calculates."""

    turns: Poly = field(default_factory=dict)
    growth: Poly = field(default_factory=dict)
    made: Poly = field(default_factory=dict)

    @property
    def free(self) -> bool:
        """Tell whether there is nothing to bound."""
        return not (self.turns or self.growth or self.made)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the paths whose sizes the bounds depend on."""
        polys = (self.turns, self.growth, self.made)
        found = {path for poly in polys for monomial in poly for _, path in monomial}
        return tuple(sorted(found))


class _Walk:
    def __init__(self) -> None:
        self.turns: Poly = ZERO
        self.growth: Poly = ZERO
        self.made: Poly = ZERO
        self.times: Poly = ONE
        self.bound: dict[str, Size] = {}

    def make(self, size: Size) -> Size:
        self.made = add(self.made, times(self.times, size.weight))
        return size

    def visit(self, node: Node) -> Size:
        chain = chain_of(node)
        if chain is not None and chain.path[0] not in self.bound:
            return _read(chain)
        return _VISITORS[type(node)](self, node)

    def constant(self, node: Const) -> Size:
        value = node.value
        if not isinstance(value, str | bytes):
            return SCALAR
        length = constant(_length(value) if isinstance(value, str) else len(value))
        return Size(length, ONE, add(constant(_EACH), length), ZERO, ZERO)

    def variable(self, node: Var) -> Size:
        return self.bound.get(node.name, SCALAR)

    def selection(self, node: Select) -> Size:
        return SCALAR if node.test else self.visit(node.of).inside()

    def call(self, node: Call) -> Size:
        sizes = [self.visit(operand) for operand in node.operands]
        size = _SIZES.get(node.function)
        if size is not None:
            return self.make(size(sizes))
        if node.function in _INSIDE:
            return sizes[0].element()
        if node.function == "string":
            weight = add(sizes[0].weight, constant(_DIGITS))
            return Size(weight, ONE, weight, ZERO, ZERO)
        if node.function in _SAME:
            return _either(sizes)
        return SCALAR

    def array(self, node: ListOf) -> Size:
        return self.make(_gathered([self.visit(item) for item in node.items]))

    def object_(self, node: MapOf) -> Size:
        parts = [self.visit(part) for entry in node.entries for part in entry]
        return self.make(_gathered(parts))

    def let(self, node: Let) -> Size:
        value = self.visit(node.value)
        before = dict(self.bound)
        self.bound[node.name] = value
        size = self.visit(node.body)
        self.bound = before
        return size

    def loop(self, node: Loop) -> Size:
        over = self.visit(node.over)
        symbol = ("#", node.var, str(len(self.bound)))
        inner = self._body(node, over, symbol)
        self.turns = add(self.turns, times(self.times, over.n))
        if node.kind not in {"map", "filter"}:
            return SCALAR
        self.growth = add(self.growth, times(self.times, times(over.n, over.n)))
        element = over.element() if node.kind == "filter" else inner
        total = Size(
            over.n,
            add(ONE, _summed(inner.nodes, symbol, over)),
            add(constant(_EACH), _summed(inner.weight, symbol, over)),
            _largest(element.nodes, symbol, over),
            _largest(element.weight, symbol, over),
        )
        return self.make(over if node.kind == "filter" else total)

    def _body(self, node: Loop, over: Size, symbol: Path) -> Size:
        """Visit the loop's body once, and count what it makes for every element."""
        before = (dict(self.bound), self.times, self.turns, self.growth, self.made)
        self.times, self.turns, self.growth, self.made = ONE, ZERO, ZERO, ZERO
        nodes: Poly = {(("N", symbol),): 1}
        weight: Poly = {(("W", symbol),): 1}
        self.bound[node.var] = Size(nodes, nodes, weight, nodes, weight)
        parts = [self.visit(part) for part in (node.test, node.item) if part is not None]
        inside = (self.turns, self.growth, self.made)
        self.bound, self.times, *outer = before
        each = [times(self.times, _summed(poly, symbol, over)) for poly in inside]
        self.turns, self.growth, self.made = (add(a, b) for a, b in zip(outer, each, strict=True))
        return parts[-1]


def _read(chain: Chain) -> Size:
    def symbol(name: str) -> Poly:
        return {((name, chain.path),): 1}

    return Size(symbol("n"), symbol("N"), symbol("W"), symbol("M"), symbol("V"))


def _split(monomial: Monomial, symbol: Path) -> tuple[Monomial, int, int]:
    """Take the loop's variable out of a monomial: the rest, and its powers of N and W."""
    rest = tuple(each for each in monomial if each[1] != symbol)
    nodes = sum(each == ("N", symbol) for each in monomial)
    return rest, nodes, len(monomial) - len(rest) - nodes


def _summed(poly: Poly, symbol: Path, over: Size) -> Poly:
    """Sum a polynomial of one element over all of them: Σ wᵏ is at most max(w)ᵏ⁻¹ · Σ w."""
    total: Poly = ZERO
    for monomial, factor in poly.items():
        rest, nodes, weights = _split(monomial, symbol)
        if nodes + weights == 0:
            term = times({rest: factor}, over.n)
        elif weights:
            term = _power(
                _power({rest: factor}, over.item_nodes, nodes), over.item_weight, weights - 1
            )
            term = times(term, over.weight)
        else:
            term = times(_power({rest: factor}, over.item_nodes, nodes - 1), over.nodes)
        total = add(total, term)
    return total


def _largest(poly: Poly, symbol: Path, over: Size) -> Poly:
    """Bound a polynomial of one element by that of the largest one."""
    total: Poly = ZERO
    for monomial, factor in poly.items():
        rest, nodes, weights = _split(monomial, symbol)
        term = _power(_power({rest: factor}, over.item_nodes, nodes), over.item_weight, weights)
        total = add(total, term)
    return total


def _power(poly: Poly, base: Poly, exponent: int) -> Poly:
    for _ in range(exponent):
        poly = times(poly, base)
    return poly


def _gathered(parts: list[Size]) -> Size:
    """Return the size of a literal made of parts."""
    count = constant(len(parts))
    nodes = add(ONE, *(part.nodes for part in parts))
    weight = add(constant(_EACH), *(part.weight for part in parts))
    return Size(count, nodes, weight, nodes, weight)


def _either(sizes: list[Size]) -> Size:
    """Return a size that is at least each of `sizes`."""
    return Size(
        add(*(size.n for size in sizes)),
        add(*(size.nodes for size in sizes)),
        add(*(size.weight for size in sizes)),
        add(*(size.item_nodes for size in sizes)),
        add(*(size.item_weight for size in sizes)),
    )


def _replaced(sizes: list[Size]) -> Size:
    """Bound `s.replace(old, new)`: `new` at every place of `s`, and between its characters."""
    text, new = sizes[0], sizes[2] if len(sizes) > 2 else SCALAR  # noqa: PLR2004
    weight = add(text.weight, times(add(ONE, text.weight), new.weight))
    return Size(weight, ONE, weight, ZERO, ZERO)


def _joined(sizes: list[Size]) -> Size:
    """Bound `xs.join(sep)` and `join(xs, sep)`."""
    items, separator = sizes[0], sizes[1].weight if len(sizes) > 1 else ZERO
    weight = add(items.weight, times(constant(_DIGITS), items.n), times(items.n, separator))
    weight = add(weight, constant(_EACH))
    return Size(weight, ONE, weight, ZERO, ZERO)


def _split_text(sizes: list[Size]) -> Size:
    """Bound `s.split(sep)`: at most one piece a character."""
    pieces = add(ONE, sizes[0].n)
    weight = add(constant(_EACH), times(constant(_EACH), pieces), sizes[0].weight)
    return Size(pieces, add(ONE, pieces), weight, ONE, sizes[0].weight)


def _formatted(sizes: list[Size]) -> Size:
    """Bound `s.format(xs)`: `s` and each item, in its longest form, once a placeholder."""
    weight = add(sizes[0].weight, times(constant(_DIGITS), add(*(s.weight for s in sizes))))
    return Size(weight, ONE, weight, ZERO, ZERO)


def _written(sizes: list[Size]) -> Size:
    """Bound `json(x)`: escapes take six characters for one, numbers up to 24."""
    weight = add(times(constant(6), sizes[0].weight), times(constant(_DIGITS), sizes[0].nodes))
    return Size(weight, ONE, weight, ZERO, ZERO)


def _sum_of(sizes: list[Size]) -> Size:
    return _either(sizes)


def _longer(sizes: list[Size]) -> Size:
    """Bound what is at most twice as long as its text (quotes, base64, case)."""
    weight = times(constant(6), add(ONE, *(size.weight for size in sizes)))
    return Size(weight, ONE, weight, ZERO, ZERO)


_SIZES: dict[str, Callable[[list[Size]], Size]] = {
    "_+_": _sum_of,
    "replace": _replaced,
    "join": _joined,
    "split": _split_text,
    "format": _formatted,
    "json": _written,
    "sort": _sum_of,
    "distinct": _sum_of,
    "flatten": lambda sizes: sizes[0].inside(),
    "strings.quote": _longer,
    "base64.encode": _longer,
    "base64.decode": _longer,
    "bytes": _longer,
    "reverse": _sum_of,
    "lowerAscii": _sum_of,
    "upperAscii": _sum_of,
}
_INSIDE = frozenset({"_[_]", "_[?_]", "_?._", "min", "max", "math.@max", "math.@min"})
_SAME = frozenset(
    {
        *("_?_:_", "orValue", "or", "value", "optional.of", "optional.ofNonZeroValue", "dyn"),
        *("trim", "substring", "charAt", ORDER),
    }
)
_VISITORS: dict[type, Callable[..., Size]] = {
    Const: _Walk.constant,
    Var: _Walk.variable,
    Select: _Walk.selection,
    Call: _Walk.call,
    ListOf: _Walk.array,
    MapOf: _Walk.object_,
    Loop: _Walk.loop,
    Let: _Walk.let,
}


_FREE = Cost()
_MAKERS = frozenset({ListOf, MapOf, Loop, Let})


def _makes(node: Node) -> bool:
    """Tell whether evaluating this node itself makes a value that can be large."""
    return node.function in _SIZES if isinstance(node, Call) else type(node) in _MAKERS


def _summands(node: Node) -> Iterator[Node]:
    """Yield what a sum of numbers is made of: each is a number, too."""
    if isinstance(node, Call) and node.function == "_+_":
        for part in node.args:
            yield from _summands(part)
    else:
        yield node


def cost_of(node: Node, *, is_number: bool = False) -> Cost:
    """Return the bounds of an expression; beyond every bound where they can't be written down.

    `is_number` says that its value is known to be a number: then no sum of it makes anything.
    """
    parts = _summands(node) if is_number else (node,)
    if not any(_makes(inner) for part in parts for inner in walk(part)):
        return _FREE
    counted = _Walk()
    try:
        counted.visit(node)
    except _TooManyTermsError:
        return Cost(turns=constant(MAX_TURNS + 1))
    return Cost(counted.turns, counted.growth, counted.made)


def refusal(text: str, cost: Cost) -> Problem | None:
    """Return the problem of an expression that breaks a bound even on the smallest input."""
    words = exceeded(cost, {})
    if words is None:
        return None
    message = f"evaluating this takes {words}"
    return Problem("expression-cost", message, 0, len(text), "split it over transform steps")


def exceeded(cost: Cost, sizes: Mapping[Symbol, int]) -> str | None:
    """Return which bound these sizes exceed, in words, or None."""
    for poly, most, what in (
        (cost.turns, MAX_TURNS, "loop turns"),
        (cost.growth, MAX_GROWTH, "copies of elements by map and filter"),
        (cost.made, MAX_MADE, "elements and bytes made"),
    ):
        value = _value(poly, sizes)
        if value > most:
            return f"up to {value:,} {what}, at most {most:,} are allowed"
    return None


def _value(poly: Poly, sizes: Mapping[Symbol, int]) -> int:
    total = 0
    for monomial, factor in poly.items():
        for symbol in monomial:
            factor *= sizes.get(symbol, 1)  # noqa: PLW2901
        total += factor
    return total


def measured(path: Path, value: JsonValue) -> dict[Symbol, int]:
    """Return the sizes of a real value."""
    if isinstance(value, list | dict):
        parts = [_weigh(part) for part in (value.values() if isinstance(value, dict) else value)]
        names = sum(_length(key) for key in value) if isinstance(value, dict) else 0
        nodes, weight = sum(p[0] for p in parts) + 1, sum(p[1] for p in parts) + names + _EACH
        # the keys of an object are elements too, when it is looped over
        most_nodes = max((p[0] for p in parts), default=0) + bool(names)
        most_weight = max((p[1] for p in parts), default=0) + names
        found = (len(value), nodes, weight, most_nodes, most_weight)
    else:
        weight = _weigh(value)[1]
        found = (weight, 1, weight, 0, 0)
    return {(name, path): size for name, size in zip("nNWMV", found, strict=True)}


def _weigh(value: JsonValue) -> tuple[int, int]:
    nodes = weight = 0
    stack = [value]
    while stack:
        item = stack.pop()
        nodes += 1
        weight += _EACH + (_length(item) if isinstance(item, str) else 0)
        if isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
            weight += sum(_length(key) for key in item)
    return nodes, weight


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
