"""What of JSON Schema a model's decoding can be held to.

The compiler asks before a run, the llm package while it decodes; both read these tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dagflow.core.pointers import fragment, look_up, under
from dagflow.core.values import JsonObject, JsonValue, Schema

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
