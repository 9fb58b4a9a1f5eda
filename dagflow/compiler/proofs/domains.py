"""What values one term of a guard can have, given a conjunction of tests of it.

Only what is certain is claimed: a term has *no* value when no JSON value that its schema allows
passes every test. Schemas are read as far as they are simple (type, enum, const, bounds); the
rest of a schema is taken to allow anything, and then no example is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias, TypeGuard

from dagflow.core.records import dataclass
from dagflow.core.values import JsonValue, Schema

Operator: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
Number: TypeAlias = "int | float"

ENUMERATED: Final = 1_000
"""The widest integer range that is looked through one by one."""

EXACT: Final = 2**53
"""From here on a double may stand for several integers, and CEL compares them as doubles."""

_SIMPLE: Final = frozenset({"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "default", "title", "description", "examples"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of a term with a constant; for "in" and "not in" with a list of them."""

    operator: Operator
    value: JsonValue

    def accepts(self, value: JsonValue) -> bool:
        """Tell whether a value passes, as CEL compares: no order between different kinds."""
        match self.operator:
            case "==":
                return same(value, self.value)
            case "!=":
                return not same(value, self.value)
            case "in" | "not in":
                listed = self.value if isinstance(self.value, list) else []
                found = any(same(value, item) for item in listed)
                return found is (self.operator == "in")
            case _:
                return _ordered(value, self.operator, self.value)


def same(one: JsonValue, two: JsonValue) -> bool:
    """Compare as CEL does, at every depth: numbers by value, true is not 1."""
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(value, two[key]) for key, value in one.items())
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    return one == two


def is_exact(value: JsonValue) -> bool:
    """Tell whether CEL compares the value with every other just as `same` and the order here do.

    An integer beside a double is compared as a double there, so large numbers are not.
    """
    if isinstance(value, list):
        return all(map(is_exact, value))
    if isinstance(value, dict):
        return all(map(is_exact, value.values()))
    return not _is_number(value) or -EXACT < value < EXACT


def _ordered(one: JsonValue, operator: str, two: JsonValue) -> bool:
    if isinstance(one, str) and isinstance(two, str):
        return _signed(operator, (one > two) - (one < two))
    if isinstance(one, bool) and isinstance(two, bool):
        return _signed(operator, one - two)
    if _is_number(one) and _is_number(two):
        return _signed(operator, (one > two) - (one < two))
    return False


