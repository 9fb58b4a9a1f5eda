"""Types of expressions: JSON Schemas, and the few kinds of CEL that JSON has no word for.

A schema is read as its author means it: a nested schema that holds its own `$defs` is the root of
the references below it, and what a schema leaves open (no `type`, `not`, `if`) is dynamic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import reduce

from dagflow.core.pointers import fragment, look_up
from dagflow.core.records import dataclass, replace
from dagflow.core.values import JsonObject, JsonValue, Schema, canonical

MAX_REFERENCES = 32

COMPOUND = frozenset({"$ref", "anyOf", "oneOf", "allOf", "const", "enum"})
"""Keywords that say more of a value's kind than its `type` does."""

SPECIAL = COMPOUND | {"$defs", "definitions"}
JSON_KINDS = frozenset({"null", "bool", "int", "number", "double", "uint", "string", "list", "map"})
NUMERIC = frozenset({"int", "uint", "double", "number"})
_KINDS = {
    "null": "null",
    "boolean": "bool",
    "integer": "int",
    "number": "number",
    "string": "string",
    "array": "list",
    "object": "map",
}
_ALONE = {word: frozenset({kind}) for word, kind in _KINDS.items()}
_ANY = frozenset({"dyn"})
_WORDS = {
    "null": "null",
    "bool": "a boolean",
    "int": "an integer",
    "uint": "an unsigned integer",
    "number": "a number",
    "double": "a number",
    "string": "a string",
    "list": "a list",
    "map": "an object",
    "bytes": "bytes",
    "timestamp": "a timestamp",
    "duration": "a duration",
    "type": "a type",
    "optional": "an optional value",
    "dyn": "anything",
}
_SCHEMAS: dict[str, JsonObject] = {
    "null": {"type": "null"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "uint": {"type": "integer", "minimum": 0},
    "number": {"type": "number"},
    "double": {"type": "number"},
    "string": {"type": "string"},
    "list": {"type": "array"},
    "map": {"type": "object"},
    "timestamp": {"type": "string", "format": "date-time"},
    "duration": {"type": "string"},
}


@dataclass(frozen=True, slots=True)
class Type:
    """What is known of a value.

    `schema` describes it as JSON, its references pointing into `root`; `kinds` are the kinds it
    may have (`dyn` alone: any); `inner` is what an optional holds, or a list of what isn't JSON.
    """

    schema: Schema
    root: Schema
    kinds: frozenset[str]
    inner: Type | None = None

    @property
    def failed(self) -> bool:
        """Tell whether a problem was already reported for this value."""
        return "failed" in self.kinds

    @property
    def is_dyn(self) -> bool:
        """Tell whether nothing is known of its kind, or there is no such value at all."""
        return "dyn" in self.kinds or not self.kinds

    @property
    def nullable(self) -> bool:
        """Tell whether the value is known to be null at times."""
        return "null" in self.kinds

    def words(self) -> str:
        """Return the kinds as an author says them: "a string or null"."""
        order = list(_WORDS)
        named = dict.fromkeys(_WORDS.get(k, k) for k in sorted(self.kinds, key=order.index))
        return " or ".join(named)


DYN = Type(True, True, frozenset({"dyn"}))
NEVER = Type(False, False, frozenset())
"""The type of what can't be, such as an element of an empty list."""
FAILED = Type(True, True, frozenset({"failed"}))


def of_kind(kind: str) -> Type:
    """Return the type of all values of one kind."""
    if kind == "dyn":
        return DYN
    schema = _SCHEMAS.get(kind, True)
    return Type(schema, schema, frozenset({kind}))


BOOL, INT, STRING, DOUBLE = of_kind("bool"), of_kind("int"), of_kind("string"), of_kind("double")
SIZE = Type({"type": "integer", "minimum": 0}, True, frozenset({"int"}))


def optional_of(inner: Type) -> Type:
    """Return the type of an optional that may hold an `inner`."""
    return FAILED if inner.failed else Type(True, True, frozenset({"optional"}), inner)


def literal(value: JsonValue, kind: str) -> Type:
    """Return the type of one known value."""
    schema: JsonObject = {"const": value}
    return Type(schema, schema, frozenset({kind}))


def list_of(element: Type, least: int = 0, most: int | None = None) -> Type:
    """Return the type of lists of `element`."""
    if element.failed:
        return FAILED
    schema: JsonObject = {"type": "array"}
    if (items := closed(element)) is not True:
        schema["items"] = items
    if least:
        schema["minItems"] = least
    if most is not None:
        schema["maxItems"] = most
    inner = None if element.kinds <= JSON_KINDS - {"double", "uint"} else element
    return Type(schema, schema, frozenset({"list"}), inner)


def of_schema(schema: Schema, root: Schema | None = None) -> Type:
    """Return the type of values that a schema admits."""
    root = schema if root is None else root
    if isinstance(schema, dict) and isinstance(kind := schema.get("type"), str):
        alone = _ALONE.get(kind)
        if alone and SPECIAL.isdisjoint(schema):
            return Type(schema, root, alone)
    schema, root = resolve(schema, root)
    return Type(schema, root, _tidy(_kinds_of(schema, root, 0)))


def resolve(schema: Schema, root: Schema) -> tuple[Schema, Schema]:
    """Follow a schema that is only a reference; an unknown target is True."""
    for _ in range(MAX_REFERENCES):
        if isinstance(schema, dict) and ("$defs" in schema or "definitions" in schema):
            root = schema
        if not isinstance(schema, dict) or "$ref" not in schema or not _only_reference(schema):
            return schema, root
        schema = _target(schema["$ref"], root)
    return True, True


_PROSE = frozenset(
    {"$ref", "title", "description", "default", "examples", "$comment", "deprecated"}
)


def _only_reference(schema: JsonObject) -> bool:
    return schema.keys() <= _PROSE or schema.keys() <= _PROSE | {"$defs", "definitions"}


def _target(reference: JsonValue, root: Schema) -> Schema:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return True
    if reference and not reference.startswith("#/") and reference != "#":
        return _anchored(reference[1:], root)
    try:
        return _schema(look_up(root, fragment(reference)))
    except KeyError:
        return True


def _anchored(name: str, root: Schema) -> Schema:
    defs = root.get("$defs") if isinstance(root, dict) else None
    found = defs.values() if isinstance(defs, dict) else ()
    return next((s for s in found if isinstance(s, dict) and s.get("$anchor") == name), True)


def _kinds_of(schema: JsonValue, root: Schema, depth: int) -> frozenset[str]:
    if schema is False:
        return frozenset()
    if not isinstance(schema, dict) or depth > MAX_REFERENCES:
        return _ANY
    if isinstance(kind := schema.get("type"), str) and COMPOUND.isdisjoint(schema):
        return _ALONE.get(kind, _ANY)
    return reduce(_both, _said(schema, root, depth), frozenset({"dyn"}))


def _said(schema: JsonObject, root: Schema, depth: int) -> Iterator[frozenset[str]]:
    """Yield what each keyword says of the kinds."""
    if "$defs" in schema:
        root = schema
    if "$ref" in schema:
        yield _kinds_of(_target(schema["$ref"], root), root, depth + 1)
    if "const" in schema:
        yield frozenset({kind_of(schema["const"])})
    if isinstance(values := schema.get("enum"), list):
        yield frozenset(kind_of(value) for value in values)
    if (kind := schema.get("type")) is not None:
        names = kind if isinstance(kind, list) else [kind]
        yield frozenset(_KINDS.get(str(name), "dyn") for name in names)
    for key in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(key), list):
            yield frozenset().union(*(_kinds_of(option, root, depth + 1) for option in options))
    if isinstance(parts := schema.get("allOf"), list):
        yield from (_kinds_of(part, root, depth + 1) for part in parts)


