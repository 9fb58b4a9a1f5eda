"""Schemas so simple that nothing can be wrong with them: most that workflows declare.

Whatever is said to be simple here is valid by the meta-schema and can be used as it is. The rest
is for the validator to judge, whose library costs a check 20 ms to load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dagflow.core.values import JsonValue

EXACT: Final = 2**53
"""Numbers below are the same for every reader of JSON."""

_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})


def is_simple(schema: JsonValue) -> bool:
    """Tell whether a schema has only keywords of the table, each with a value that fits it."""
    return isinstance(schema, dict) and all(
        keyword in _KEYWORDS and _KEYWORDS[keyword](value) for keyword, value in schema.items()
    )


def _is_type(value: JsonValue) -> bool:
    return isinstance(value, str) and value in _TYPES


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _is_number(value: JsonValue) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return -EXACT < value < EXACT


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < EXACT


def _is_choice(value: JsonValue) -> bool:
    """Tell whether a value is a list of different texts."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(item, str) for item in value) and len(set(map(str, value))) == len(value)


_KEYWORDS: Final[Mapping[str, Callable[[JsonValue], bool]]] = {
    "type": _is_type,
    "title": _is_text,
    "description": _is_text,
    "enum": _is_choice,
    "minimum": _is_number,
    "maximum": _is_number,
    "exclusiveMinimum": _is_number,
    "exclusiveMaximum": _is_number,
    "minLength": _is_count,
    "maxLength": _is_count,
    "minItems": _is_count,
    "maxItems": _is_count,
    "items": is_simple,
}
