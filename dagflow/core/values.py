"""JSON values as they cross dagflow's borders: what is let in, and one way to write them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TypeAlias

from dagflow.core.errors import ValueRefusedError
from dagflow.core.pointers import under

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = "dict[str, JsonValue]"
Schema: TypeAlias = "JsonObject | bool"
"""A JSON Schema 2020-12: an object, or true or false."""

MAX_DEPTH = 64
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def check_value(value: object, *, max_depth: int = MAX_DEPTH) -> None:
    """Raise `ValueRefusedError` unless `value` can be carried exactly by every part of dagflow.

    Refused, with a JSON Pointer to the place: depth over 64 (evaluators crash on it), integers
    outside int64, NaN and infinities, U+0000 and lone surrogates, keys that are not strings,
    and anything that is not a plain dict, list, str, int, float, bool or None.
    """
    stack: list[tuple[object, str, int]] = [(value, "", 1)]
    while stack:
        item, at, depth = stack.pop()
        reason = _reason(item, depth, max_depth)
        if reason:
            raise ValueRefusedError(at or "/", reason)
        stack.extend(_children(item, at, depth + 1))


def _reason(item: object, depth: int, max_depth: int) -> str | None:
    kind = type(item)
    if depth > max_depth:
        return f"nested deeper than {max_depth} levels"
    if kind is str:
        return _text_reason(str(item))
    if kind is int:
        fits = INT64_MIN <= item <= INT64_MAX  # type: ignore[operator]  # kind is int here
        return None if fits else "an integer outside the 64-bit range"
    if kind is float:
        return None if math.isfinite(item) else "not a finite number"  # type: ignore[arg-type]
    if kind is dict:
        bad = next((k for k in item if type(k) is not str or _text_reason(k)), None)  # type: ignore[attr-defined]
        return None if bad is None else f"the key {bad!r} is not a clean string"
    if kind in {list, bool, type(None)}:
        return None
    return f"a {kind.__name__} is not a JSON value"


def _text_reason(text: str) -> str | None:
    if "\0" in text:
        return "text with the character U+0000"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "text with a lone surrogate"
    return None


def _children(item: object, at: str, depth: int) -> Iterator[tuple[object, str, int]]:
    if isinstance(item, dict):
        for key, value in item.items():
            yield value, under(at, key), depth
    elif isinstance(item, list):
        for index, value in enumerate(item):
            yield value, f"{at}/{index}", depth


_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def canonical(value: object) -> bytes:
    """Write a JSON value in one way only: sorted keys, no spaces, UTF-8."""
    return _CANONICAL.encode(value).encode()


def digest(value: object) -> str:
    """Return "sha256:…" of the value's canonical form."""
    import hashlib  # OpenSSL takes 4 ms to load

    return f"sha256:{hashlib.sha256(canonical(value)).hexdigest()}"


def read_json(text: str | bytes, *, max_depth: int = MAX_DEPTH) -> JsonValue:
    """Read JSON strictly: no duplicate keys, no NaN, and only values `check_value` accepts.

    Raises `ValueRefusedError` with what is wrong.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        raise ValueRefusedError("/", f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:  # bad JSON, bad UTF-8, or a number of thousands of digits
        raise ValueRefusedError("/", f"not JSON: {error}") from None
    check_value(value, max_depth=max_depth)
    return value  # type: ignore[no-any-return]  # check_value has just established it


def _object(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    found: JsonObject = {}
    for key, value in pairs:
        if key in found:
            raise ValueRefusedError(f"/{key}", "the key appears twice")
        found[key] = value
    return found


def _constant(name: str) -> JsonValue:
    raise ValueRefusedError("/", f"{name} is not a JSON number")
