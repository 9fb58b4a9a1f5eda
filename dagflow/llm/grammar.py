"""A step's output schema made fit for constrained decoding: closed, and bounded everywhere."""

from __future__ import annotations

from dataclasses import dataclass

from dagflow.core.decodable import (
    DECIMALS,
    FORMATS,
    MAX_NUMBER,
    MAX_PROPERTIES,
    SCHEMA_KEYS,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    items_bound,
    string_bound,
    unsupported,
)
from dagflow.core.longest import longest
from dagflow.core.pointers import under
from dagflow.core.values import JsonObject, JsonValue, Schema

__all__ = ["ANY_OBJECT", "Prepared", "longest", "prepare", "unsupported"]

ANY_OBJECT: Schema = {"type": "object"}
"""What OpenAI's `json_object` mode asks for."""

_DROPPED = ("default", "examples", "title", "description", "$comment", "deprecated", "readOnly",
            "writeOnly", "contentEncoding", "contentMediaType", "$schema", "$id")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prepared:
    """A schema whose every instance is an instance of the author's, too, and finite.

    `notes` say which bounds were added, each with the JSON Pointer of its place.
    """

    schema: JsonObject
    notes: tuple[str, ...] = ()


def prepare(schema: Schema) -> Prepared:
    """Return `schema` as it is decoded: objects closed, strings, arrays and numbers bounded.

    What decoding can't be held to (`unsupported`) is left in, for the grammar to refuse.
    """
    notes: list[str] = []
    made = _prepare(schema, "", notes)
    whole: JsonObject = made if isinstance(made, dict) else {"anyOf": [made]}
    return Prepared(whole, tuple(notes))


def _prepare(schema: JsonValue, at: str, notes: list[str]) -> JsonValue:
    if not isinstance(schema, dict):
        return schema
    made: JsonObject = {key: value for key, value in schema.items() if key not in _DROPPED}
    if "const" in made or "enum" in made:
        return made
    _descend(made, at, notes)
    for kind in _declared(made):
        _BOUNDS.get(kind, _unchanged)(made, at, notes)
    _drop_annotations(made)
    return made


def _descend(made: JsonObject, at: str, notes: list[str]) -> None:
    for key in SCHEMA_KEYS:
        if key in made:
            made[key] = _prepare(made[key], f"{at}/{key}", notes)
    for key in SCHEMA_MAPS:
        group = made.get(key)
        if isinstance(group, dict):
            made[key] = {
                name: _prepare(value, under(f"{at}/{key}", name), notes)
                for name, value in group.items()
            }
    for key in SCHEMA_LISTS:
        listed = made.get(key)
        if isinstance(listed, list):
            made[key] = [
                _prepare(value, f"{at}/{key}/{index}", notes) for index, value in enumerate(listed)
            ]


def _declared(made: JsonObject) -> list[str]:
    declared = made.get("type")
    return [str(name) for name in (declared if isinstance(declared, list) else [declared])]


def _drop_annotations(made: JsonObject) -> None:
    if made.get("uniqueItems") is False:
        del made["uniqueItems"]
    if made.get("format") not in FORMATS:
        made.pop("format", None)


def _unchanged(made: JsonObject, at: str, notes: list[str]) -> None:
    pass


def _string(made: JsonObject, at: str, notes: list[str]) -> None:
    if "maxLength" not in made:
        made["maxLength"] = string_bound(made)
        notes.append(f"{at or '/'}: at most {made['maxLength']} characters")


def _array(made: JsonObject, at: str, notes: list[str]) -> None:
    if "maxItems" not in made and made.get("items") is not False:
        made["maxItems"] = items_bound(made)
        notes.append(f"{at or '/'}: at most {made['maxItems']} items")


def _object(made: JsonObject, at: str, notes: list[str]) -> None:
    if "properties" in made and "additionalProperties" not in made:
        made["additionalProperties"] = False
    is_open = made.get("additionalProperties", True) is not False
    if is_open and "maxProperties" not in made:
        least = made.get("minProperties", 0)
        made["maxProperties"] = max(MAX_PROPERTIES, least if isinstance(least, int) else 0)
        notes.append(f"{at or '/'}: at most {made['maxProperties']} properties")


def _integer(made: JsonObject, at: str, notes: list[str]) -> None:
    for edge, exclusive, bound in (
        ("minimum", "exclusiveMinimum", -MAX_NUMBER),
        ("maximum", "exclusiveMaximum", MAX_NUMBER),
    ):
        if edge not in made and exclusive not in made and _has_room(made, bound):
            made[edge] = bound
            notes.append(f"{at or '/'}: {edge} {bound}")


def _has_room(made: JsonObject, bound: int) -> bool:
    edges = [made.get(key) for key in ("minimum", "maximum", "exclusiveMinimum",
                                       "exclusiveMaximum")]  # fmt: skip
    numbers = [edge for edge in edges if isinstance(edge, (int, float))]
    return all(edge < bound if bound > 0 else edge > bound for edge in numbers)


def _number(made: JsonObject, at: str, notes: list[str]) -> None:
    _integer(made, at, notes)
    if "multipleOf" not in made:
        made["multipleOf"] = 10.0**-DECIMALS
        notes.append(f"{at or '/'}: at most {DECIMALS} decimals")


_BOUNDS = {
    "string": _string,
    "array": _array,
    "object": _object,
    "integer": _integer,
    "number": _number,
}
