"""All that a JSON Schema says of one value: its own keywords, and those of what it refers to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from dagflow.core.decodable import MAX_NESTING, find
from dagflow.core.values import JsonObject, JsonValue, Schema

Parts: TypeAlias = tuple[JsonObject, ...]
"""Schemas that hold together, each read without its `$ref` and `allOf`: those are among them."""

_SILENT: Final = frozenset(
    {"$ref", "allOf", "$defs", "definitions", "title", "description", "default", "examples",
     "$comment", "deprecated", "readOnly", "writeOnly", "$schema", "$id"}
)  # fmt: skip
"""Keywords that say nothing of the value itself."""


MAX_PLACES: Final = 10_000
"""What of a schema is looked at, at most: parts can hold together in more ways than there are."""


class TooDeepError(Exception):
    """Something is nested deeper than `MAX_NESTING`."""


def together(root: Schema, schemas: tuple[JsonValue, ...], depth: int) -> tuple[Parts, bool] | None:
    """Return the parts of schemas that all hold, and whether one of them was referred to.

    They stand at `depth`; a reference leads one deeper, at most to `MAX_NESTING`: `TooDeepError`.
    None where nothing satisfies them, because one is `false`. No parts: anything does. Each part
    is an object of the schema itself, so that the same parts are the same objects.
    """
    found: dict[int, JsonObject] = {}
    known: set[int] = set()
    waiting = [(schema, depth) for schema in schemas]
    is_referred = False
    while waiting:
        schema, level = waiting.pop()
        if schema is False:
            return None
        if not isinstance(schema, dict) or id(schema) in known:
            continue
        if level > MAX_NESTING:
            raise TooDeepError
        known.add(id(schema))
        if not schema.keys() <= _SILENT:
            found[id(schema)] = schema
        is_referred |= "$ref" in schema
        waiting += ((inner, level + 1) for inner in _in_place(root, schema))
    return tuple(found.values()), is_referred


def _in_place(root: Schema, schema: JsonObject) -> Iterator[JsonValue]:
    reference, parts = schema.get("$ref"), schema.get("allOf")
    if isinstance(reference, str):
        yield find(root, reference)
    yield from parts if isinstance(parts, list) else ()


def options_of(part: JsonObject) -> Iterator[list[JsonValue]]:
    """Yield each list of which a value satisfies one."""
    for keyword in ("anyOf", "oneOf"):
        options = part.get(keyword)
        if isinstance(options, list):
            yield options


def types_of(parts: Parts) -> frozenset[str] | None:
    """Return the types that a value may have, or None where the parts don't say."""
    said = [_names(part["type"]) for part in parts if "type" in part]
    return frozenset.intersection(*said) if said else None


def _names(declared: JsonValue) -> frozenset[str]:
    names = {str(name) for name in (declared if isinstance(declared, list) else [declared])}
    return frozenset(names | ({"integer"} if "number" in names else set()))


def properties_of(part: JsonObject) -> JsonObject:
    """Return the properties that a part names."""
    found = part.get("properties")
    return found if isinstance(found, dict) else {}


def item_of(part: JsonObject, index: int) -> JsonValue:
    """Return what a part says of the item at an index."""
    heads = heads_of(part)
    return heads[index] if index < len(heads) else part.get("items", True)


def heads_of(part: JsonObject) -> list[JsonValue]:
    """Return what a part says of the first items, one by one."""
    heads = part.get("prefixItems")
    return heads if isinstance(heads, list) else []


def joined(own: Parts, around: Parts) -> Parts:
    """Return parts with those that hold around them."""
    ids = set(map(id, own))
    return (*own, *(part for part in around if id(part) not in ids))


def key_of(parts: Parts) -> frozenset[int]:
    """Return what is the same for the same parts, as long as the schema is there."""
    return frozenset(map(id, parts))
