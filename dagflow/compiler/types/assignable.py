"""How far what is given is from what is taken: surely wrong, maybe too large, or not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.expr import fits

Verdict: TypeAlias = Literal["fits", "open", "bounds", "clash"]
"""fits: proven · open: types leave it undecided · bounds: the types go together and a bound is
looser than asked · clash: some value is of a type, choice or shape that is not taken."""

_ORDER: Final[tuple[Verdict, ...]] = ("fits", "open", "bounds", "clash")
_COMBINED: Final = frozenset({"anyOf", "oneOf", "allOf", "not", "if", "$ref", "$dynamicRef"})
_MAX_DEPTH: Final = 32
_BY_TYPE: Final = {str: "string", bool: "boolean", int: "integer", float: "number"}


def assignable(given: Schema, wanted: Schema) -> Verdict:
    """Tell how values of `given` go into `wanted`; only "fits" is a proof."""
    if given is True or given == {}:
        return "fits" if wanted is True or wanted == {} else "open"
    answer = fits(given, wanted)
    if answer == "yes":
        return "fits"
    found = _compared(given, wanted, 0)
    if answer == "no" and found == "fits":
        return "bounds"
    return "open" if found == "fits" else found


def _compared(given: JsonValue, wanted: JsonValue, depth: int) -> Verdict:
    if wanted is True or wanted == {}:
        return "fits"
    if not isinstance(given, dict) or not given or depth > _MAX_DEPTH:
        return "open" if given is not False else "fits"
    if not isinstance(wanted, dict):
        return "clash"
    if _COMBINED & (given.keys() | wanted.keys()):
        return _judged(given, wanted)
    ours, theirs = _kinds(given), _kinds(wanted)
    if ours is None or theirs is None:
        return _judged(given, wanted)
    if _foreign(ours, theirs):
        return "clash"
    loose: Verdict = "open" if "number" in ours and "number" not in theirs else "fits"
    parts = (_choices(given, wanted), *_inside(given, wanted, depth))
    return max((loose, *parts), key=_ORDER.index)


def _judged(given: JsonObject, wanted: JsonObject) -> Verdict:
    """Take the proof's word where the shapes can't be laid side by side."""
    if _is_open(given, 0):
        return "open"
    return {"yes": "fits", "no": "clash"}.get(fits(given, wanted), "open")  # type: ignore[return-value]  # both are verdicts


def _is_open(schema: JsonValue, depth: int) -> bool:
    """Tell whether something in a schema may be anything."""
    if schema is True or schema == {} or depth > _MAX_DEPTH:
        return True
    if not isinstance(schema, dict):
        return False
    parts = [schema.get("items", False)]
    properties = schema.get("properties")
    parts += list(properties.values()) if isinstance(properties, dict) else []
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        parts += options if isinstance(options, list) else []
    return any(_is_open(part, depth + 1) for part in parts)


def _kinds(schema: JsonObject) -> frozenset[str] | None:
    if "const" in schema:
        return frozenset({_kind(schema["const"])})
    choices = schema.get("enum")
    if isinstance(choices, list):
        return frozenset(map(_kind, choices))
    kind = schema.get("type")
    if isinstance(kind, list):
        return frozenset(map(str, kind))
    return frozenset({kind}) if isinstance(kind, str) else None


def _kind(value: JsonValue) -> str:
    if value is None:
        return "null"
    return _BY_TYPE.get(type(value)) or ("array" if isinstance(value, list) else "object")


def _foreign(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Tell whether a value may be of a type that isn't taken; integers are numbers."""
    taken = theirs | ({"integer"} if "number" in theirs else set())
    loose = {"number"} if "integer" in theirs else set()
    return bool(ours - taken - loose)


def _choices(given: JsonObject, wanted: JsonObject) -> Verdict:
    taken = wanted.get("enum", [wanted["const"]] if "const" in wanted else None)
    if not isinstance(taken, list):
        return "fits"
    ours = given.get("enum", [given["const"]] if "const" in given else None)
    if not isinstance(ours, list):
        return "clash"
    return "fits" if all(choice in taken for choice in ours) else "clash"


def _inside(given: JsonObject, wanted: JsonObject, depth: int) -> Iterator[Verdict]:
    if isinstance(wanted.get("items"), dict | bool) and "prefixItems" not in given:
        yield _compared(given.get("items", True), wanted["items"], depth + 1)
    ours, theirs = given.get("properties"), wanted.get("properties")
    if isinstance(ours, dict) or isinstance(theirs, dict):
        yield from _fields(given, wanted, depth)


def _fields(given: JsonObject, wanted: JsonObject, depth: int) -> Iterator[Verdict]:
    ours, theirs = _properties(given), _properties(wanted)
    required, sure = _names(wanted), _names(given)
    is_closed = given.get("additionalProperties", True) is False
    for name in required:
        if name not in sure:
            yield "clash" if name in ours or is_closed else "open"
    for name, schema in ours.items():
        other = theirs.get(name, wanted.get("additionalProperties", True))
        yield "clash" if other is False else _compared(schema, other, depth + 1)
    if not is_closed and wanted.get("additionalProperties", True) is False:
        yield "open"


def _properties(schema: JsonObject) -> JsonObject:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _names(schema: JsonObject) -> tuple[str, ...]:
    found = schema.get("required")
    return tuple(map(str, found)) if isinstance(found, list) else ()
