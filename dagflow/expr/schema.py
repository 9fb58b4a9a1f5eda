"""JSON Schema 2020-12 at run time: does a value satisfy it, and if not, where and why not.

Nothing is ever fetched: a `$ref` out of the schema is refused. Patterns run in linear time, and
those that need more (look-around, back references) are refused when the schema is compiled.
The formats of `validators.FORMATS` are checked. Schemas are compiled once and kept.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, cast

from dagflow.core.errors import UsageError
from dagflow.core.pointers import under
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, Schema, canonical
from dagflow.expr.fields import element, field
from dagflow.expr.types import Type, of_schema, resolve
from dagflow.expr.validators import FORMATS, SchemaError, Validator, compiled

if TYPE_CHECKING:
    from jsonschema import FormatChecker  # it takes long to load, and few values are explained

MAX_EXPLAINED = 20_000
_MAX_ERRORS = 100


@dataclass(frozen=True, slots=True)
class Violation:
    """A value that breaks its schema: where (a JSON Pointer into the value), and how."""

    pointer: str
    message: str

    def __str__(self) -> str:
        return f"at {self.pointer or '/'}: {self.message}"


def validate(schema: Schema, value: JsonValue) -> Violation | None:
    """Return how `value` breaks `schema`, or None; of several errors, the deepest.

    The value must be one that `check_value` accepts. Raises `UsageError` for a schema that can't
    be used; `unusable` tells beforehand.
    """
    if schema is True:
        return None
    validator = _validator(schema)
    if validator.is_valid(value):
        return None
    found: list[SchemaError] = []
    for error in validator.iter_errors(value):
        found.append(error)
        if len(found) == _MAX_ERRORS:
            break
    deepest = max(found, key=lambda error: len(error.instance_path))
    return Violation(pointer_of(deepest.instance_path), deepest.message)


def explain(schema: Schema, value: JsonValue) -> Violation | None:
    """Return the same verdict as `validate`, with the words of the error that matters most.

    Slower by a hundred times: for values that a person will read about. Falls back to
    `validate`'s words for values and patterns whose explanation could take long.
    """
    violation = validate(schema, value)
    if violation is None or len(canonical(value)) > MAX_EXPLAINED or _has_pattern(schema):
        return violation
    return _best(schema, value) or violation


@lru_cache(maxsize=1)
def _format_checker() -> FormatChecker:
    """Return what judges formats as `validate` does."""
    from jsonschema import FormatChecker

    checker = FormatChecker(formats=())
    for name in sorted(FORMATS):
        judge = compiled({"format": name})
        checker.checks(name)(partial(_is_valid, judge))
    return checker


def _is_valid(judge: Validator, value: object) -> bool:
    return judge.is_valid(cast("JsonValue", value))


def _best(schema: Schema, value: JsonValue) -> Violation | None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        checker = Draft202012Validator(
            schema, registry=Registry(), format_checker=_format_checker()
        )
        error = best_match(checker.iter_errors(value))
    except (Unresolvable, RecursionError):
        return None
    return (
        None if error is None else Violation(pointer_of(list(error.absolute_path)), error.message)
    )


def _has_pattern(value: JsonValue) -> bool:
    if isinstance(value, dict):
        named = "pattern" in value or "patternProperties" in value
        return named or any(_has_pattern(item) for item in value.values())
    return isinstance(value, list) and any(_has_pattern(item) for item in value)


def unusable(schema: Schema) -> str | None:
    """Return why a schema can't be used: not a schema, a reference outwards, a bad pattern."""
    try:
        _validator(schema)
    except UsageError as error:
        return error.message
    return None


def pointer_of(path: Sequence[str | int]) -> str:
    """Write a path as a JSON Pointer."""
    return "".join(under("", part) for part in path)


_by_identity: dict[int, tuple[Schema, Validator]] = {}
_KEPT = 2048


def _validator(schema: Schema) -> Validator:
    """Return the compiled schema, looked up by the object first, then by its content."""
    known = _by_identity.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    validator = _compiled(canonical(schema))
    if len(_by_identity) >= _KEPT:
        _by_identity.clear()
    _by_identity[id(schema)] = (schema, validator)
    return validator


@lru_cache(maxsize=_KEPT)
def _compiled(text: bytes) -> Validator:
    try:
        return compiled(json.loads(text))
    except ValueError as error:
        raise UsageError(f"the schema can't be used: {error}") from None


def fill_defaults(schema: Schema, value: JsonValue) -> JsonValue:
    """Return the value with the defaults of absent properties filled in, at every depth.

    The value itself is left as it is. Only `properties` (through `$ref`) give defaults, never
    the alternatives of anyOf, oneOf or if.
    """
    return _filled(schema, schema, value)


def _filled(schema: JsonValue, root: Schema, value: JsonValue) -> JsonValue:
    resolved, root = resolve(schema if isinstance(schema, dict | bool) else True, root)
    if not isinstance(resolved, dict):
        return value
    if isinstance(value, list):
        return [_filled(resolved.get("items", True), root, item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = resolved.get("properties")
    found: JsonObject = dict(value)
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if name not in found and isinstance(inner, dict) and "default" in inner:
            found[name] = copy.deepcopy(inner["default"])
        if name in found:
            found[name] = _filled(inner, root, found[name])
    return found


def normalised(schema: Schema, value: JsonValue) -> JsonValue:
    """Return the value with 1.0 written as 1 wherever the schema asks for an integer."""
    return _normal(of_schema(schema), value) if _has_whole_float(value) else value


def _has_whole_float(value: JsonValue) -> bool:
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return any(_has_whole_float(item) for item in items)
    return isinstance(value, float) and value.is_integer()


def _normal(found: Type, value: JsonValue) -> JsonValue:
    if isinstance(value, float) and value.is_integer() and "int" in found.kinds:
        return int(value)
    if isinstance(value, list):
        return [_normal(element(found, index), item) for index, item in enumerate(value)]
    if isinstance(value, dict):
        fields = {name: field(found, name).type for name in value}
        return {
            name: item if (inner := fields[name]) is None else _normal(inner, item)
            for name, item in value.items()
        }
    return value
