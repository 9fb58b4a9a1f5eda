"""The published JSON Schema of workflow files, made from the same shapes that the parser reads.

Draft 7, which editors know. It is never stricter than the parser: what it rejects, the parser
rejects too, with better words. `python -m dagflow.compiler.source.json_schema` prints it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from dagflow.compiler.source.keywords import DIALECT, KEYWORDS
from dagflow.compiler.source.names import MAX_NAME, NAME_PATTERN
from dagflow.compiler.source.parse import SLOTS, STEPS
from dagflow.compiler.source.records import table
from dagflow.compiler.source.schemas import WORDS
from dagflow.compiler.source.steps import COMPENSATE, FINALLY, UNDO_KINDS, UNDO_UNFIT
from dagflow.compiler.source.steps import SLOTS as STEP_SLOTS
from dagflow.compiler.source.units import DURATION_PATTERN, RATE_PATTERN, SIZE_PATTERN
from dagflow.core.shape import (
    AnyOf,
    Bool,
    Cel,
    Choice,
    Duration,
    FieldsOf,
    Int,
    ListOf,
    MapOf,
    Name,
    Number,
    Rate,
    Record,
    SchemaOf,
    Shape,
    Size,
    Slot,
    StepsOf,
    Str,
    Template,
    slots,
)
from dagflow.core.steps import KINDS
from dagflow.core.steps.kind import StepKind
from dagflow.core.values import JsonObject, JsonValue

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
IDENTIFIER: Final = "https://dagflow.dev/schemas/workflow.v1.json"


def workflow_schema() -> JsonObject:
    """Return the JSON Schema (draft 7) of workflow files."""
    properties = _properties(SLOTS.values())
    properties[STEPS] = _described({"$ref": "#/definitions/steps"}, "name → step, in any order")
    properties[FINALLY] = _described(
        {"$ref": "#/definitions/steps"}, "steps that run once at the end, whatever the outcome"
    )
    required: list[JsonValue] = [slot.key for slot in SLOTS.values() if slot.required]
    return {
        "$schema": DRAFT,
        "$id": IDENTIFIER,
        "title": "A dagflow workflow",
        "type": "object",
        "properties": properties,
        "required": [*required, STEPS],
        "additionalProperties": False,
        "definitions": _definitions(),
    }


def workflow_schema_text() -> str:
    """Return the schema as it is published."""
    return json.dumps(workflow_schema(), indent=2, ensure_ascii=False) + "\n"


def record_schema(shape: Record) -> JsonObject:
    """Return the JSON Schema of a record, which may refer to `definition_of` others."""
    return _record(shape)


def definition_of(name: str) -> JsonValue:
    """Return what the schemas of shapes refer to as `#/definitions/NAME`."""
    return _definitions()[name]


def _definitions() -> JsonObject:
    undo = {kind: KINDS[kind] for kind in sorted(UNDO_KINDS)}
    undo_slots = [slot for slot in STEP_SLOTS.values() if slot.key not in UNDO_UNFIT]
    return {
        "name": {"type": "string", "pattern": f"^{NAME_PATTERN}$", "maxLength": MAX_NAME},
        "expression": {"type": ["string", "number", "boolean", "null"]},
        "duration": {"type": "string", "pattern": f"^{DURATION_PATTERN}$"},
        "size": {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": f"^{SIZE_PATTERN}$"},
            ]
        },
        "rate": {"type": "string", "pattern": f"^{RATE_PATTERN}$"},
        "type": _type(),
        "fields": {
            "type": "object",
            "propertyNames": {"$ref": "#/definitions/name"},
            "additionalProperties": {"$ref": "#/definitions/type"},
        },
        "steps": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"$ref": "#/definitions/name"},
            "additionalProperties": {"$ref": "#/definitions/step"},
        },
        "step": _step(STEP_SLOTS.values(), KINDS, compensate=True),
        COMPENSATE: _step(undo_slots, undo, compensate=False),
    }


def _type() -> JsonObject:
    words: list[JsonValue] = [*WORDS]
    words += [f"{word}?" for word in WORDS]
    keywords: list[JsonValue] = []
    keywords += sorted(KEYWORDS)
    return {
        "anyOf": [
            {"enum": words, "markdownDescription": "A type; with `?` the field may be absent"},
            {"type": "null"},
            {
                "type": "object",
                "propertyNames": {"enum": keywords},
                "markdownDescription": f"A [JSON Schema 2020-12]({DIALECT})",
            },
        ]
    }


def _step(known: Iterable[Slot], kinds: Any, *, compensate: bool) -> JsonObject:
    properties = {name: _kind(kind) for name, kind in kinds.items()} | _properties(known)
    if compensate:
        properties[COMPENSATE] = _described(
            {"$ref": f"#/definitions/{COMPENSATE}"},
            "undoes this step when the run fails after it: a step body of its own",
        )
    return {
        "type": "object",
        "properties": properties,
        "oneOf": [{"required": [name]} for name in kinds],
        "additionalProperties": False,
    }


def _kind(kind: StepKind) -> JsonValue:
    doc = (sys.modules[kind.body.__module__].__doc__ or "").strip().splitlines()[0]
    body = (kind.body.__doc__ or "").strip()
    return _described(_schema(Record(kind.body, kind.shorthand)), f"{doc}\n\n{body}")


def _properties(known: Iterable[Slot]) -> JsonObject:
    return {slot.key: _described(_schema(slot.shape), slot.doc) for slot in known}


def _described(schema: JsonObject, doc: str) -> JsonObject:
    """Say what a place is for, beside its schema: editors show it on hover."""
    # draft 7 passes over what stands beside a `$ref`
    base: JsonObject = {"allOf": [schema]} if "$ref" in schema else dict(schema)
    return base | {"description": doc.replace("`", ""), "markdownDescription": doc}


def _schema(shape: Shape) -> JsonObject:
    return WRITERS[type(shape)](shape)


def _ref(name: str) -> Callable[[Any], JsonObject]:
    return lambda _shape: {"$ref": f"#/definitions/{name}"}


def _str(shape: Str) -> JsonObject:
    found: JsonObject = {"type": "string", "maxLength": shape.max_length}
    return found | ({"pattern": f"^(?:{shape.pattern})$"} if shape.pattern else {})


def _bounded(kind: str) -> Callable[[Any], JsonObject]:
    return lambda shape: {"type": kind, "minimum": shape.minimum, "maximum": shape.maximum}


def _template(shape: Template) -> JsonObject:
    return {"type": "string"} if shape.text else {}


def _fields(shape: FieldsOf) -> JsonObject:
    fields: JsonObject = {"$ref": "#/definitions/fields"}
    if not shape.whole:
        return fields
    one: JsonObject = {
        "type": "object",
        "properties": {"schema": {"$ref": "#/definitions/type"}},
        "required": ["schema"],
        "additionalProperties": False,
    }
    return {"anyOf": [{"$ref": "#/definitions/type"}, one, fields]}


def _list(shape: ListOf) -> JsonObject:
    item = _schema(shape.item)
    found: JsonObject = {"type": "array", "items": item}
    if shape.minimum:
        found["minItems"] = shape.minimum
    return {"anyOf": [found, item]} if shape.single else found


def _map(shape: MapOf) -> JsonObject:
    names: JsonObject = {} if shape.free else {"propertyNames": {"$ref": "#/definitions/name"}}
    return {"type": "object", **names, "additionalProperties": _schema(shape.value)}


def _record(shape: Record) -> JsonObject:
    known = table(shape.cls)
    required: list[JsonValue] = [slot.key for slot in known.values() if slot.required]
    found: JsonObject = {
        "type": "object",
        "properties": _properties(known.values()),
        "additionalProperties": False,
    }
    if required:
        found["required"] = required
    alone = next((s for s in slots(shape.cls) if shape.shorthand in {s.key, s.attribute}), None)
    return found if alone is None else {"anyOf": [_schema(alone.shape), found]}


def _any_of(shape: AnyOf) -> JsonObject:
    return {"anyOf": [_schema(option) for option in shape.options]}


WRITERS: Final[dict[type[Any], Callable[[Any], JsonObject]]] = {
    Str: _str, Name: _ref("name"), Choice: lambda shape: {"enum": list(shape.values)},
    Cel: _ref("expression"), Bool: lambda _shape: {"type": "boolean"}, Int: _bounded("integer"),
    Number: _bounded("number"), Duration: _ref("duration"), Size: _ref("size"),
    Rate: _ref("rate"), Template: _template, SchemaOf: _ref("type"), FieldsOf: _fields,
    StepsOf: _ref("steps"), ListOf: _list, MapOf: _map, Record: _record, AnyOf: _any_of,
}  # fmt: skip

if __name__ == "__main__":
    sys.stdout.write(workflow_schema_text())
