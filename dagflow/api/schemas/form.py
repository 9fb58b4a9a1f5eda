"""Short words for JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dagflow.core.values import JsonObject, JsonValue

PREFIX: Final = "#/$defs/"
ANY: Final[JsonObject] = {}
TEXT: Final[JsonObject] = {"type": "string"}
FLAG: Final[JsonObject] = {"type": "boolean"}
COUNT: Final[JsonObject] = {"type": "integer", "minimum": 0}
NUMBER: Final[JsonObject] = {"type": "number"}
OBJECT: Final[JsonObject] = {"type": "object"}
INSTANT: Final[JsonObject] = {"type": "string", "format": "date-time"}
DIGEST: Final[JsonObject] = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}


def ref(name: str) -> JsonObject:
    """Return a reference to an entry of the table."""
    return {"$ref": PREFIX + name}


def nullable(schema: JsonObject) -> JsonObject:
    """Return the schema with null allowed, too."""
    return {"anyOf": [schema, {"type": "null"}]}


def listed(item: JsonObject) -> JsonObject:
    """Return the schema of a list."""
    return {"type": "array", "items": item}


def mapped(value: JsonObject) -> JsonObject:
    """Return the schema of an object with any keys."""
    return {"type": "object", "additionalProperties": value}


def one_of(words: Iterable[str]) -> JsonObject:
    """Return the schema of one of these words."""
    values: list[JsonValue] = list(words)
    return {"type": "string", "enum": values}


def closed(fields: dict[str, JsonObject], *, optional: str = "", doc: str = "") -> JsonObject:
    """Return the schema of an object with exactly these fields; `optional` ones may be absent."""
    absent = optional.split()
    required: list[JsonValue] = [name for name in fields if name not in absent]
    made: JsonObject = {
        "type": "object",
        "properties": dict(fields),
        "required": required,
        "additionalProperties": False,
    }
    return {"description": doc, **made} if doc else made
