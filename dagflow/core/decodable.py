"""What of JSON Schema a model's decoding can be held to, and how long an answer can get.

The compiler asks before a run, the llm package while it decodes; both read these tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dagflow.core.pointers import fragment, look_up, under
from dagflow.core.values import JsonObject, JsonValue, Schema, canonical

MAX_STRING: Final = 512
MAX_ITEMS: Final = 32
MAX_PROPERTIES: Final = 16
MAX_NUMBER: Final = 999_999_999_999_999
DECIMALS: Final = 9
"""Bounds of what the author left open: a model that may go on for ever sometimes does."""

UNSUPPORTED: Final[frozenset[str]] = frozenset(
    {
        "not", "if", "then", "else", "contains", "minContains", "maxContains",
        "unevaluatedItems", "unevaluatedProperties", "propertyNames", "patternProperties",
        "dependentRequired", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef",
    }
)  # fmt: skip
"""Keywords that a token mask cannot keep (`uniqueItems` only where it is true)."""

FORMATS: Final[frozenset[str]] = frozenset(
    {"date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}
)
"""Formats that decoding keeps; others are annotations, as the standard has it."""

BOUNDED_FORMATS: Final[frozenset[str]] = frozenset(
    {"date", "time", "date-time", "duration", "uuid", "ipv4", "ipv6"}
)
FORMAT_LENGTH: Final = 36
"""How long a text of such a format is taken to get: it needs no `maxLength`."""

MAX_NESTING: Final = 64
"""What is nested deeper, through references too, has no bound."""

SCHEMA_MAPS: Final = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
SCHEMA_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
SCHEMA_KEYS: Final = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip

# look-around, back references and word borders, which no linear regex engine takes
_IRREGULAR = re.compile(r"\(\?[=!<](?!\w+>)|\\[1-9bB]")

_SCALARS: Final[Mapping[str, int]] = {
    "null": len("null"),
    "boolean": len("false"),
    "integer": len(str(-MAX_NUMBER)),
    "number": len(str(-MAX_NUMBER)) + 1 + DECIMALS,
}
_ANY = ("null", "boolean", "integer", "number", "string", "array", "object")


def unsupported(schema: Schema) -> tuple[str, ...]:
    """Return JSON Pointers to the keywords of `schema` that decoding can't be held to."""
    return tuple(sorted(under(at, key) for at, key in _unsupported(schema, "")))


def _unsupported(schema: JsonValue, at: str) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if _is_unsupported(key, value):
            yield at, key
    for place, child in subschemas(schema):
        yield from _unsupported(child, at + place)


def _is_unsupported(key: str, value: JsonValue) -> bool:
    if key == "uniqueItems":
        return value is True
    if key == "pattern":
        return isinstance(value, str) and _IRREGULAR.search(value) is not None
    if key == "$ref":
        return not (isinstance(value, str) and value.startswith("#"))
    return key in UNSUPPORTED


