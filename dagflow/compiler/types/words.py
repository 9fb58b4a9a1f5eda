"""Types in words, for messages."""

from __future__ import annotations

import json
from typing import Final

from dagflow.core.values import JsonObject, JsonValue, Schema

_BOUNDS: Final = (
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("exclusiveMinimum", "above {}"),
    ("exclusiveMaximum", "below {}"),
    ("multipleOf", "a multiple of {}"),
    ("minLength", "with {} characters or more"),
    ("maxLength", "of at most {} characters"),
    ("minItems", "with {} items or more"),
    ("maxItems", "with at most {} items"),
    ("pattern", "matching {}"),
    ("format", "in the format {}"),
)
_SHOWN = 6


def describe(schema: Schema) -> str:
    """Say in a few words what a schema lets through."""
    if isinstance(schema, bool):
        return "any value" if schema else "nothing"
    if "const" in schema:
        return shown(schema["const"])
    choices = schema.get("enum")
    if isinstance(choices, list):
        return _enum(choices)
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list):
            return " or ".join(dict.fromkeys(_part(option) for option in options))
    return _typed(schema)


def shown(value: JsonValue) -> str:
    """Write a value shortly, as JSON."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"  # noqa: PLR2004  # about a line's half


def _enum(choices: list[JsonValue]) -> str:
    words = [shown(choice) for choice in choices[:_SHOWN]]
    more = ", …" if len(choices) > _SHOWN else ""
    return f"one of {', '.join(words)}{more}" if len(choices) != 1 else words[0]


def _part(option: JsonValue) -> str:
    return describe(option) if isinstance(option, dict | bool) else "any value"


def _typed(schema: JsonObject) -> str:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    words = " or ".join(_kind(str(one), schema) for one in kinds if one is not None)
    bounds = [text.format(shown(schema[key])) for key, text in _BOUNDS if schema.get(key)]
    return " ".join((words or "any value", *bounds))


def _kind(kind: str, schema: JsonObject) -> str:
    if kind == "array":
        items = schema.get("items")
        return f"list of {describe(items)}" if isinstance(items, dict) else "list"
    if kind == "object":
        properties = schema.get("properties")
        names = list(properties) if isinstance(properties, dict) else []
        more = ", …" if len(names) > _SHOWN else ""
        return f"object with {', '.join(names[:_SHOWN])}{more}" if names else "object"
    return kind


_UNITS: Final = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def duration(seconds: float) -> str:
    """Write a time in the unit that reads best."""
    for size, unit in _UNITS:
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