def _both(a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
    if "dyn" in a or "dyn" in b:
        return (b if "dyn" in a else a) if not {"dyn"} <= a & b else frozenset({"dyn"})
    both = a & b
    if "number" in a | b:
        both |= (a | b) & {"int"} if "int" in a | b and (a & NUMERIC and b & NUMERIC) else set()
    return both


def _tidy(kinds: frozenset[str]) -> frozenset[str]:
    if "dyn" in kinds:
        return frozenset({"dyn"})
    if len(kinds & {"int", "double", "number"}) > 1:
        return kinds - {"int", "double"} | {"number"}
    return kinds


def kind_of(value: JsonValue) -> str:
    """Return the kind of a JSON value."""
    names = {bool: "bool", int: "int", float: "number", str: "string", list: "list", dict: "map"}
    return names.get(type(value), "null")


def union(*types: Type) -> Type:
    """Return the type of values that have one of `types`."""
    found: list[Type] = []
    for one in types:
        if one.failed:
            return FAILED
        if one not in found:
            found.append(one)
    if len(found) == 1:
        return found[0]
    kinds = frozenset[str]().union(*(one.kinds for one in found))
    inner = [one.inner for one in found if one.inner is not None]
    held = union(*inner) if inner and len(inner) == len(found) else None
    if "dyn" in kinds:
        return DYN
    schema = any_of(closed(one) for one in found)
    return Type(schema, schema, _tidy(kinds), held)


def any_of(schemas: Iterable[Schema]) -> Schema:
    """Return a schema that admits what any of `schemas` does, constants gathered in one enum."""
    values: dict[bytes, JsonValue] = {}
    options: list[JsonValue] = []
    for schema in schemas:
        if schema is True:
            return True
        found = _values(schema)
        if found is not None:
            values.update({canonical(value): value for value in found})
        elif schema is not False and schema not in options:
            inner = schema.get("anyOf") if schema.keys() == {"anyOf"} else None
            options.extend(inner if isinstance(inner, list) else [schema])
    if values:
        kept = list(values.values())
        options.insert(0, {"const": kept[0]} if len(kept) == 1 else {"enum": kept})
    if len(options) == 1 and isinstance(options[0], dict):
        return options[0]
    return {"anyOf": options} if options else False


def _values(schema: Schema) -> list[JsonValue] | None:
    if isinstance(schema, dict) and schema.keys() == {"const"}:
        return [schema["const"]]
    if isinstance(schema, dict) and schema.keys() == {"enum"} and isinstance(schema["enum"], list):
        return schema["enum"]
    return None


def values_of(type_: Type) -> list[JsonValue] | None:
    """Return every value the type admits, where its schema lists them."""
    schema = type_.schema
    if not isinstance(schema, dict):
        return None
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    if isinstance(values, list):
        return values
    options = schema.get("anyOf") if schema.keys() == {"anyOf"} else None
    if not isinstance(options, list):
        return [None] if schema == {"type": "null"} else None
    found = [values_of(of_schema(_schema(option), type_.root)) for option in options]
    if any(each is None for each in found):
        return None
    return [value for each in found for value in each or ()]


def without_null(type_: Type) -> Type:
    """Return the type of the values that aren't null."""
    if not type_.nullable:
        return type_
    return replace(type_, schema=_no_null(type_.schema), kinds=type_.kinds - {"null"})


def _no_null(schema: Schema) -> Schema:
    if not isinstance(schema, dict):
        return schema
    found = dict(schema)
    if isinstance(kinds := found.get("type"), list):
        kept = [kind for kind in kinds if kind != "null"]
        found["type"] = kept[0] if len(kept) == 1 else kept
    if isinstance(values := found.get("enum"), list):
        found["enum"] = [value for value in values if value is not None]
    for key in ("anyOf", "oneOf"):
        if isinstance(options := found.get(key), list):
            kept = [option for option in options if option != {"type": "null"}]
            found[key] = [_no_null(_schema(option)) for option in kept]
            if found.keys() == {key} and len(kept) == 1:
                return _no_null(_schema(kept[0]))
    return found


def _schema(value: JsonValue) -> Schema:
    return value if isinstance(value, dict | bool) else True


def closed(type_: Type) -> Schema:
    """Return the type's schema by itself: references point into its own `$defs`."""
    if not _has_reference(type_.schema):
        return type_.schema
    hoist = _Hoist()
    schema = hoist.write(type_.schema, type_.root)
    if isinstance(schema, dict) and hoist.defs:
        return {**schema, "$defs": dict(sorted(hoist.defs.items()))}
    return _schema(schema)


def _has_reference(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return "$ref" in value or any(_has_reference(item) for item in value.values())
    return isinstance(value, list) and any(_has_reference(item) for item in value)


class _Hoist:
    """Copies a schema, moving what it refers to under one `$defs`."""

    def __init__(self) -> None:
        self.defs: JsonObject = {}
        self._names: dict[tuple[int, str], str] = {}

    def write(self, schema: JsonValue, root: Schema) -> JsonValue:
        if isinstance(schema, list):
            return [self.write(item, root) for item in schema]
        if not isinstance(schema, dict):
            return schema
        if isinstance(schema.get("$defs"), dict) or isinstance(schema.get("definitions"), dict):
            root = schema
        kept = {k: v for k, v in schema.items() if k not in {"$defs", "definitions"}}
        written = {key: self.write(value, root) for key, value in kept.items()}
        if isinstance(reference := schema.get("$ref"), str):
            written["$ref"] = f"#/$defs/{self._name(reference, root)}"
        return written

    def _name(self, reference: str, root: Schema) -> str:
        key = (id(root), reference)
        if key not in self._names:
            last = fragment(reference).rpartition("/")[2]
            base = name = re.sub(r"[^\w.-]", "_", last, flags=re.ASCII) or "root"
            count = 1
            while name in self._names.values():
                count += 1
                name = f"{base}_{count}"
            self._names[key] = name
            self.defs[name] = self.write(_target(reference, root), root)
        return self._names[key]
