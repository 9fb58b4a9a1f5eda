"""Plans as JSON and back, strictly: exactly a plan, or an error that names the place.

One codec is made for each type that a field of a plan may have, from the dataclasses' own
annotations, so that a new field needs no line here.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Literal, TypeAlias, cast

from dagflow.core.errors import UsageError, ValueRefusedError
from dagflow.core.plan import MAX_PLAN_DEPTH, PLAN_VERSION, Plan
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, check_value, digest

Encode: TypeAlias = Callable[[Any], JsonValue]
Decode: TypeAlias = Callable[[JsonValue], Any]


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


class _Misfit(Exception):  # noqa: N818  # carries a reason outwards; never leaves the module
    """A value that is no part of a plan; each container adds the key on the way out."""

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


def to_json(plan: Plan) -> JsonObject:
    """Return the plan as plain JSON, its digest included."""
    return cast("JsonObject", _codec(Plan).encode(plan))


def digest_of(plan: Plan) -> str:
    """Return the digest of everything in the plan but its own digest."""
    return digest(_content().encode(plan))


def from_json(value: JsonValue) -> Plan:
    """Read a plan, or raise `UsageError` with the JSON Pointer of what is wrong.

    The digest is computed anew: a plan edited by hand is accepted as the other plan that it is.
    """
    try:
        check_value(value, max_depth=MAX_PLAN_DEPTH)
    except ValueRefusedError as error:
        raise _wrong(error.at, error.reason) from None
    version = value.get("plan_version") if isinstance(value, dict) else None
    if isinstance(version, int) and version != PLAN_VERSION:
        raise UsageError(
            f"the plan has version {version}, and this dagflow reads version {PLAN_VERSION}",
            remedy="compile the workflow again with this dagflow",
        )
    try:
        return cast("Plan", _codec(Plan).decode(value))
    except _Misfit as error:
        raise _wrong("".join(f"/{key}" for key in reversed(error.keys)), error.reason) from None


def _wrong(at: str, reason: str) -> UsageError:
    return UsageError(
        f"not a plan: at {at or '/'}: {reason}",
        remedy="make the plan with `dagflow plan FILE -o plan.json`, and edit values only",
    )


@cache
def _codec(kind: Any) -> _Codec:
    if kind in _SCALARS:
        return _scalar(kind)
    if isinstance(kind, type) and issubclass(kind, _Json):
        return _raw(kind)
    if kind is Plan:
        return _plan()
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
            raise _Misfit(f"expected {words}, got {_shown(value)}")
        return float(cast("float", value)) if kind is float else value

    encode: Encode = float if kind is float else _same
    return _Codec(encode, decode, takes, words)


def _raw(kind: type[_Json]) -> _Codec:
    def takes(value: JsonValue) -> bool:
        return isinstance(value, kind.accepts)

    def decode(value: JsonValue) -> Any:
        if not takes(value):
            raise _Misfit(f"expected {kind.words}, got {_shown(value)}")
        return value

    return _Codec(_same, decode, takes, kind.words)


@cache
def _content() -> _Codec:
    """Return the codec of all of a plan but its digest."""
    return _record(Plan)


def _plan() -> _Codec:
    content = _content()

    def encode(plan: Plan) -> JsonValue:
        return {**cast("JsonObject", content.encode(plan)), "digest": plan.digest}

    def decode(value: JsonValue) -> Any:
        return content.decode(_without_digest(value))

    def takes(value: JsonValue) -> bool:
        return content.takes(_without_digest(value))

    return _Codec(encode, decode, takes, content.words)


def _without_digest(value: JsonValue) -> JsonValue:
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key != "digest"}


def _record(cls: type[Any]) -> _Codec:
    hints = typing.get_type_hints(cls, localns=dict(_NAMES))
    given = [item for item in fields(cls) if item.init]
    parts = {_key(item): (item.name, _later(hints[item.name])) for item in given}
    take = _taker([name for name, _ in parts.values()])
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
        return written

    def decode(value: JsonValue) -> Any:
        found = _entries(value, parts)
        made: dict[str, Any] = {}
        for key, (name, part) in parts.items():
            try:
                made[name] = part().decode(found[key])
            except _Misfit as error:
                error.keys.append(key)
                raise
        return cls(**made)

    def takes(value: JsonValue) -> bool:
        return isinstance(value, dict) and value.keys() == parts.keys()

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


def _entries(value: JsonValue, parts: Mapping[str, object]) -> JsonObject:
    if not isinstance(value, dict):
        raise _Misfit(f"expected an object, got {_shown(value)}")
    if value.keys() == parts.keys():
        return value
    unknown = next((key for key in value if key not in parts), None)
    if unknown is not None:
        raise _Misfit("the key is unknown", unknown)
    missing = next(key for key in parts if key not in value)
    raise _Misfit(f"the key {missing!r} is missing")


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
        raise _Misfit(f"expected {words}, got {_shown(value)}")

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
            raise _Misfit(f"expected a list, got {_shown(value)}")
        if fixed is not None and len(value) != len(fixed):
            raise _Misfit(f"expected a list of {len(fixed)}, got {len(value)} items")
        parts = fixed or (item,) * len(value)
        return tuple(_items(zip(parts, value, strict=True)))

    return _Codec(encode, decode, lambda value: isinstance(value, list), "a list")


def _items(entries: Iterable[tuple[Callable[[], _Codec], JsonValue]]) -> Iterator[Any]:
    for index, (part, entry) in enumerate(entries):
        try:
            yield part().decode(entry)
        except _Misfit as error:
            error.keys.append(index)
            raise


def _mapped(inner: tuple[Any, ...]) -> _Codec:
    item = _later(inner[1])

    def encode(value: Any) -> JsonValue:
        one = item().encode
        return dict(value) if one is _same else {key: one(each) for key, each in value.items()}

    def decode(value: JsonValue) -> Any:
        if not isinstance(value, dict):
            raise _Misfit(f"expected an object, got {_shown(value)}")
        made = {}
        for key, entry in value.items():
            try:
                made[key] = item().decode(entry)
            except _Misfit as error:
                error.keys.append(key)
                raise
        return made

    return _Codec(encode, decode, lambda value: isinstance(value, dict), "an object")


def _chosen(words: tuple[Any, ...]) -> _Codec:
    def takes(value: JsonValue) -> bool:
        return value in words

    def decode(value: JsonValue) -> Any:
        if not takes(value):
            raise _Misfit(f"expected one of {', '.join(words)}, got {_shown(value)}")
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
