"""What is certain about guards: constant ones, ones that can't be true, ones that always are.

A guard is seen as a formula over *tests* (a term compared with constants) and over opaque parts,
which may be true or false as they like. "Never true" is said only when every way of making the
formula true asks something impossible of a term or of an opaque part; an error is not true
either. Everything here is undecided rather than wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Final, Literal, TypeAlias

from dagflow.compiler.graph.edges import sibling
from dagflow.compiler.model import StepFacts
from dagflow.compiler.proofs.domains import Comparison, Operator, Values, is_exact, values
from dagflow.compiler.proofs.numbers import Lookup, is_number, may_be_nan
from dagflow.core.records import dataclass, replace
from dagflow.core.values import INT64_MIN, JsonObject, JsonValue, canonical
from dagflow.expr.ast import Call, Const, ListOf, Node, from_json, path_of, to_json, without_places

MOST_WAYS: Final = 256
"""How many ways of making a formula true are looked at before giving up."""

_FLIPPED: Final[Mapping[str, Operator]] = {
    "_==_": "==", "_!=_": "!=", "_<_": ">", "_<=_": ">=", "_>_": "<", "_>=_": "<=",
}  # fmt: skip
_OPERATORS: Final[Mapping[str, Operator]] = {
    "_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=",
}  # fmt: skip
_DENIED: Final[Mapping[Operator, Operator]] = {
    "==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in",
    "not in": "in",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Claim:
    """A test of one term. `key` is the same for the same term; `path` is set for a plain read."""

    key: bytes
    path: tuple[str, ...] | None
    test: Comparison

    def denied(self) -> Claim:
        """Return the claim that the test fails."""
        return replace(self, test=Comparison(_DENIED[self.test.operator], self.test.value))


Way: TypeAlias = tuple[Claim, ...]
"""Claims that together make a formula true."""
_Terms: TypeAlias = dict[bytes, tuple[tuple[str, ...] | None, Values]]
"""What each term can be, by its key, with the path that it reads."""
_Known: TypeAlias = "dict[tuple[int, bool], list[Way] | None]"


def ast_of(facts: StepFacts, name: str) -> Node | None:
    """Return the AST of one of a step's expressions ("when", "until", "branches.0"), if checked."""
    checked, lowered = facts.expressions.get(name), facts.lowered.get(name)
    if checked is not None and checked.node is not None:
        return checked.node  # reading it back costs more than most of what is asked of it
    return None if lowered is None else from_json(lowered.ast)


def constant(facts: StepFacts, name: str) -> bool | None:
    """Return the value of an expression that has no variable in what decides it, else None."""
    node = ast_of(facts, name)
    return None if node is None else truth(node)


def truth(node: Node) -> bool | None:
    """Evaluate a boolean formula over literals; None where a value or an error decides it."""
    match node:
        case Const(kind="bool", value=bool(value)):
            return value
        case Call(function="!_", args=(inner,)):
            known = truth(inner)
            return None if known is None else not known
        case Call(function="_&&_", args=(left, right)):
            return _absorbing(truth(left), truth(right), absorbs=False)
        case Call(function="_||_", args=(left, right)):
            return _absorbing(truth(left), truth(right), absorbs=True)
        case Call(function="_?_:_", args=(test, yes, no)):
            chosen = truth(test)
            return None if chosen is None else truth(yes if chosen else no)
        case Call(function=name, args=(left, right)) if name in _OPERATORS:
            one, two = literal(left), literal(right)
            return None if one is None or two is None else _compared(one[0], name, two[0])
    return None


def _compared(one: JsonValue, name: str, two: JsonValue) -> bool | None:
    kind, operator = _kind(one), _OPERATORS[name]
    if kind != _kind(two) or not (is_exact(one) or is_exact(two)):
        return None
    if operator[0] in "<>" and kind not in {float, str, bool}:
        return None  # lists and nulls have no order
    return Comparison(operator, two).accepts(one)


def _absorbing(left: bool | None, right: bool | None, *, absorbs: bool) -> bool | None:
    if absorbs in {left, right}:
        return absorbs
    return None if left is None or right is None else not absorbs


