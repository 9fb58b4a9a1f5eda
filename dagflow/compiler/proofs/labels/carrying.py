"""Which values can carry free text: what an attacker needs to say something of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dagflow.core.values import JsonValue, Schema
from dagflow.expr.types import MAX_REFERENCES, of_schema, resolve
from dagflow.expr.validators import FORMATS

_SAFE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:")
_QUANTIFIERS: Final = frozenset("*+?(){}|,")


def carries(schema: Schema, root: Schema | None = None, depth: int = 0) -> bool:
    """Tell whether a value of a schema may hold text that somebody has freely chosen.

    An enum, a number, a boolean, a format that leaves no choice, and a pattern over letters,
    digits and `_-.:` hold none; neither do lists and objects of these.
    """
    root = schema if root is None else root
    schema, root = resolve(schema, root)
    if not isinstance(schema, dict) or depth > MAX_REFERENCES:
        return schema is not False
    if "const" in schema or "enum" in schema:
        return False
    parts = [part for key in ("anyOf", "oneOf") for part in _schemas(schema.get(key))]
    if parts:
        return any(carries(part, root, depth + 1) for part in parts)
    if any(not carries(part, root, depth + 1) for part in _schemas(schema.get("allOf"))):
        return False
    kinds = of_schema(schema, root).kinds
    if "dyn" in kinds:
        return True
    return (
        ("string" in kinds and _is_free(schema.get("format"), schema.get("pattern")))
        or ("list" in kinds and carries(_schema(schema.get("items", True)), root, depth + 1))
        or ("map" in kinds and _fields_carry(schema, root, depth))
    )


def _fields_carry(schema: dict[str, JsonValue], root: Schema, depth: int) -> bool:
    properties = schema.get("properties")
    inner: Iterable[JsonValue] = properties.values() if isinstance(properties, dict) else ()
    if any(carries(_schema(part), root, depth + 1) for part in inner):
        return True
    return carries(_schema(schema.get("additionalProperties", True)), root, depth + 1)


def _is_free(format_: JsonValue, pattern: JsonValue) -> bool:
    if format_ in FORMATS:
        return False
    return not (isinstance(pattern, str) and is_narrow(pattern))


def is_narrow(pattern: str) -> bool:
    """Tell whether a pattern surely lets through nothing but letters, digits and `_-.:`."""
    if not (pattern.startswith("^") and pattern.endswith("$")):
        return False
    inner, at = pattern[1:-1], 0
    if "|" in inner and not (inner.startswith("(") and inner.endswith(")")):
        return False
    while at < len(inner):
        char = inner[at]
        following = inner[at + 1 : at + 2]
        if char == "\\":
            if following not in {"d", "w", ".", "-"}:
                return False
            at += 2
        elif char == "[":
            end = inner.find("]", at + 2)
            if end < 0 or not _is_narrow_class(inner[at + 1 : end]):
                return False
            at = end + 1
        elif (char in _SAFE and char != ".") or char in _QUANTIFIERS:
            at += 1
        else:
            return False
    return True


def _is_narrow_class(text: str) -> bool:
    plain = text.replace("\\d", "").replace("\\w", "").replace("\\-", "").replace("\\.", "")
    return not text.startswith("^") and all(char in _SAFE for char in plain) and _ranges_are(plain)


def _ranges_are(text: str) -> bool:
    """Tell whether each range stays within digits, capitals or small letters."""
    inside = text.replace("a-z", "").replace("A-Z", "").replace("0-9", "")
    at = inside.find("-", 1)
    while 0 < at < len(inside) - 1:
        low, high = inside[at - 1], inside[at + 1]
        same = (low.isdigit() and high.isdigit()) or (low.isalpha() and high.isalpha())
        if not same or low.isupper() != high.isupper():
            return False
        at = inside.find("-", at + 2)
    return True


def _schemas(value: JsonValue) -> list[Schema]:
    return [_schema(part) for part in value] if isinstance(value, list) else []


def _schema(value: JsonValue) -> Schema:
    return value if isinstance(value, dict | bool) else True
