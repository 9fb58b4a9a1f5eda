"""A schema in a few characters, as people write types: `{id: string, total?: integer | null}`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from dagflow.core.values import JsonValue, Schema
from dagflow.expr.types import MAX_REFERENCES, resolve

FEW: Final = 8
"""Fields, or values of an enum, that are written; of more, the first ones."""

DEEP: Final = 4
"""Levels that are written; what is deeper is `…`."""


def notation(schema: Schema, root: Schema | None = None, depth: int = 0) -> str:
    """Return a schema in one line: its kinds and fields. Bounds and patterns are not shown."""
    root = schema if root is None else root
    schema, root = resolve(schema, root)
    if not isinstance(schema, dict):
        return "any" if schema else "nothing"
    if depth > min(DEEP, MAX_REFERENCES):
        return "…"
    if "const" in schema:
        return _value(schema["const"])
    values = schema.get("enum")
    if isinstance(values, list):
        return _few([_value(value) for value in values], " | ")
    for key in ("anyOf", "oneOf"):
        parts = schema.get(key)
        if isinstance(parts, list):
            found = (notation(_schema(part), root, depth + 1) for part in parts)
            return _few(list(dict.fromkeys(found)), " | ")
    kinds = schema.get("type")
    names = kinds if isinstance(kinds, list) else [kinds]
    return " | ".join(_kind(name, schema, root, depth) for name in names)


def _kind(name: JsonValue, schema: dict[str, JsonValue], root: Schema, depth: int) -> str:
    if name == "array":
        return f"list({notation(_schema(schema.get('items', True)), root, depth + 1)})"
    if name == "object" or (name is None and "properties" in schema):
        return _object(schema, root, depth)
    if name is None:
        return "any"
    format_ = schema.get("format")
    return f"{name} ({format_})" if name == "string" and isinstance(format_, str) else str(name)


def _object(schema: dict[str, JsonValue], root: Schema, depth: int) -> str:
    fields = list(_fields(schema, root, depth))
    more = schema.get("additionalProperties", True)
    if not fields:
        return "{}" if more is False else f"map({notation(_schema(more), root, depth + 1)})"
    rest = [] if more is False else ["…"]
    return f"{{{_few(fields, ', ', rest)}}}"


def _fields(schema: dict[str, JsonValue], root: Schema, depth: int) -> Iterator[str]:
    fields, required = schema.get("properties"), schema.get("required")
    for name, part in (fields if isinstance(fields, dict) else {}).items():
        mark = "" if isinstance(required, list) and name in required else "?"
        yield f"{name}{mark}: {notation(_schema(part), root, depth + 1)}"


def _few(parts: list[str], between: str, rest: list[str] | None = None) -> str:
    shown = parts if len(parts) <= FEW else [*parts[:FEW], f"… {len(parts) - FEW} more"]
    return between.join([*shown, *(rest or [])])


def _value(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _schema(value: JsonValue) -> Schema:
    return value if isinstance(value, dict | bool) else True
