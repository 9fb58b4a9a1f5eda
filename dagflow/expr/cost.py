"""Bounds on what an evaluation makes, as polynomials of the sizes of what it reads (`sizes`).

Three things are bounded, each summed over everything that is evaluated:

- `turns`: loop turns, at most 10,000 (the library's own limit);
- `growth`: the squares of the lengths of the lists that `map` and `filter` make, at most 2,000²
  (the library copies the list on each turn: 2,000 elements take 60 ms and 70 MB);
- `made`: elements and bytes of every value made, at most 10,000,000.

They are evaluated with the real sizes before the expression is; beyond a bound nothing is
evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Final

from dagflow.core.records import dataclass
from dagflow.expr.ast import (
    Call,
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
from dagflow.expr.problem import Problem
from dagflow.expr.sizes import (
    DIGITS,
    EACH,
    INSIDE,
    ONE,
    SAME,
    SCALAR,
    SIZES,
    ZERO,
    Monomial,
    Poly,
    Size,
    Symbol,
    TooManyTermsError,
    add,
    bytes_of,
    constant,
    either,
    gathered,
    power,
    size_read,
    times,
)

MAX_TURNS: Final = 10_000
MAX_GROWTH: Final = 2_000**2
MAX_MADE: Final = 10_000_000


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
            return size_read(chain)
        return _VISITORS[type(node)](self, node)

    def constant(self, node: Const) -> Size:
        value = node.value
        if not isinstance(value, str | bytes):
            return SCALAR
        length = constant(bytes_of(value) if isinstance(value, str) else len(value))
        return Size(length, ONE, add(constant(EACH), length), ZERO, ZERO)

    def variable(self, node: Var) -> Size:
        return self.bound.get(node.name, SCALAR)

    def selection(self, node: Select) -> Size:
        return SCALAR if node.test else self.visit(node.of).inside()

    def call(self, node: Call) -> Size:
        sizes = [self.visit(operand) for operand in node.operands]
        size = SIZES.get(node.function)
        if size is not None:
            return self.make(size(sizes))
        if node.function in INSIDE:
            return sizes[0].element()
        if node.function == "string":
            weight = add(sizes[0].weight, constant(DIGITS))
            return Size(weight, ONE, weight, ZERO, ZERO)
        if node.function in SAME:
            return either(sizes)
        return SCALAR

    def array(self, node: ListOf) -> Size:
        return self.make(gathered([self.visit(item) for item in node.items]))

    def object_(self, node: MapOf) -> Size:
        parts = [self.visit(part) for entry in node.entries for part in entry]
        return self.make(gathered(parts))

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
            add(constant(EACH), _summed(inner.weight, symbol, over)),
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
            term = power(
                power({rest: factor}, over.item_nodes, nodes), over.item_weight, weights - 1
            )
            term = times(term, over.weight)
        else:
            term = times(power({rest: factor}, over.item_nodes, nodes - 1), over.nodes)
        total = add(total, term)
    return total


def _largest(poly: Poly, symbol: Path, over: Size) -> Poly:
    """Bound a polynomial of one element by that of the largest one."""
    total: Poly = ZERO
    for monomial, factor in poly.items():
        rest, nodes, weights = _split(monomial, symbol)
        term = power(power({rest: factor}, over.item_nodes, nodes), over.item_weight, weights)
        total = add(total, term)
    return total


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
    return node.function in SIZES if isinstance(node, Call) else type(node) in _MAKERS


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
    except TooManyTermsError:
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