def _kind(value: JsonValue) -> type:
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


def literal(node: Node) -> tuple[JsonValue] | None:
    """Return a literal's value (in a tuple, since it may be null), or None."""
    match node:
        case Const(kind="null" | "bool" | "int" | "double" | "string", value=value):
            return None if isinstance(value, bytes) else (value,)
        case Call(function="-_", args=(Const(kind="int" | "double", value=int() | float() as n),)):
            return (-n,) if n != INT64_MIN else None  # there CEL overflows
        case Call(function="double", args=(inner,)):
            match literal(inner):
                case (int() | float() as n,) if not isinstance(n, bool):
                    return (float(n),)
            return None
        case ListOf(items=items, optional=()):
            every = [literal(item) for item in items]
            return None if None in every else ([item[0] for item in every if item is not None],)
    return None


def never(nodes: Sequence[tuple[Node, bool]], lookup: Lookup) -> bool:
    """Tell whether the formulas can surely never have these truth values together."""
    ways = _ways(nodes, lookup)
    return ways is not None and all(_values(way, lookup) is None for way in ways)


def always(node: Node, lookup: Lookup) -> bool:
    """Tell whether the formula is surely true (or an error), whatever is read."""
    return never([(node, False)], lookup)


def decide(
    nodes: Sequence[tuple[Node, bool]], lookup: Lookup
) -> Literal["never"] | JsonObject | None:
    """Return "never", or values that show how the formulas come out so, or None: undecided."""
    ways = _ways(nodes, lookup)
    if ways is None:
        return None
    found = [value for value in (_values(way, lookup) for way in ways) if value is not None]
    return _example(found) if found else "never"


def witness(nodes: Sequence[tuple[Node, bool]], lookup: Lookup) -> JsonObject | None:
    """Return values of what is read, by variable, that give these truth values, if simple."""
    found = decide(nodes, lookup)
    return None if isinstance(found, str) else found


def _example(ways: Sequence[_Terms]) -> JsonObject | None:
    for found in ways:
        if all(value.known and path is not None for path, value in found.values()):
            read = {path: value.example for path, value in found.values() if path is not None}
            return _nested(read)
    return None


def _nested(read: Mapping[tuple[str, ...], JsonValue]) -> JsonObject | None:
    """Return objects that hold the values at their paths, None where one is inside another."""
    found: JsonObject = {}
    for path, value in read.items():
        inner = found
        for name in path[:-1]:
            below = inner.setdefault(name, {})
            if not isinstance(below, dict):
                return None
            inner = below
        if path[-1] in inner:
            return None
        inner[path[-1]] = value
    return found


def _values(way: Way, lookup: Lookup) -> _Terms | None:
    """Return what each term can be so that all claims hold, or None where one can't be."""
    tests: dict[bytes, list[Claim]] = {}
    for claim in way:
        tests.setdefault(claim.key, []).append(claim)
    found = {}
    for key, claims in tests.items():
        path = claims[0].path
        schema = True if path is None else lookup(path)
        value = values(schema, [claim.test for claim in claims])
        if not value.some:
            return None
        found[key] = (path, value)
    return found


def _ways(nodes: Sequence[tuple[Node, bool]], lookup: Lookup) -> list[Way] | None:
    """Return every way of giving the formulas these truth values, None when there are too many."""
    known: _Known = {}
    return _all_of([_making(node, wanted, lookup, known) for node, wanted in nodes])


