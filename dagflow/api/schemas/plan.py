"""The form of a plan, made from the plan's own types as `core/plan_json` writes them."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any, Final, Literal

from dagflow.api.schemas.form import ANY, FLAG, NUMBER, OBJECT, TEXT, closed, listed, mapped, ref
from dagflow.core.plan import Plan
from dagflow.core.values import JsonObject, JsonValue

_NAMES: Final[Mapping[str, type]] = {
    name: type(name, (), {}) for name in ("JsonValue", "JsonObject", "Schema")
}
"""Stand for the JSON types in annotations, whose own recursion can't be walked."""

_SIMPLE: Final[Mapping[Any, JsonObject]] = {
    str: TEXT,
    int: {"type": "integer"},
    float: NUMBER,
    bool: FLAG,
    types.NoneType: {"type": "null"},
    _NAMES["JsonValue"]: ANY,
    _NAMES["JsonObject"]: OBJECT,
    _NAMES["Schema"]: {"type": ["object", "boolean"]},
}


def plan_definitions() -> dict[str, JsonObject]:
    """Return the schema of every class that a plan is made of, by name."""
    found: dict[str, JsonObject] = {}
    _define(Plan, found)
    return found


def _define(cls: type[Any], found: dict[str, JsonObject]) -> None:
    name = _name(cls)
    if name in found:
        return
    found[name] = {}  # classes hold each other
    hints = typing.get_type_hints(cls, localns=dict(_NAMES))
    doc = (cls.__doc__ or "").strip().split("\n\n")[0]
    properties = {_key(it): _schema(hints[it.name], found) for it in fields(cls)}
    optional = " ".join(_key(it) for it in fields(cls) if it.metadata.get("optional"))
    found[name] = closed(properties, optional=optional, doc=" ".join(doc.split()))


def _schema(kind: Any, found: dict[str, JsonObject]) -> JsonObject:
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if isinstance(kind, type) and is_dataclass(kind):
        _define(kind, found)
        return ref(_name(kind))
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        words: list[JsonValue] = list(inner)
        return {"enum": words}
    if origin is tuple:
        return _tuple(inner, found)
    if origin is Mapping:
        return mapped(_schema(inner[1], found))
    options: list[JsonValue] = [_schema(option, found) for option in inner]
    return {"anyOf": options}


def _tuple(inner: tuple[Any, ...], found: dict[str, JsonObject]) -> JsonObject:
    if inner[-1] is Ellipsis:
        return listed(_schema(inner[0], found))
    items: list[JsonValue] = [_schema(item, found) for item in inner]
    size = len(items)
    return {"type": "array", "prefixItems": items, "minItems": size, "maxItems": size}


def _name(cls: type[Any]) -> str:
    return cls.__name__.rstrip("_")


def _key(item: Field[Any]) -> str:
    """Return the key of a field in a plan's JSON."""
    return str(item.metadata.get("json", item.name.rstrip("_")))
