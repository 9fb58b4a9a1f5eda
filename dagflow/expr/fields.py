"""What lies under a type: the fields of objects and the elements of lists."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.expr.types import (
    COMPOUND,
    DYN,
    FAILED,
    MAX_REFERENCES,
    NEVER,
    SPECIAL,
    STRING,
    Type,
    kind_of,
    literal,
    of_schema,
    resolve,
    union,
)

Branch: TypeAlias = tuple[Schema, Schema]
_MAX_BRANCHES = 256


@dataclass(frozen=True, slots=True)
class Found:
    """A field: its type, and whether every object has it.

    `type` is None where no value of the type can have the field. `declared` tells that a schema
    names it.
    """

    type: Type | None
    required: bool = False
    declared: bool = True


def field(type_: Type, name: str) -> Found:
    """Look a field up in every alternative of an object type."""
    schema = type_.schema
    if isinstance(schema, dict) and schema.get("type") == "object" and SPECIAL.isdisjoint(schema):
        return _in_branch(schema, type_.root, name)
    branches = _objects(type_)
    if type_.is_dyn and (not branches or type_.schema is True):
        return Found(DYN, declared=False)
    looked = [_in_branch(schema, root, name) for schema, root in branches]
    if len(looked) == 1:
        return looked[0]
    types = [one.type for one in looked if one.type is not None]
    if not types:
        return _NONE
    required = all(one.type is not None and one.required for one in looked)
    return Found(union(*types), required, any(one.declared for one in looked))


def known_names(type_: Type) -> tuple[str, ...]:
    """Return the names of the fields that the schemas of an object type declare."""
    names = (name for schema, _ in _objects(type_) for name in _properties(schema))
    return tuple(dict.fromkeys(names))


def _objects(type_: Type) -> list[Branch]:
    return [b for b in _branches(type_.schema, type_.root, 0) if _may_be(b, "map")]


def entries(type_: Type) -> Type:
    """Return the type of an object's values under a name known only when it runs."""
    if type_.is_dyn:
        return DYN
    found: list[Type] = []
    for schema, root in _branches(type_.schema, type_.root, 0):
        if not _may_be((schema, root), "map"):
            continue
        if not isinstance(schema, dict) or not _is_closed(schema):
            rest = schema.get("additionalProperties", True) if isinstance(schema, dict) else True
            found.append(of_schema(_schema(rest), root))
        found.extend(of_schema(_schema(s), root) for s in _properties(schema).values())
    return union(*found) if found else DYN


def element(type_: Type, index: int | None = None) -> Type:
    """Return the type of a list's element, at `index` where it is known."""
    if type_.failed or type_.is_dyn:
        return FAILED if type_.failed else DYN
    if type_.inner is not None and "list" in type_.kinds:
        return type_.inner
    branches = [b for b in _branches(type_.schema, type_.root, 0) if _may_be(b, "list")]
    found = [part for schema, root in branches for part in _elements(schema, root, index)]
    if not found:
        return NEVER if branches else DYN
    return union(*found)


def least_items(type_: Type) -> int:
    """Return how many elements every list of the type has."""
    branches = [b[0] for b in _branches(type_.schema, type_.root, 0) if _may_be(b, "list")]
    return min((_number(schema, "minItems") or 0 for schema in branches), default=0)


def most_items(type_: Type) -> int | None:
    """Return how many elements a list or object of the type has at most, or None."""
    found: list[int] = []
    for schema, _ in _branches(type_.schema, type_.root, 0):
        most = _number(schema, "maxItems")
        if most is None and isinstance(schema, dict) and _is_closed(schema):
            most = len(_properties(schema))
        if most is None:
            return None
        found.append(most)
    return max(found, default=None)


def keys(type_: Type) -> Type:
    """Return the type of an object's keys: the names themselves where it is closed."""
    branches = _branches(type_.schema, type_.root, 0)
    if branches and all(isinstance(s, dict) and _is_closed(s) for s, _ in branches):
        names = [name for schema, _ in branches for name in _properties(schema)]
        return union(*(literal(name, "string") for name in names)) if names else STRING
    return STRING