def _all_of(parts: Sequence[list[Way] | None]) -> list[Way] | None:
    """Return every combination of one way of each part."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or prod(map(len, known)) > MOST_WAYS:
        return None
    return [tuple(claim for way in chosen for claim in way) for chosen in product(*known)]


def _any_of(parts: Sequence[list[Way] | None]) -> list[Way] | None:
    ways: list[Way] = []
    for part in parts:
        if part is None:
            return None
        ways += part
    return ways if len(ways) <= MOST_WAYS else None


def _making(node: Node, wanted: bool, lookup: Lookup, known: _Known) -> list[Way] | None:
    """Return every way of giving a formula a truth value, None when there are too many.

    Each is worked out once: a choice asks for both values of its test, on every level of a nest.
    """
    key = (id(node), wanted)
    if key not in known:
        known[key] = _made(node, wanted, lookup, known)
    return known[key]


def _made(node: Node, wanted: bool, lookup: Lookup, known: _Known) -> list[Way] | None:
    match node:
        case Const(kind="bool", value=value):
            return [()] if value is wanted else []
        case Call(function="!_", args=(inner,)):
            return _making(inner, not wanted, lookup, known)
        case Call(function="_&&_" | "_||_" as name, args=args):
            parts = [_making(arg, wanted, lookup, known) for arg in args]
            return _all_of(parts) if (name == "_&&_") is wanted else _any_of(parts)
        case Call(function="_?_:_", args=(test, yes, no)):
            branches = ((True, yes), (False, no))
            return _any_of([
                _all_of([
                    _making(test, truth, lookup, known),
                    _making(taken, wanted, lookup, known),
                ])
                for truth, taken in branches
            ])  # fmt: skip
    return _atom(node, wanted, lookup)


def _atom(node: Node, wanted: bool, lookup: Lookup) -> list[Way]:
    fixed = truth(node)
    if fixed is not None:
        return [()] if fixed is wanted else []
    claim = _claim(node, lookup)
    return [(claim if wanted else claim.denied(),)]


def _claim(node: Node, lookup: Lookup) -> Claim:
    """Read an atom as a test of a term; what is no comparison is a term that must be true."""
    compared = _comparison(node)
    if compared is None:
        return _about(node, Comparison("==", True))
    term, test = compared
    if test.operator[0] in "<>" and _kind(test.value) is float and may_be_nan(term, lookup):
        return _about(node, Comparison("==", True))  # it and its opposite may both be false
    inner = term
    while isinstance(inner, Call) and inner.function == "double" and len(inner.args) == 1:
        inner = inner.args[0]
    is_same = is_exact(test.value) and is_number(inner, lookup)
    return _about(inner if is_same else term, test)


def _comparison(node: Node) -> tuple[Node, Comparison] | None:
    """Return the term and the constant that a comparison compares."""
    match node:
        case Call(function=name, args=(left, right)) if name in _OPERATORS:
            constant_right, constant_left = literal(right), literal(left)
            if constant_right is not None:
                return left, Comparison(_OPERATORS[name], constant_right[0])
            if constant_left is not None:
                return right, Comparison(_FLIPPED[name], constant_left[0])
        case Call(function="@in", args=(left, right)):
            listed = literal(right)
            if listed is not None and isinstance(listed[0], list):
                return left, Comparison("in", listed[0])
    return None


def _about(term: Node, test: Comparison) -> Claim:
    return Claim(canonical(without_places(to_json(term))), path_of(term), test)


def conjuncts(node: Node) -> Iterator[Node]:
    """Yield the parts that must all be true for the formula to be."""
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, Call) and item.function == "_&&_":
            stack.extend(reversed(item.args))
        else:
            yield item


def tested(facts: StepFacts, *, wanted: bool) -> Iterator[tuple[str, str]]:
    """Yield (step, status) for each state of another step without which a guard is not `wanted`."""
    node = ast_of(facts, "when")
    for part in () if node is None else _insisted(node, wanted=wanted):
        term, test = _comparison(part) or (None, None)
        path = None if term is None else path_of(term)
        if (
            path is not None
            and test is not None
            and len(path) == len(("steps", "name", "status"))
            and (path[0], path[2]) == ("steps", "status")
            and test.operator == ("==" if wanted else "!=")
            and isinstance(test.value, str)
        ):
            yield sibling(facts.block, path[1]), test.value


def _insisted(node: Node, *, wanted: bool) -> Iterator[Node]:
    """Yield parts of a formula that must all be `wanted` for it to be so."""
    if wanted:
        yield from conjuncts(node)
    elif isinstance(node, Call) and node.function == "_||_":
        for part in node.args:
            yield from _insisted(part, wanted=False)
    else:
        yield node
