"""The functions that dagflow adds to CEL, as a table.

Each takes a list of its arguments: the library dispatches on one kind a parameter and has none
for null, so one overload over a list is what lets a function take any value, null included.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from dagflow.core.errors import ValueRefusedError
from dagflow.core.records import dataclass
from dagflow.core.values import JsonValue, check_value

Function: TypeAlias = Callable[[list[object]], object]


@dataclass(frozen=True, slots=True)
class Added:
    """One function: how it is called, what its arguments are, and what it does.

    `arguments` are the kinds as the check names them, with `?` after one that may be left out;
    `returns` what the CEL library is told, the check knows more.
    """

    name: str
    arguments: tuple[str, ...]
    returns: Literal["string", "dyn"]
    call: Function


class FunctionError(ValueError):
    """A function was given what it can't take; its words reach the author."""


def write(value: object) -> str:
    """Write a JSON value as JSON, its keys sorted: the library keeps no order of its own."""
    plain = jsonable(value)
    return json.dumps(
        plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def text_of(value: object) -> str:
    """Write a scalar as text: a string as it is, true, 12, 0.1, 2.5 as JSON writes them.

    Raises `FunctionError` for null, a list or an object.
    """
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, list | dict):
        kind = {type(None): "null", list: "a list"}.get(type(value), "an object")
        raise FunctionError(f"{kind} can't be written as text; use json(…)")
    plain = jsonable(value)
    return plain if isinstance(plain, str) else write(plain)


def jsonable(value: object) -> JsonValue:
    """Return what CEL gave as a JSON value; raises `FunctionError` where there is none."""
    from dagflow.expr.result import to_json

    try:
        found = to_json(value)
        check_value(found)
    except ValueRefusedError as error:
        raise FunctionError(error.reason) from None
    return found


def _json(args: list[object]) -> object:
    return write(args[0])


def _sum(args: list[object]) -> object:
    numbers = _numbers(args[0], "sum")
    total = sum(numbers)
    if isinstance(total, int) and not -(2**63) <= total < 2**63:
        raise FunctionError("the sum is an integer outside the 64-bit range")
    return total


def _numbers(value: object, name: str) -> list[int | float]:
    items = _items(value, name)
    found: list[int | float] = []
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise FunctionError(f"{name} takes numbers, not {_kind(item)}")
        found.append(item)
    return found


def _items(value: object, name: str) -> list[object]:
    if not isinstance(value, list):
        raise FunctionError(f"{name} takes a list, not {_kind(value)}")
    return value


def _ordered(value: object, name: str) -> list[object]:
    items = _items(value, name)
    kinds = {_order_kind(item) for item in items}
    if "" in kinds or len(kinds) > 1:
        found = sorted({_kind(item) for item in items})
        raise FunctionError(f"{name} takes numbers, or strings, not {' and '.join(found)}")
    return sorted(items)  # type: ignore[type-var]  # all of one ordered kind, just established


def _order_kind(item: object) -> str:
    if isinstance(item, bool):
        return ""
    if isinstance(item, int | float):
        return "number"
    return "string" if isinstance(item, str) else ""


def _kind(item: object) -> str:
    if item is None:
        return "null"
    names = {
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
        datetime: "a timestamp",
        timedelta: "a duration",
    }
    return names.get(type(item), f"a {type(item).__name__}")


def _first(args: list[object], name: str, index: int) -> object:
    items = _ordered(args[0], name)
    if not items:
        raise FunctionError(f"{name} of an empty list")
    return items[index]


def _min(args: list[object]) -> object:
    return _first(args, "min", 0)


def _max(args: list[object]) -> object:
    return _first(args, "max", -1)


def _sort(args: list[object]) -> object:
    return _ordered(args[0], "sort")


def _distinct(args: list[object]) -> object:
    found: dict[str, object] = {}
    for item in _items(args[0], "distinct"):
        found.setdefault(_identity(item), item)
    return list(found.values())


def _identity(item: object) -> str:
    """Return a text that is equal for values that CEL's `==` calls equal."""
    return json.dumps(_folded(jsonable(item)), sort_keys=True)


def _folded(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_folded(item) for item in value]
    if isinstance(value, dict):
        return {key: _folded(item) for key, item in value.items()}
    return value


def _flatten(args: list[object]) -> object:
    return [
        inner
        for item in _items(args[0], "flatten")
        for inner in (item if isinstance(item, list) else [item])
    ]


def _join(args: list[object]) -> object:
    separator = args[1] if len(args) > 1 else ""
    if not isinstance(separator, str):
        raise FunctionError(f"join takes a string between the items, not {_kind(separator)}")
    return separator.join(text_of(item) for item in _items(args[0], "join"))


def _order(args: list[object]) -> object:
    """Return a list as it is, and an object's keys sorted: what a loop goes over."""
    value = args[0]
    return sorted(value) if isinstance(value, dict) else value


ORDER: Final = "@order"
"""The function that lowering writes around what `map` and `filter` loop over."""

FUNCTIONS: Final[tuple[Added, ...]] = (
    Added("json", ("dyn",), "string", _json),
    Added("sum", ("list(number)",), "dyn", _sum),
    Added("min", ("list(ordered)",), "dyn", _min),
    Added("max", ("list(ordered)",), "dyn", _max),
    Added("sort", ("list(ordered)",), "dyn", _sort),
    Added("distinct", ("list",), "dyn", _distinct),
    Added("flatten", ("list",), "dyn", _flatten),
    Added("join", ("list(scalar)", "string?"), "string", _join),
)
INTERNAL: Final = (Added(ORDER, ("dyn",), "dyn", _order),)
WRAPPED: Final[frozenset[str]] = frozenset(f.name for f in (*FUNCTIONS, *INTERNAL))
"""Functions whose arguments are passed as one list."""
