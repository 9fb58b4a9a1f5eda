"""How long a text is that is joined from fixed parts and values."""

from __future__ import annotations

from typing import Final

from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.expr import Segment

_NUMBER: Final = (1, 25)
_LENGTHS: Final = {"integer": (1, 20), "number": _NUMBER, "boolean": (4, 5), "null": (4, 4)}


def text_schema(pieces: tuple[str | Segment, ...], values: tuple[Schema, ...]) -> Schema:
    """Return the schema of the text: its least length, and its greatest where there is one."""
    fixed = sum(len(piece) for piece in pieces if isinstance(piece, str))
    bounds = [_bounds(value) for value in values]
    least = fixed + sum(low for low, _ in bounds)
    schema: JsonObject = {"type": "string"}
    if least:
        schema["minLength"] = least
    if all(high is not None for _, high in bounds):
        schema["maxLength"] = fixed + sum(high or 0 for _, high in bounds)
    return schema


def _bounds(schema: Schema) -> tuple[int, int | None]:
    """Return the least and the greatest length of a value written as text."""
    if not isinstance(schema, dict):
        return 0, None
    choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(choices, list) and choices:
        lengths = [_written(choice) for choice in choices]
        return min(lengths), max(lengths)
    kind = schema.get("type")
    if kind == "string":
        low, high = schema.get("minLength", 0), schema.get("maxLength")
        return (low if isinstance(low, int) else 0), (high if isinstance(high, int) else None)
    return _LENGTHS.get(str(kind), (0, None))


def _written(value: JsonValue) -> int:
    if isinstance(value, str):
        return len(value)
    return len(str(value).lower())