def _signed(operator: str, sign: int) -> bool:
    return {"<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0}[operator]


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Values:
    """What a term can be: `some` is False when nothing passes; `example` is one that does.

    `known` tells that there is an example that surely fits the schema too.
    """

    some: bool
    known: bool = False
    example: JsonValue = None


NONE: Final = Values(some=False)
UNKNOWN: Final = Values(some=True)


def values(schema: Schema, tests: Sequence[Comparison]) -> Values:
    """Return what a term of this schema can be when it passes all the tests."""
    if not all(_is_decided(schema, test.value) for test in tests):
        return UNKNOWN
    listed = _listed(schema, tests)
    if listed is not None:
        return _first(schema, (value for value in listed if _passes(value, tests)))
    interval = _interval(schema, tests)
    if interval is None:
        return _other(schema, tests)
    return _within(schema, interval, tests)


def _is_decided(schema: Schema, value: JsonValue) -> bool:
    """Tell whether a term of this schema is compared with the value as it is done here."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return is_exact(value) or (kind == "integer" and isinstance(value, int))


def _passes(value: JsonValue, tests: Sequence[Comparison]) -> bool:
    return all(test.accepts(value) for test in tests)


def _first(schema: Schema, found: Iterable[JsonValue]) -> Values:
    fitting = (value for value in found if _may_be(schema, value))
    value = next(fitting, _NO_VALUE)
    if value is _NO_VALUE:
        return NONE
    return Values(some=True, known=_is_simple(schema), example=value)  # type: ignore[arg-type]


_NO_VALUE: Final = object()


def _listed(schema: Schema, tests: Sequence[Comparison]) -> list[JsonValue] | None:
    """Return a list that holds every possible value, where one is named."""
    for test in tests:
        if test.operator == "==":
            return [test.value]
        if test.operator == "in" and isinstance(test.value, list):
            return test.value
    if isinstance(schema, bool):
        return None
    if "const" in schema:
        return [schema["const"]]
    enum = schema.get("enum")
    if isinstance(enum, list):
        return enum
    return [True, False] if schema.get("type") == "boolean" else None


def _may_be(schema: Schema, value: JsonValue) -> bool:
    """Tell whether a value can fit a schema, by the parts of it that are understood."""
    if isinstance(schema, bool):
        return schema
    if "const" in schema and not same(schema["const"], value):
        return False
    enum = schema.get("enum")
    if isinstance(enum, list) and not any(same(item, value) for item in enum):
        return False
    if not _of_type(schema.get("type"), value):
        return False
    return all(test.accepts(value) for test in _bounds(schema)) if _is_number(value) else True


def _of_type(named: JsonValue, value: JsonValue) -> bool:
    if isinstance(named, list):
        return any(_of_type(one, value) for one in named)
    match named:
        case "integer":
            return _is_number(value) and (isinstance(value, int) or value.is_integer())
        case "number":
            return _is_number(value)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return True


def _is_simple(schema: Schema) -> bool:
    return schema is True or (isinstance(schema, dict) and set(schema) <= _SIMPLE)


def _bounds(schema: Schema) -> Iterator[Comparison]:
    if isinstance(schema, dict):
        for key, operator in _BOUNDS:
            if _is_number(schema.get(key)):
                yield Comparison(operator, schema[key])


_BOUNDS: Final[tuple[tuple[str, Operator], ...]] = (
    ("minimum", ">="),
    ("maximum", "<="),
    ("exclusiveMinimum", ">"),
    ("exclusiveMaximum", "<"),
)


@dataclass(frozen=True, slots=True)
class _Interval:
    low: Number
    high: Number
    low_open: bool
    high_open: bool
    whole: bool


def _interval(schema: Schema, tests: Sequence[Comparison]) -> _Interval | None:
    """Return the interval of a term that some test or its schema says is a number."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    limits = [test for test in tests if test.operator[0] in "<>" and _is_number(test.value)]
    if not limits and kind not in ("integer", "number"):
        return None
    low: Number = -math.inf
    high: Number = math.inf
    low_open = high_open = False
    for test in (*_bounds(schema), *limits):
        value: Number = test.value  # type: ignore[assignment]  # numbers only
        is_open = len(test.operator) == 1
        if test.operator[0] == ">" and (value, is_open) > (low, low_open):
            low, low_open = value, is_open
        if test.operator[0] == "<" and (-value, is_open) > (-high, high_open):
            high, high_open = value, is_open
    return _Interval(low, high, low_open, high_open, kind == "integer")


def _within(schema: Schema, interval: _Interval, tests: Sequence[Comparison]) -> Values:
    if any(test.operator[0] in "<>" and not _is_number(test.value) for test in tests):
        return NONE  # compared in order with a number and with something else
    if interval.whole:
        return _whole(schema, interval, tests)
    if interval.low > interval.high:
        return NONE
    if interval.low == interval.high:
        point = interval.low
        is_open = interval.low_open or interval.high_open
        return NONE if is_open else _first(schema, (v for v in [point] if _passes(v, tests)))
    found = _first(schema, (v for v in _between(interval) if _passes(v, tests)))
    return found if found.some else UNKNOWN


def _whole(schema: Schema, interval: _Interval, tests: Sequence[Comparison]) -> Values:
    low, high = interval.low, interval.high
    if math.isfinite(low):
        low = math.floor(low) + 1 if interval.low_open else math.ceil(low)
    if math.isfinite(high):
        high = math.ceil(high) - 1 if interval.high_open else math.floor(high)
    if low > high:
        return NONE
    start = _start(low, high)
    step = -1 if start == high and start != low else 1
    if high - low <= ENUMERATED:
        return _first(schema, (v for v in range(int(low), int(high) + 1) if _passes(v, tests)))
    nearby = (start + step * offset for offset in range(len(tests) * 8 + 8))
    found = _first(schema, (v for v in nearby if low <= v <= high and _passes(v, tests)))
    return found if found.some else UNKNOWN


def _start(low: Number, high: Number) -> int:
    """Return the whole number of an interval that is the easiest to read."""
    if low <= 0 <= high:
        return 0
    return int(low) if math.isfinite(low) and low > 0 else int(high)


def _between(interval: _Interval) -> Iterator[JsonValue]:
    """Yield some numbers inside a wide interval, round ones first."""
    low, high = interval.low, interval.high
    if math.isfinite(low) and math.isfinite(high):
        yield from (low + (high - low) * part / 16 for part in (8, 4, 12, 2, 14, 1, 15))
    elif math.isfinite(low):
        yield from (low + offset for offset in range(1, 32))
    elif math.isfinite(high):
        yield from (high - offset for offset in range(1, 32))
    else:
        yield from range(32)


def _other(schema: Schema, tests: Sequence[Comparison]) -> Values:
    """Return an example of a term without end of values, where a text is one."""
    if isinstance(schema, dict) and schema.get("type") == "string" and _is_simple(schema):
        names = ("other", *(f"other{number}" for number in range(1, 64)))
        found = _first(schema, (name for name in names if _passes(name, tests)))
        return found if found.some else UNKNOWN
    return UNKNOWN
