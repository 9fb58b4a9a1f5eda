"""Records as JSON and back, strictly: exactly a record, or an error that names the place.

One codec is made for each type that a field of a record may have, from the dataclasses' own
annotations, so that a new field needs no line here. A field that `__init__` does not take is
derived: it is written, and ignored when it is read. One with `metadata={"optional": True}` is left
out where it has its default, so that records written before there was such a field stay the same.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, cast

from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue

Encode: TypeAlias = Callable[[Any], JsonValue]
Decode: TypeAlias = Callable[[JsonValue], Any]
R = TypeVar("R")


class _Json:
    """Stands for `JsonValue` in annotations, whose own recursion can't be walked."""

    accepts: ClassVar[tuple[type, ...]] = (object,)
    words: ClassVar[str] = "a JSON value"


class _Object(_Json):
    """Stands for `JsonObject`."""

    accepts = (dict,)
    words = "an object"


class _Schema(_Json):
    """Stands for `Schema`."""

    accepts = (dict, bool)
    words = "a JSON Schema (an object, true or false)"


_NAMES: Mapping[str, type] = {"JsonValue": _Json, "JsonObject": _Object, "Schema": _Schema}


class Misfit(Exception):  # noqa: N818  # carries a reason outwards, to who can name the whole
    """A value that is no part of the record; each container adds the key on the way out."""

    def __init__(self, reason: str, key: object = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.keys = [] if key is None else [key]


@dataclass(frozen=True, slots=True)
class _Codec:
    """How values of one type are written and read; `takes` tells by the JSON whether it fits."""

    encode: Encode
    decode: Decode
    takes: Callable[[JsonValue], bool]
    words: str


def encode(record: object) -> JsonObject:
    """Return a record as plain JSON, with what is derived of it."""
    return cast("JsonObject", _codec(cast("Any", type(record))).encode(record))


def given(record: object) -> JsonObject:
    """Return a record as plain JSON without what is derived of it."""
    return cast("JsonObject", _given(cast("Any", type(record))).encode(record))


def decode(kind: type[R], value: JsonValue) -> R:
    """Read a record of a kind. Raises `Misfit` with the keys that lead to what is wrong."""
    return cast("R", _codec(cast("Any", kind)).decode(value))


@cache
def _codec(kind: Any) -> _Codec:
    if kind in _SCALARS:
        return _scalar(kind)
    if isinstance(kind, type) and issubclass(kind, _Json):
        return _raw(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    return _GENERIC[origin](inner)


_SCALARS: Mapping[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "text"),
    int: ((int,), "an integer"),
    float: ((float, int), "a number"),
    bool: ((bool,), "true or false"),
    types.NoneType: ((types.NoneType,), "null"),
}


def _scalar(kind: Any) -> _Codec:
    accepted, words = _SCALARS[kind]

    def takes(value: JsonValue) -> bool:
        return type(value) in accepted

    def decode(value: JsonValue) -> Any:
        if not takes(value):
            raise Misfit(f"expected {words}, got {_shown(value)}")
        return float(cast("float", value)) if kind is float else value

    encode: Encode = float if kind is float else _same
    return _Codec(encode, decode, takes, words)


def _raw(kind: type[_Json]) -> _Codec:
    def takes(value: JsonValue) -> bool:
        return isinstance(value, kind.accepts)

    def decode(value: JsonValue) -> Any:
        if not takes(value):
            raise Misfit(f"expected {kind.words}, got {_shown(value)}")
        return value

    return _Codec(_same, decode, takes, kind.words)


def _record(cls: Any) -> _Codec:
    derived = [_key(item) for item in fields(cls) if not item.init]
    return _with(derived, _given(cls)) if derived else _given(cls)


def _with(derived: list[str], own: _Codec) -> _Codec:
    """Return the codec of records that have derived keys beside their own."""

    def encode(value: Any) -> JsonValue:
        more: JsonObject = {key: getattr(value, key) for key in derived}
        return {**cast("JsonObject", own.encode(value)), **more}

    def left(value: JsonValue) -> JsonValue:
        if not isinstance(value, dict):
            return value
        return {key: item for key, item in value.items() if key not in derived}

    def decode(value: JsonValue) -> Any:
        return own.decode(left(value))

    return _Codec(encode, decode, lambda value: own.takes(left(value)), own.words)


@cache
def _given(cls: Any) -> _Codec:
    """Return the codec of what `__init__` takes."""
    hints = typing.get_type_hints(cls, localns=dict(_NAMES))
    taken = [item for item in fields(cls) if item.init]
    parts = {_key(item): (item.name, _later(hints[item.name])) for item in taken}
    take = _taker([name for name, _ in parts.values()])
    optional = {_key(it): (it.name, it.default) for it in taken if it.metadata.get("optional")}
    rewritten: list[tuple[str, Encode]] | None = None

    def encode(value: Any) -> JsonValue:
        nonlocal rewritten
        if rewritten is None:
            encoders = ((key, part().encode) for key, (_, part) in parts.items())
            rewritten = [(key, write) for key, write in encoders if write is not _same]
        # most fields of most records are written as they are: they are taken all at once
        written = dict(zip(parts, take(value), strict=True))
        for key, write in rewritten:
            written[key] = write(written[key])
        for key, (name, default) in optional.items():
            if getattr(value, name) == default:
                del written[key]
        return written

    def decode(value: JsonValue) -> Any:
        found = _entries(value, parts, optional)
        made: dict[str, Any] = {}
        for key, (name, part) in parts.items():
            if key not in found:  # an optional one
                continue
            try:
                made[name] = part().decode(found[key])
            except Misfit as error:
                error.keys.append(key)
                raise
        return cls(**made)

    def takes(value: JsonValue) -> bool:
        return isinstance(value, dict) and value.keys() | optional.keys() == parts.keys()

    words = "an object with " + ", ".join(parts)
    return _Codec(encode, decode, takes, words)


def _taker(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what takes these fields from a record."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _key(item: Field[Any]) -> str:
    """Return the key of a field: its name, or what stands for a word that Python keeps."""
    return str(item.metadata.get("json", item.name.rstrip("_")))


def _entries(
    value: JsonValue, parts: Mapping[str, object], optional: Mapping[str, object]
) -> JsonObject:
    if not isinstance(value, dict):
        raise Misfit(f"expected an object, got {_shown(value)}")
    if value.keys() == parts.keys():
        return value
    unknown = next((key for key in value if key not in parts), None)
    if unknown is not None:
        raise Misfit("the key is unknown", unknown)
    missing = next((key for key in parts if key not in value and key not in optional), None)
    if missing is not None:
        raise Misfit(f"the key {missing!r} is missing")
    return value


def _later(kind: Any) -> Callable[[], _Codec]:
    """Return what finds a type's codec when it is first used: values hold values."""
    found: list[_Codec] = []

    def codec() -> _Codec:
        if not found:
            found.append(_codec(kind))
        return found[0]

    return codec


def _union(options: tuple[Any, ...]) -> _Codec:
    parts = tuple(_later(option) for option in options)
    known: dict[Any, _Codec] = {}

    def pick(value: JsonValue) -> _Codec:
        for part in parts:
            if part().takes(value):
                return part()
        words = ", or ".join(part().words for part in parts)
        raise Misfit(f"expected {words}, got {_shown(value)}")

    def encode(value: Any) -> JsonValue:
        kind: Any = type(value)
        if kind not in known:
            known[kind] = _codec(kind if kind in options else _loose(kind, options))
        return known[kind].encode(value)

    def decode(value: JsonValue) -> Any:
        return pick(value).decode(value)

    def takes(value: JsonValue) -> bool:
        return any(part().takes(value) for part in parts)

    return _Codec(encode, decode, takes, "a value")


def _loose(kind: type, options: tuple[Any, ...]) -> Any:
    """Find the option for a Python value whose type isn't among them by name."""
    if kind is int and float in options:
        return float
    return next(option for option in options if option not in _SCALARS)


def _listed(inner: tuple[Any, ...]) -> _Codec:
    item = _later(inner[0])
    fixed = None if inner[-1] is Ellipsis else tuple(map(_later, inner))

    def encode(value: Any) -> JsonValue:
        if not value:
            return []
        if fixed is None:
            one = item().encode
            return [one(entry) for entry in value]
        return [part().encode(entry) for part, entry in zip(fixed, value, strict=True)]

    def decode(value: JsonValue) -> Any:
        if not isinstance(value, list):
            raise Misfit(f"expected a list, got {_shown(value)}")
        if fixed is not None and len(value) != len(fixed):
            raise Misfit(f"expected a list of {len(fixed)}, got {len(value)} items")
        parts = fixed or (item,) * len(value)
        return tuple(_items(zip(parts, value, strict=True)))

    return _Codec(encode, decode, lambda value: isinstance(value, list), "a list")


def _items(entries: Iterable[tuple[Callable[[], _Codec], JsonValue]]) -> Iterator[Any]:
    for index, (part, entry) in enumerate(entries):
        try:
            yield part().decode(entry)
        except Misfit as error:
            error.keys.append(index)
            raise


def _mapped(inner: tuple[Any, ...]) -> _Codec:
    item = _later(inner[1])

    def encode(value: Any) -> JsonValue:
        one = item().encode
        return dict(value) if one is _same else {key: one(each) for key, each in value.items()}

    def decode(value: JsonValue) -> Any:
        if not isinstance(value, dict):
            raise Misfit(f"expected an object, got {_shown(value)}")
        made = {}
        for key, entry in value.items():
            try:
                made[key] = item().decode(entry)
            except Misfit as error:
                error.keys.append(key)
                raise
        return made

    return _Codec(encode, decode, lambda value: isinstance(value, dict), "an object")


def _chosen(words: tuple[Any, ...]) -> _Codec:
    def takes(value: JsonValue) -> bool:
        return value in words

    def decode(value: JsonValue) -> Any:
        if not takes(value):
            raise Misfit(f"expected one of {', '.join(words)}, got {_shown(value)}")
        return value

    return _Codec(_same, decode, takes, " or ".join(words))


_GENERIC: Mapping[Any, Callable[[tuple[Any, ...]], _Codec]] = {
    typing.Union: _union,
    types.UnionType: _union,
    tuple: _listed,
    Mapping: _mapped,
    Literal: _chosen,
}


def _same(value: Any) -> JsonValue:
    return cast("JsonValue", value)


def _shown(value: JsonValue) -> str:
    if isinstance(value, dict):
        return f"an object with {', '.join(list(value)[:8]) or 'no keys'}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return repr(value)
