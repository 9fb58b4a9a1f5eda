"""Sizes of values as polynomials of the sizes of what is read, and what each function makes.

A polynomial's variables are sizes of the paths read: `n` how many elements a value has at its top,
`N` in all, `W` elements and bytes in all, `M` and `V` the same as `N` and `W` of its largest
element. Where an operation's size can't be told apart from its operands', the sum is used: a size
is never too small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from itertools import product
from typing import Final, TypeAlias

from dagflow.core.records import dataclass
from dagflow.core.values import JsonValue
from dagflow.expr.ast import Chain, Path
from dagflow.expr.functions import ORDER

_MAX_TERMS: Final = 20_000


Symbol: TypeAlias = tuple[str, Path]
Monomial: TypeAlias = tuple[Symbol, ...]
Poly: TypeAlias = Mapping[Monomial, int]

ZERO: Poly = {}
ONE: Poly = {(): 1}


class TooManyTermsError(Exception):
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
        raise TooManyTermsError
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


DIGITS: Final = 32  # of the longest number, instant or duration as text
EACH: Final = 8
"""What every element weighs besides the bytes of its text."""
SCALAR = Size(ZERO, ONE, constant(EACH), ZERO, ZERO)


def size_read(chain: Chain) -> Size:
    """Return the sizes of what is read, each a variable."""

    def symbol(name: str) -> Poly:
        return {((name, chain.path),): 1}

    return Size(symbol("n"), symbol("N"), symbol("W"), symbol("M"), symbol("V"))


def power(poly: Poly, base: Poly, exponent: int) -> Poly:
    """Return the polynomial times `base` so many times."""
    for _ in range(exponent):
        poly = times(poly, base)
    return poly


def gathered(parts: list[Size]) -> Size:
    """Return the size of a literal made of parts."""
    count = constant(len(parts))
    nodes = add(ONE, *(part.nodes for part in parts))
    weight = add(constant(EACH), *(part.weight for part in parts))
    return Size(count, nodes, weight, nodes, weight)


def either(sizes: list[Size]) -> Size:
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
    weight = add(items.weight, times(constant(DIGITS), items.n), times(items.n, separator))
    weight = add(weight, constant(EACH))
    return Size(weight, ONE, weight, ZERO, ZERO)


def _split_text(sizes: list[Size]) -> Size:
    """Bound `s.split(sep)`: at most one piece a character."""
    pieces = add(ONE, sizes[0].n)
    weight = add(constant(EACH), times(constant(EACH), pieces), sizes[0].weight)
    return Size(pieces, add(ONE, pieces), weight, ONE, sizes[0].weight)


def _formatted(sizes: list[Size]) -> Size:
    """Bound `s.format(xs)`: `s` and each item, in its longest form, once a placeholder."""
    weight = add(sizes[0].weight, times(constant(DIGITS), add(*(s.weight for s in sizes))))
    return Size(weight, ONE, weight, ZERO, ZERO)


def _written(sizes: list[Size]) -> Size:
    """Bound `json(x)`: escapes take six characters for one, numbers up to 24."""
    weight = add(times(constant(6), sizes[0].weight), times(constant(DIGITS), sizes[0].nodes))
    return Size(weight, ONE, weight, ZERO, ZERO)


def _sum_of(sizes: list[Size]) -> Size:
    return either(sizes)


def _longer(sizes: list[Size]) -> Size:
    """Bound what is at most twice as long as its text (quotes, base64, case)."""
    weight = times(constant(6), add(ONE, *(size.weight for size in sizes)))
    return Size(weight, ONE, weight, ZERO, ZERO)


SIZES: dict[str, Callable[[list[Size]], Size]] = {
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
INSIDE = frozenset({"_[_]", "_[?_]", "_?._", "min", "max", "math.@max", "math.@min"})
SAME = frozenset(
    {
        *("_?_:_", "orValue", "or", "value", "optional.of", "optional.ofNonZeroValue", "dyn"),
        *("trim", "substring", "charAt", ORDER),
    }
)


def measured(path: Path, value: JsonValue) -> dict[Symbol, int]:
    """Return the sizes of a real value."""
    if isinstance(value, list | dict):
        parts = [_weigh(part) for part in (value.values() if isinstance(value, dict) else value)]
        names = sum(bytes_of(key) for key in value) if isinstance(value, dict) else 0
        nodes, weight = sum(p[0] for p in parts) + 1, sum(p[1] for p in parts) + names + EACH
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
        weight += EACH + (bytes_of(item) if isinstance(item, str) else 0)
        if isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
            weight += sum(bytes_of(key) for key in item)
    return nodes, weight


def bytes_of(text: str) -> int:
    """Return how many bytes a text has."""
    return len(text) if text.isascii() else len(text.encode())
