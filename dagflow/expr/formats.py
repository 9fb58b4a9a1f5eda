"""Formats in the question whether one schema's values satisfy another.

The library that decides it takes `format` for an annotation. So each format that is checked is
told to it as a pattern that only texts of that format match, as far as it can know: a word that
stands for them all. What else is said of such a text is left out there; it was asked before.
"""

from __future__ import annotations

from typing import Final

from dagflow.core.values import JsonObject, JsonValue
from dagflow.expr.validators import FORMATS

_OF_TEXTS: Final = frozenset({"format", "pattern", "minLength", "maxLength", "enum", "const"})
_VALUES: Final = frozenset({"const", "enum"})
_NAMED: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
_NEGATING: Final = frozenset({"not", "if", "oneOf", "contains", "unevaluatedProperties"})


def has_format(schema: JsonValue, *, names: bool = False) -> bool:
    """Tell whether a schema asks for a format that is checked."""
    if isinstance(schema, list):
        return any(has_format(item) for item in schema)
    if not isinstance(schema, dict):
        return False
    if not names and schema.get("format") in FORMATS:
        return True
    return any(
        has_format(value, names=key in _NAMED and not names)
        for key, value in schema.items()
        if names or key not in _VALUES
    )


def is_monotonic(schema: JsonValue) -> bool:
    """Tell whether nothing in a schema turns around what its parts ask for."""
    if isinstance(schema, list):
        return all(is_monotonic(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    return not _NEGATING & schema.keys() and all(is_monotonic(value) for value in schema.values())


def with_words(schema: JsonValue, *, names: bool = False) -> JsonValue:
    """Return the schema with a word for each format in place of what else is said of the text."""
    if isinstance(schema, list):
        return [with_words(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    form = None if names else schema.get("format")
    is_checked = isinstance(form, str) and form in FORMATS
    found: JsonObject = {
        key: value
        if key in _VALUES and not names
        else with_words(value, names=key in _NAMED and not names)
        for key, value in schema.items()
        if not (is_checked and key in _OF_TEXTS)
    }
    if is_checked:
        found["pattern"] = f"^\ue000{form}$"
    return found