def _branches(schema: Schema, root: Schema, depth: int) -> list[Branch]:
    """Return the plain schemas, without anyOf, oneOf, allOf and $ref, that make up a schema."""
    schema, root = resolve(schema, root)
    if not isinstance(schema, dict) or COMPOUND.isdisjoint(schema):
        return [(schema, root)] if schema is not False else []
    if depth > MAX_REFERENCES:
        return [(True, True)]
    for key in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(key), list):
            rest: JsonObject = {k: v for k, v in schema.items() if k != key}
            return [
                branch
                for option in options
                for branch in _branches(_joined(rest, _schema(option)), root, depth + 1)
            ]
    if "$ref" in schema:
        rest = {k: v for k, v in schema.items() if k != "$ref"}
        return _branches({"allOf": [rest, {"$ref": schema["$ref"]}]}, root, depth + 1)
    if isinstance(parts := schema.get("allOf"), list):
        rest = {k: v for k, v in schema.items() if k != "allOf"}
        return _merged([rest, *(_schema(part) for part in parts)], root, depth)
    return [(schema, root)]


def _joined(rest: JsonObject, option: Schema) -> Schema:
    plain = {"$defs", "definitions", "title", "description", "discriminator", "default"}
    return option if rest.keys() <= plain else {"allOf": [rest, option]}


def _merged(parts: list[Schema], root: Schema, depth: int) -> list[Branch]:
    merged: list[Branch] = [({}, root)]
    for part in parts:
        found = _branches(part, root, depth + 1)
        merged = [
            (_both(a, b), a_root if b_root is root else b_root)
            for a, a_root in merged
            for b, b_root in found
        ]
        if len(merged) > _MAX_BRANCHES:
            return [(True, True)]
    return merged


def _both(a: Schema, b: Schema) -> Schema:
    if not isinstance(a, dict) or not isinstance(b, dict):
        return a if b is True else b
    both: JsonObject = {**a, **b}
    shared = _properties(a).keys() & _properties(b).keys()
    properties = {**_properties(a), **_properties(b)}
    properties |= {n: {"allOf": [_properties(a)[n], _properties(b)[n]]} for n in sorted(shared)}
    if properties:
        both["properties"] = properties
    required = [*_required(a), *(n for n in _required(b) if n not in _required(a))]
    if required:
        both["required"] = list(required)
    if _is_closed(a) or _is_closed(b):
        both["additionalProperties"] = False
    return both


def _may_be(branch: Branch, kind: str) -> bool:
    kinds = of_schema(*branch).kinds
    return kind in kinds or "dyn" in kinds


def _in_branch(schema: Schema, root: Schema, name: str) -> Found:
    if not isinstance(schema, dict):
        return Found(DYN, declared=False)
    if isinstance(known := schema.get("const"), dict):
        return Found(literal(known[name], kind_of(known[name])), True) if name in known else _NONE
    if name in (properties := _properties(schema)):
        declared = of_schema(_schema(properties[name]), root)
        return Found(declared, _requires(schema, name)) if declared.kinds else _NONE
    if (pattern := _by_pattern(schema, name)) is not None:
        return Found(of_schema(pattern, root), _requires(schema, name))
    if _is_closed(schema):
        return _NONE
    rest = _schema(schema.get("additionalProperties", True))
    declares = rest is not True or not properties
    return Found(of_schema(rest, root), _requires(schema, name), declares)


_NONE = Found(None)


def _by_pattern(schema: JsonObject, name: str) -> Schema | None:
    patterns = schema.get("patternProperties")
    for pattern, found in patterns.items() if isinstance(patterns, dict) else ():
        if _matches(pattern)(name):
            return _schema(found)
    return None


def _matches(pattern: str) -> Callable[[str], object]:
    try:
        return re.compile(pattern).search if len(pattern) < 64 else lambda _: True  # noqa: PLR2004
    except re.error:
        return lambda _: True


def _elements(schema: Schema, root: Schema, index: int | None) -> list[Type]:
    if not isinstance(schema, dict):
        return [DYN]
    if isinstance(known := schema.get("const"), list):
        return [literal(item, kind_of(item)) for item in known]
    first = schema.get("prefixItems")
    prefix = first if isinstance(first, list) else []
    if index is not None and 0 <= index < len(prefix):
        return [of_schema(_schema(prefix[index]), root)]
    rest = [of_schema(_schema(schema.get("items", True)), root)]
    rest = [one for one in rest if one.kinds]
    if index is not None:
        return rest
    return [*(of_schema(_schema(item), root) for item in prefix), *rest]


def _is_closed(schema: JsonObject) -> bool:
    closed = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
    return closed is False


def _properties(schema: Schema) -> JsonObject:
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _required(schema: JsonObject) -> list[str]:
    found = schema.get("required")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _requires(schema: JsonObject, name: str) -> bool:
    found = schema.get("required")
    return isinstance(found, list) and name in found


def _number(schema: Schema, key: str) -> int | None:
    found = schema.get(key) if isinstance(schema, dict) else None
    return int(found) if isinstance(found, int | float) else None


def _schema(value: JsonValue) -> Schema:
    return value if isinstance(value, dict | bool) else True
