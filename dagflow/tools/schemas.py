"""OpenAPI schemas as JSON Schema 2020-12, for one direction, with their definitions."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, Literal, TypeAlias

from dagflow.core.pointers import under
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, Schema, canonical
from dagflow.expr.validators import is_linear
from dagflow.tools.recursion import unwind
from dagflow.tools.refs import OperationRefusedError, Resolver, pointer_of

Direction: TypeAlias = Literal["request", "response"]
Dialect: TypeAlias = Literal["3.0", "3.1"]

MAX_NODES: Final = 20_000
MAX_DEPTH: Final = 120
MAX_TEXT: Final = 700
MAX_PARENTS: Final = 8
TYPES: Final = frozenset({"null", "boolean", "object", "array", "number", "string", "integer"})
HIDDEN: Final[Mapping[Direction, str]] = {"request": "readOnly", "response": "writeOnly"}
"""The mark of a property that isn't part of the direction's bodies."""


@dataclass(slots=True)
class SchemaCompiler:
    """Converts the schemas of one direction of one operation, sharing their definitions.

    References become `#/$defs/<name>`; what they reach is converted breadth first, so that past
    `budget` schema nodes only the definitions farthest away are left open (`true`, with a note).
    """

    resolver: Resolver
    dialect: Dialect
    direction: Direction
    budget: int = MAX_NODES
    notes: list[str] = field(default_factory=list)
    _names: dict[str, str] = field(default_factory=dict)
    _queue: deque[str] = field(default_factory=deque)
    _defs: dict[str, Schema] = field(default_factory=dict)
    _nodes: int = 0

    def convert(self, schema: JsonValue, at: str) -> Schema:
        """Return the schema as 2020-12.

        Raises `OperationRefusedError` for what is no schema, and for what can't be carried over.
        """
        return self._convert(schema, at, 0)

    def inline(self, schema: JsonValue, at: str) -> tuple[Schema, str]:
        """Convert the schema at the end of its references, and return it with its pointer."""
        target, at = self.resolver.follow(schema, at)
        return self._convert(target, at, 0), at

    def close(self, schema: JsonObject) -> JsonObject:
        """Return the schema with the `$defs` of everything that it reaches."""
        while self._queue:
            self._define(self._queue.popleft())
        self._note_budget()
        whole: JsonObject = {**schema}
        if self._defs:
            whole["$defs"] = {name: self._defs[name] for name in sorted(self._defs)}
        return unwind(whole, self.notes)

    def note(self, text: str) -> None:
        """Remember something that was left out."""
        if text not in self.notes:
            self.notes.append(text)

    def _define(self, pointer: str) -> None:
        if self._nodes >= self.budget:
            self._defs[self._names[pointer]] = True
            return
        schema = self._convert(self.resolver.lookup(pointer), pointer, 0)
        self._defs[self._names[pointer]] = schema

    def _note_budget(self) -> None:
        open_ = [name for name, schema in self._defs.items() if schema is True]
        if self._nodes >= self.budget and open_:
            self.note(f"{len(open_)} schemas past {self.budget} nodes were left open")

    def _convert(self, schema: JsonValue, at: str, depth: int) -> Schema:
        self._nodes += 1
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise OperationRefusedError(f"a schema is an object, not {schema!r:.60}", at)
        if depth > MAX_DEPTH:
            raise OperationRefusedError(f"a schema nested deeper than {MAX_DEPTH} levels", at)
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema, at, depth)
        return self._keywords(schema, at, depth)

    def _reference(self, schema: JsonObject, at: str, depth: int) -> Schema:
        pointer = pointer_of(str(schema["$ref"]), at)
        _, pointer = self.resolver.follow({"$ref": f"#{pointer}"}, at)
        found: JsonObject = {"$ref": f"#/$defs/{self._name(pointer)}"}
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        if self.dialect == "3.0" or not siblings:  # 3.0 ignores what stands beside a $ref
            return found
        beside = self._keywords(siblings, at, depth)
        return {**beside, **found}

    def _name(self, pointer: str) -> str:
        if pointer in self._names:
            return self._names[pointer]
        name = self._names[pointer] = _definition_name(pointer)
        self._queue.append(pointer)
        return name

    def _keywords(self, schema: JsonObject, at: str, depth: int) -> JsonObject:
        found: JsonObject = {}
        for key, value in schema.items():
            if key in UNSUPPORTED:
                raise OperationRefusedError(f"{key} is not supported in schemas", at)
            if key in NESTED:
                found[key] = self._nested(key, value, under(at, key), depth + 1)
            elif key in PLAIN:
                found[key] = self._plain(key, value, under(at, key))
        self._hide(found, schema, at)
        _bounds(found, schema)
        if self.dialect == "3.0" and schema.get("nullable") is True:
            _allow_null(found)
        return {key: value for key, value in found.items() if value is not _DROPPED}

    def _nested(self, key: str, value: JsonValue, at: str, depth: int) -> JsonValue:
        shape = NESTED[key]
        if shape == "schema":
            return self._convert(value, at, depth)
        if shape == "list" and isinstance(value, list):
            return [self._convert(v, under(at, i), depth) for i, v in enumerate(value)]
        if shape == "map" and isinstance(value, dict):
            return {k: self._convert(v, under(at, k), depth) for k, v in value.items()}
        raise OperationRefusedError(f"{key} is a {shape} of schemas, not {value!r:.60}", at)

    def _plain(self, key: str, value: JsonValue, at: str) -> JsonValue:
        if key == "pattern" and isinstance(value, str) and not is_linear(value):
            self.note(f"the pattern {value!r:.120} is not a linear-time regex and is not checked")
            return _DROPPED
        if not PLAIN[key](value):
            raise OperationRefusedError(f"{key} can't be {value!r:.60}", at)
        return _tidy(key, value)

    def _hide(self, found: JsonObject, schema: JsonObject, at: str) -> None:
        hidden = self._hidden(schema, at, 0)
        if not hidden:
            return
        properties = found.get("properties")
        if isinstance(properties, dict):
            found["properties"] = {k: v for k, v in properties.items() if k not in hidden}
        required = found.get("required")
        if isinstance(required, list):
            found["required"] = [name for name in required if name not in hidden]

    def _hidden(self, schema: JsonObject, at: str, depth: int) -> frozenset[str]:
        """Return the properties that this direction doesn't have, those of `allOf` included."""
        names = set()
        properties = schema.get("properties")
        if isinstance(properties, dict):
            names = {k for k, v in properties.items() if self._is_hidden(v, under(at, k))}
        members = schema.get("allOf")
        if isinstance(members, list) and depth < MAX_PARENTS and ("required" in schema or depth):
            for index, member in enumerate(members):
                target, place = self.resolver.follow(member, under(at, "allOf", index))
                if isinstance(target, dict):
                    names |= self._hidden(target, place, depth + 1)
        return frozenset(names)

    def _is_hidden(self, schema: JsonValue, at: str) -> bool:
        mark = HIDDEN[self.direction]
        if isinstance(schema, dict) and schema.get(mark) is True:
            return self.dialect != "3.0" or "$ref" not in schema
        target, _ = self.resolver.follow(schema, at)
        return isinstance(target, dict) and target.get(mark) is True


