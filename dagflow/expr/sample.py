"""Values that a schema admits, chosen near the bounds of another: where a misfit would show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from dagflow.core.records import dataclass
from dagflow.core.values import INT64_MAX, INT64_MIN, JsonObject, JsonValue, Schema
from dagflow.expr.fields import element, field, known_names
from dagflow.expr.types import Type, of_schema, values_of

_MAX_DEPTH = 6
_MAX_EACH = 24
_MAX_LENGTH = 10_000


@dataclass(frozen=True, slots=True)
class Hints:
    """What the other schema speaks of: numbers, lengths, texts and names."""

    numbers: tuple[int | float, ...]
    lengths: tuple[int, ...]
    texts: tuple[str, ...]
    names: tuple[str, ...]


def samples(given: Schema, other: Schema) -> Iterator[JsonValue]:
    """Yield values that `given` is likely to admit and `other` may not, always the same ones.

    Whether a value is admitted must still be asked: patterns and compound keywords are not read.
    """
    yield from _values(of_schema(given), _hints((given, other)), 0)


def _hints(schemas: Iterable[Schema]) -> Hints:
    numbers: dict[int | float, None] = {0: None, 1: None, -1: None}
    lengths: dict[int, None] = {0: None, 1: None, 2: None}
    texts: dict[str, None] = {}
    names: dict[str, None] = {}
    stack: list[JsonValue] = list(schemas)
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
            _gather(item, numbers, lengths, texts)
            properties = item.get("properties")
            names |= dict.fromkeys(properties) if isinstance(properties, dict) else {}
    return Hints(tuple(numbers), tuple(lengths), tuple(texts), tuple(names))


_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")


def _gather(
    item: JsonObject,
    numbers: dict[int | float, None],
    lengths: dict[int, None],
    texts: dict[str, None],
) -> None:
    for key in _NUMBERS:
        if isinstance(value := item.get(key), int | float):
            numbers |= dict.fromkeys((value, value - 1, value + 1, value * 2))
    for key in _LENGTHS:
        if isinstance(value := item.get(key), int):
            around = (value, value - 1, value + 1)
            lengths |= dict.fromkeys(n for n in around if 0 <= n <= _MAX_LENGTH)
    constants = item.get("enum")
    for value in (item.get("const"), *(constants if isinstance(constants, list) else ())):
        if isinstance(value, str):
            texts[value] = None
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers |= dict.fromkeys((value, value + 1))


def _values(given: Type, hints: Hints, depth: int) -> Iterator[JsonValue]:
    if (listed := values_of(given)) is not None:
        yield from listed
        return
    kinds = given.kinds if not given.is_dyn else frozenset(_KINDS)
    for kind in (kind for kind in _KINDS if kind in kinds):
        yield from islice(_KINDS[kind](given, hints, depth), _MAX_EACH * 4)


def _nulls(_given: Type, _hints: Hints, _depth: int) -> Iterator[JsonValue]:
    yield None


def _booleans(_given: Type, _hints: Hints, _depth: int) -> Iterator[JsonValue]:
    yield from (True, False)


def _integers(_given: Type, hints: Hints, _depth: int) -> Iterator[JsonValue]:
    for number in hints.numbers:
        if INT64_MIN <= number <= INT64_MAX:
            yield int(number)


def _numbers(_given: Type, hints: Hints, _depth: int) -> Iterator[JsonValue]:
    for number in hints.numbers:
        yield number
        yield number + 0.5


def _texts(_given: Type, hints: Hints, _depth: int) -> Iterator[JsonValue]:
    yield from ("x" * length for length in hints.lengths)
    yield from hints.texts


def _lists(given: Type, hints: Hints, depth: int) -> Iterator[JsonValue]:
    yield []
    if depth >= _MAX_DEPTH:
        return
    items = list(islice(_values(element(given), hints, depth + 1), _MAX_EACH))
    for item in items:
        yield [item]
    for length in hints.lengths:
        if items and length <= _MAX_EACH * 4:
            yield (items * (length // len(items) + 1))[:length]
            yield [items[0]] * length


def _objects(given: Type, hints: Hints, depth: int) -> Iterator[JsonValue]:
    if depth >= _MAX_DEPTH:
        yield {}
        return
    choices: dict[str, list[JsonValue]] = {}
    required: list[str] = []
    for name in known_names(given):
        found = field(given, name)
        if found.type is not None:
            choices[name] = list(islice(_values(found.type, hints, depth + 1), _MAX_EACH))
            required += [name] if found.required else []
    least = {name: choices[name][0] for name in required if choices[name]}
    full = {name: values[0] for name, values in choices.items() if values}
    yield least
    yield full
    for name, values in choices.items():
        yield from ({**base, name: value} for value in values for base in (full, least))
    for name in (*hints.names, "another"):
        if name not in choices and (extra := field(given, name).type) is not None:
            more = islice(_values(extra, hints, depth + 1), _MAX_EACH)
            yield from ({**least, name: value} for value in more)


_KINDS = {
    "null": _nulls,
    "bool": _booleans,
    "int": _integers,
    "number": _numbers,
    "string": _texts,
    "list": _lists,
    "map": _objects,
}