def subschemas(schema: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    """Yield (JSON Pointer from `schema`, schema) of every schema directly in this one."""
    for key in SCHEMA_KEYS:
        if key in schema:
            yield f"/{key}", schema[key]
    for key in SCHEMA_MAPS:
        group = schema.get(key)
        if isinstance(group, dict):
            yield from ((under(f"/{key}", name), value) for name, value in group.items())
    for key in SCHEMA_LISTS:
        listed = schema.get(key)
        if isinstance(listed, list):
            yield from ((f"/{key}/{index}", value) for index, value in enumerate(listed))


def longest(schema: Schema) -> int | None:
    """Return how many characters the compact JSON of an answer can have, or None for no bound.

    Strings and arrays without a bound count with the default that decoding gives them. Escapes
    are not counted: a string of n characters is n + 2, whatever they are. The work is linear in
    the schema, however often its parts refer to each other.
    """
    return _Lengths(schema).of(schema, 0)


class _Lengths:
    """Measures one schema. What a `$ref` names is measured once, and has no bound inside itself."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._known: dict[str, int | None] = {"#": None}

    def of(self, schema: JsonValue, depth: int) -> int | None:
        """Return the length of what this part of the schema allows."""
        if not isinstance(schema, dict):
            return 0 if schema is False else None
        if depth > MAX_NESTING:
            return None
        if "const" in schema:
            return _written(schema["const"])
        if isinstance(schema.get("enum"), list):
            return max((_written(value) for value in _list(schema["enum"])), default=0)
        if "$ref" in schema:
            return self._referred(str(schema["$ref"]), depth)
        options = _list(schema.get("anyOf")) or _list(schema.get("oneOf"))
        if options:
            return _most(self.of(option, depth + 1) for option in options)
        if "allOf" in schema:
            return _total([self.of(part, depth + 1) for part in _list(schema["allOf"])])
        return _most(self._typed(name, schema, depth) for name in _types(schema))

    def _referred(self, reference: str, depth: int) -> int | None:
        if reference not in self._known:
            self._known[reference] = None
            self._known[reference] = self.of(find(self._root, reference), depth + 1)
        return self._known[reference]

    def _typed(self, name: str, schema: JsonObject, depth: int) -> int | None:
        if name in _SCALARS:
            return _SCALARS[name]
        if name == "string":
            is_format = "maxLength" not in schema and schema.get("format") in BOUNDED_FORMATS
            return 2 + (FORMAT_LENGTH if is_format else string_bound(schema))
        return self._array(schema, depth) if name == "array" else self._object(schema, depth)

    def _array(self, schema: JsonObject, depth: int) -> int | None:
        heads, rest = _list(schema.get("prefixItems")), schema.get("items", True)
        is_fixed = rest is False and "maxItems" not in schema
        count = len(heads) if is_fixed else max(items_bound(schema), 0)
        sizes = [self.of(head, depth + 1) for head in heads[:count]]
        more = 0 if rest is False else count - len(sizes)
        if more:
            each = self.of(rest, depth + 1)
            sizes.append(None if each is None else each * more + more - 1)
        return _joined(sizes)

    def _object(self, schema: JsonObject, depth: int) -> int | None:
        properties = schema.get("properties")
        is_closed = schema.get("additionalProperties", False) is False
        if not isinstance(properties, dict) or not is_closed:
            return 2 if schema.get("additionalProperties") is False else None
        sizes = [self.of(value, depth + 1) for value in properties.values()]
        keys = sum(_written(name) + 1 for name in properties)
        return _joined(sizes, keys)


def _joined(sizes: list[int | None], extra: int = 0) -> int | None:
    """Return the length of parts between brackets, with commas."""
    total = _total(sizes)
    return None if total is None else total + extra + 2 + max(len(sizes) - 1, 0)


def find(root: Schema, reference: str) -> Schema:
    """Return the schema that a local `$ref` names, or True (anything) when there is none."""
    try:
        found = look_up(root, fragment(reference))
    except KeyError:
        return True
    return found if isinstance(found, (dict, bool)) else True


def string_bound(schema: JsonObject) -> int:
    """Return how many characters a string of this schema may have when decoded."""
    return _bound(schema, "maxLength", "minLength", MAX_STRING)


def items_bound(schema: JsonObject) -> int:
    """Return how many items an array of this schema may have when decoded."""
    return _bound(schema, "maxItems", "minItems", MAX_ITEMS)


def _bound(schema: JsonObject, upper: str, lower: str, default: int) -> int:
    most, least = schema.get(upper), schema.get(lower)
    if isinstance(most, (int, float)):
        return int(most)
    return max(default, int(least)) if isinstance(least, (int, float)) else default


def _types(schema: JsonObject) -> tuple[str, ...]:
    declared = schema.get("type", list(_ANY))
    return tuple(str(name) for name in (declared if isinstance(declared, list) else [declared]))


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _written(value: JsonValue) -> int:
    return len(canonical(value).decode())


def _most(sizes: Iterator[int | None]) -> int | None:
    found = list(sizes)
    known = [size for size in found if size is not None]
    return max(known, default=0) if len(known) == len(found) else None


def _total(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None