_DROPPED: Final[JsonObject] = {}

NESTED: Final[Mapping[str, Literal["schema", "list", "map"]]] = {
    "items": "schema", "additionalProperties": "schema", "not": "schema", "contains": "schema",
    "propertyNames": "schema", "if": "schema", "then": "schema", "else": "schema",
    "unevaluatedItems": "schema", "unevaluatedProperties": "schema",
    "allOf": "list", "anyOf": "list", "oneOf": "list", "prefixItems": "list",
    "properties": "map", "patternProperties": "map", "dependentSchemas": "map",
}  # fmt: skip

UNSUPPORTED: Final = frozenset({"$dynamicRef", "$recursiveRef"})


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: JsonValue) -> bool:
    return _is_number(value) and value == int(value) >= 0  # type: ignore[arg-type]  # a number


def _is_limit(value: JsonValue) -> bool:
    return isinstance(value, bool) or _is_number(value)  # 3.0's exclusiveMinimum is a flag


def _is_names(value: JsonValue) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_type(value: JsonValue) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(
        isinstance(name, str) and (name in TYPES or name == "file") for name in names
    )


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _is_flag(value: JsonValue) -> bool:
    return isinstance(value, bool)


def _is_enum(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value)


def _is_dependencies(value: JsonValue) -> bool:
    return isinstance(value, dict) and all(_is_names(names) for names in value.values())


def _is_anything(_: JsonValue) -> bool:
    return True


PLAIN: Final[Mapping[str, Callable[[JsonValue], bool]]] = {
    "type": _is_type, "enum": _is_enum, "const": _is_anything, "default": _is_anything,
    "multipleOf": _is_number, "maximum": _is_number, "minimum": _is_number,
    "exclusiveMaximum": _is_limit, "exclusiveMinimum": _is_limit,
    "maxLength": _is_count, "minLength": _is_count, "maxItems": _is_count, "minItems": _is_count,
    "maxProperties": _is_count, "minProperties": _is_count,
    "maxContains": _is_count, "minContains": _is_count,
    "uniqueItems": _is_flag, "deprecated": _is_flag, "required": _is_names,
    "dependentRequired": _is_dependencies, "pattern": _is_text, "format": _is_text,
    "title": _is_text, "description": _is_text,
    "contentEncoding": _is_text, "contentMediaType": _is_text,
}  # fmt: skip
"""The keywords that are carried over as they stand, and what each may be."""


def _tidy(key: str, value: JsonValue) -> JsonValue:
    if key in {"title", "description"}:
        return clean(str(value), MAX_TEXT)
    if key in {"required", "enum"} and isinstance(value, list):
        return _unique(value)
    if key == "type" and value == "file":
        return "string"
    return value


def _unique(values: list[JsonValue]) -> list[JsonValue]:
    return list({canonical(value): value for value in values}.values())


def clean(text: str, length: int) -> str:
    """Return text without control and direction-changing characters, cut to `length`."""
    plain = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", "", text)
    return plain if len(plain) <= length else plain[: length - 1] + "…"


def _bounds(found: JsonObject, schema: JsonObject) -> None:
    """Turn 3.0's `exclusiveMinimum: true` into a number; 3.1 documents have it by mistake."""
    for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if not isinstance(found.get(exclusive), bool):
            continue
        if found.pop(exclusive) and inclusive in schema:
            found[exclusive] = found.pop(inclusive)


def _allow_null(found: JsonObject) -> None:
    """Widen `type` by null: `nullable` needs a `type` beside it, and widens nothing else."""
    kind = found.get("type")
    if isinstance(kind, str) and kind != "null":
        found["type"] = [kind, "null"]
    elif isinstance(kind, list) and "null" not in kind:
        found["type"] = [*kind, "null"]


def _definition_name(pointer: str) -> str:
    """Name a definition: a component's own name where it is plain, else with a hash of its place.

    The name depends on the pointer alone, so it is the same in whatever order schemas are met.
    """
    last = pointer.rpartition("/")[2]
    if re.fullmatch(r"/components/schemas/[A-Za-z][A-Za-z0-9_.]{0,120}", pointer):
        return last
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", last)[:60] or "root"
    return f"{plain}-{hashlib.sha256(pointer.encode()).hexdigest()[:12]}"
