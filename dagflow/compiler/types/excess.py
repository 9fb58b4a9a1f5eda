"""What is given and not taken, as an expression: where a guard excludes it, all is well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Final

from dagflow.compiler.model import Typed
from dagflow.core.plan import Evaluated
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.expr import fits
from dagflow.expr.ast import Call, Const, ListOf, Node

UNSAID: Final = frozenset({"maxLength", "maxItems", "maxProperties", "format"})
"""Of which most producers say nothing."""


def is_unsaid(given: Schema, wanted: Schema) -> bool:
    """Tell whether nothing is wrong but that nothing is said of a size or format at all."""
    if not isinstance(given, dict) or not isinstance(wanted, dict):
        return False
    limits = {key: wanted[key] for key in sorted(UNSAID & wanted.keys())}
    if not limits or limits.keys() & given.keys() or "enum" in given or "const" in given:
        return False
    return fits({**given, **limits}, wanted) == "yes"


def excess(typed: Typed, wanted: Schema) -> Node | None:
    """Return an expression that is true of the values that are given and not taken.

    Sizes and formats of which nothing is said are left to the run. None where no expression can
    tell them, or where what is given is made of several.
    """
    if not isinstance(typed.value, Evaluated) or len(typed.checked) != 1:
        return None
    node, given = typed.checked[0].node, typed.schema
    if node is None or not isinstance(given, dict) or not isinstance(wanted, dict):
        return None
    limits: JsonObject = {key: wanted[key] for key in (*_TESTS, "format") if key in wanted}
    kinds = given.get("type")
    if isinstance(kinds, list) and "null" in kinds and not _takes_null(wanted):
        limits["type"] = [kind for kind in kinds if kind != "null"]
    if not limits or fits({**given, **limits}, wanted) != "yes":
        return None
    told = {key: limit for key, limit in limits.items() if key not in UNSAID - given.keys()}
    tests = list(_tests(node, told, given))
    return reduce(lambda one, two: Call("_||_", (one, two)), tests) if tests else None


def _takes_null(wanted: JsonObject) -> bool:
    kinds = wanted.get("type")
    return kinds == "null" or (isinstance(kinds, list) and "null" in kinds)


def _tests(node: Node, limits: JsonObject, given: JsonObject) -> Iterator[Node]:
    if "type" in limits:
        yield Call("_==_", (node, Const("null", None)))
    for key, limit in limits.items():
        test = _TESTS.get(key)
        found = test(node, limit, given) if test is not None else None
        if found is not None:
            yield found


_Test = Callable[[Node, JsonValue, JsonObject], Node | None]


def _compared(operator: str) -> _Test:
    def test(node: Node, limit: JsonValue, given: JsonObject) -> Node | None:
        number = _number(limit, given)
        return None if number is None else Call(operator, (node, number))

    return test


def _sized(operator: str) -> _Test:
    def test(node: Node, limit: JsonValue, _given: JsonObject) -> Node | None:
        if not isinstance(limit, int):
            return None
        return Call(operator, (Call("size", (node,)), Const("int", limit)))

    return test


def _number(limit: JsonValue, given: JsonObject) -> Const | None:
    kinds = given.get("type")
    if isinstance(limit, bool) or not isinstance(limit, int | float):
        return None
    if kinds == "integer":
        return Const("int", int(limit)) if limit == int(limit) else None
    return Const("double", float(limit)) if kinds == "number" else None


def _chosen(node: Node, choices: JsonValue, _given: JsonObject) -> Node | None:
    values = choices if isinstance(choices, list) else [choices]
    if not all(isinstance(value, str) for value in values):
        return None
    found = tuple(Const("string", value) for value in values if isinstance(value, str))
    return Call("!_", (Call("@in", (node, ListOf(found))),))


_TESTS: Final[Mapping[str, _Test]] = {
    "minimum": _compared("_<_"),
    "maximum": _compared("_>_"),
    "exclusiveMinimum": _compared("_<=_"),
    "exclusiveMaximum": _compared("_>=_"),
    "minLength": _sized("_<_"),
    "maxLength": _sized("_>_"),
    "minItems": _sized("_<_"),
    "maxItems": _sized("_>_"),
    "enum": _chosen,
    "const": _chosen,
}
"""How a value that a bound leaves out is told."""
