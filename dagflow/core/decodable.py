"""What of JSON Schema a model's decoding can be held to, and how long an answer can get.

The compiler asks before a run, the llm package while it decodes; both read these tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

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
    return tuple(sorted(f"{at}/{escape(key)}" for at, key in _unsupported(schema, "")))


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
            yield from ((f"/{key}/{escape(name)}", value) for name, value in group.items())
    for key in SCHEMA_LISTS:
        listed = schema.get(key)
        if isinstance(listed, list):
            yield from ((f"/{key}/{index}", value) for index, value in enumerate(listed))


def escape(key: str) -> str:
    """Write a key as it stands in a JSON Pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def longest(schema: Schema) -> int | None:
    """Return how many characters the compact JSON of an answer can have, or None for no bound.

    Strings and arrays without a bound count with the default that decoding gives them. Escapes
    are not counted: a string of n characters is n + 2, whatever they are.
    """
    return _longest(schema, schema, ())


def _longest(schema: JsonValue, root: Schema, seen: tuple[str, ...]) -> int | None:
    if not isinstance(schema, dict):
        return 0 if schema is False else None
    if "const" in schema:
        return _written(schema["const"])
    if isinstance(schema.get("enum"), list):
        return max((_written(value) for value in _list(schema["enum"])), default=0)
    if "$ref" in schema:
        return _of_reference(schema["$ref"], root, seen)
    options = _list(schema.get("anyOf")) or _list(schema.get("oneOf"))
    if options:
        return _most(_longest(option, root, seen) for option in options)
    if "allOf" in schema:
        known = [_longest(part, root, seen) for part in _list(schema["allOf"])]
        return _total(known)
    return _most(_of_type(name, schema, root, seen) for name in _types(schema))


def _of_reference(reference: JsonValue, root: Schema, seen: tuple[str, ...]) -> int | None:
    name = str(reference)
    return None if name in seen else _longest(find(root, name), root, (*seen, name))


def find(root: Schema, reference: str) -> Schema:
    """Return the schema that a local `$ref` names, or True (anything) when there is none."""
    found: JsonValue = root
    for part in reference.removeprefix("#").split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(key, True)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return True
    return found if isinstance(found, (dict, bool)) else True


def _of_type(name: str, schema: JsonObject, root: Schema, seen: tuple[str, ...]) -> int | None:
    if name in _SCALARS:
        return _SCALARS[name]
    if name == "string":
        return string_bound(schema) + 2
    if name == "array":
        return _of_array(schema, root, seen)
    return _of_object(schema, root, seen)


def _of_array(schema: JsonObject, root: Schema, seen: tuple[str, ...]) -> int | None:
    heads = _list(schema.get("prefixItems"))
    rest = schema.get("items", True)
    count = items_bound(schema)
    sizes = [_longest(head, root, seen) for head in heads[:count]]
    if count > len(heads) and rest is not False:
        each = _longest(rest, root, seen)
        sizes += [each] * (count - len(heads))
    total = _total(sizes)
    return None if total is None else total + 2 + max(len(sizes) - 1, 0)


def _of_object(schema: JsonObject, root: Schema, seen: tuple[str, ...]) -> int | None:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or schema.get("additionalProperties") not in {None, False}:
        return 2 if schema.get("additionalProperties") is False else None
    sizes = [_longest(value, root, seen) for value in properties.values()]
    total = _total(sizes)
    keys = sum(_written(name) + 1 for name in properties)
    return None if total is None else total + keys + 2 + max(len(sizes) - 1, 0)


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
