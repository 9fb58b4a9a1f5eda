"""Does every value of one schema satisfy another? Three-valued, and a yes is a proof."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import islice
from typing import Literal, TypeAlias

from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, Schema, canonical
from dagflow.core.words import listed
from dagflow.expr.fields import element, field, known_names
from dagflow.expr.formats import has_format, is_monotonic, with_words
from dagflow.expr.sample import samples
from dagflow.expr.schema import unusable, validate
from dagflow.expr.types import Type, closed, of_schema, values_of

Verdict: TypeAlias = Literal["yes", "no", "unknown"]

MAX_BYTES = 64 * 1024
"""The two schemas together; a larger pair is `unknown`, the same on every machine."""

_MAX_DEPTH = 16
_MAX_SAMPLES = 1000
_LEFT_OUT = (
    "title",
    "description",
    "examples",
    "default",
    "deprecated",
    "$comment",
    "readOnly",
    "writeOnly",
)


def fits(producer: Schema, consumer: Schema) -> Verdict:
    """Tell whether every value of `producer` satisfies `consumer`.

    "yes" is a proof, "no" has a `witness`; "unknown" is everything that can't be decided within
    `MAX_BYTES` and calls for a check when it runs.
    """
    if consumer is True or consumer == {} or producer is False:
        return "yes"
    a, b = canonical(_bare(producer)), canonical(_bare(consumer))
    if a == b:
        return "yes"
    if len(a) + len(b) > MAX_BYTES:
        return "unknown"
    if _covered(a, b) and _has_its_formats(a, b):
        return "yes"
    return "unknown" if _witness(a, b) is None else "no"


@lru_cache(maxsize=1024)
def _has_its_formats(producer: bytes, consumer: bytes) -> bool:
    """Tell whether what the producer gives surely has the formats that the consumer asks for."""
    given, wanted = json.loads(producer), json.loads(consumer)
    if not has_format(wanted):
        return True
    if not is_monotonic(given) or not is_monotonic(wanted):
        return False
    return _covered(canonical(with_words(given)), canonical(with_words(wanted)))


@dataclass(frozen=True, slots=True)
class Witness:
    """A value that the producer's schema admits and the consumer's doesn't."""

    value: JsonValue


def witness(producer: Schema, consumer: Schema) -> Witness | None:
    """Return a value that shows why the verdict is "no", the same each time."""
    return _witness(canonical(_bare(producer)), canonical(_bare(consumer)))


@lru_cache(maxsize=1024)
def _witness(producer: bytes, consumer: bytes) -> Witness | None:
    given, wanted = json.loads(producer), json.loads(consumer)
    if unusable(given) is not None or unusable(wanted) is not None:
        return None
    for value in islice(samples(given, wanted), _MAX_SAMPLES):
        if validate(wanted, value) is not None and validate(given, value) is None:
            return Witness(value)
    return None


def _bare(schema: JsonValue, *, names: bool = False) -> JsonValue:
    """Return the schema without its prose; `names` tells that the keys are names, not keywords."""
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value
        if key in {"const", "enum"} and not names
        else _bare(value, names=_named(key, names))
        for key, value in schema.items()
        if names or key not in _LEFT_OUT
    }


def _named(key: str, names: bool) -> bool:
    maps = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
    return key in maps and not names


@lru_cache(maxsize=4096)
def _covered(producer: bytes, consumer: bytes) -> bool:
    import jsonschema_rs
    from jsonschema_rs import canonical as words

    try:
        answer = _canonical_form(consumer).covers(_canonical_form(producer))
    except (ValueError, jsonschema_rs.ReferencingError):
        return False
    return bool(answer == words.Containment.YES)


@lru_cache(maxsize=1024)
def _canonical_form(text: bytes):  # type: ignore[no-untyped-def]  # noqa: ANN202  # untyped library
    import jsonschema_rs

    schema = json.loads(text)
    return jsonschema_rs.canonicalize(schema, draft=jsonschema_rs.Draft202012, retriever=_refused)


def _refused(uri: str) -> JsonValue:
    raise ValueError(f"the schema refers to {uri}, and nothing is fetched")


def misfit(producer: Schema, consumer: Schema) -> str:
    """Return in a few words where and how values of `producer` break `consumer`.

    Meant for a pair whose verdict is "no"; the place is a path such as `body.items[].id`.
    """
    path, reason = _difference(of_schema(producer), of_schema(consumer), "", 0)
    return f"`{path.lstrip('.')}` {reason}" if path else reason


def _difference(given: Type, wanted: Type, path: str, depth: int) -> tuple[str, str]:
    if depth < _MAX_DEPTH:
        inner = _in_fields(given, wanted, path, depth) or _in_elements(given, wanted, path, depth)
        if inner is not None:
            return inner
    return path, _reason(given, wanted)


def _in_fields(given: Type, wanted: Type, path: str, depth: int) -> tuple[str, str] | None:
    if "map" not in given.kinds or "map" not in wanted.kinds:
        return None
    names = known_names(wanted)
    for name in names:
        ours, theirs = field(given, name), field(wanted, name)
        at = f"{path}.{name}"
        if theirs.type is None:
            continue
        if ours.type is None:
            if theirs.required:
                return at, "is required and not there"
            continue
        if theirs.required and not ours.required:
            return at, "is required and may be absent"
        if fits(closed(ours.type), closed(theirs.type)) == "no":
            return _difference(ours.type, theirs.type, at, depth + 1)
    for name in known_names(given):
        if field(wanted, name).type is None:
            return (
                f"{path}.{name}",
                f"is not allowed; allowed is {listed(names, last='and') if names else 'nothing'}",
            )
    return None


def _in_elements(given: Type, wanted: Type, path: str, depth: int) -> tuple[str, str] | None:
    if "list" not in given.kinds or "list" not in wanted.kinds:
        return None
    ours, theirs = element(given), element(wanted)
    if fits(closed(ours), closed(theirs)) == "no":
        return _difference(ours, theirs, f"{path}[]", depth + 1)
    return None


def _reason(given: Type, wanted: Type) -> str:
    extra = given.kinds - wanted.kinds - ({"int", "double"} if "number" in wanted.kinds else set())
    if extra and not given.is_dyn and not wanted.is_dyn:
        return f"is {given.words()}, not {wanted.words()}"
    ours, theirs = values_of(given), values_of(wanted)
    if theirs is not None:
        allowed = listed([json.dumps(value) for value in theirs])
        if ours is None:
            return f"may be any of {given.words()}, not only {allowed}"
        bad = [value for value in ours if value not in theirs]
        return f"may be {listed([json.dumps(value) for value in bad])}, and must be {allowed}"
    return _bounds(given.schema, wanted.schema) or f"may be {given.words()} that its schema refuses"


def _bounds(given: Schema, wanted: Schema) -> str | None:
    if not isinstance(wanted, dict):
        return None
    ours: JsonObject = given if isinstance(given, dict) else {}
    for key, words in _BOUNDS.items():
        if key in wanted and ours.get(key) != wanted[key]:
            has = (
                f", its own is {json.dumps(ours[key])}" if key in ours else ", it has no such bound"
            )
            return f"must have {words} {json.dumps(wanted[key])}{has}"
    return None


_BOUNDS = {
    "minLength": "at least this length:",
    "maxLength": "at most this length:",
    "minimum": "at least the value",
    "maximum": "at most the value",
    "exclusiveMinimum": "more than the value",
    "exclusiveMaximum": "less than the value",
    "minItems": "at least this many elements:",
    "maxItems": "at most this many elements:",
    "pattern": "the pattern",
    "multipleOf": "a multiple of",
    "uniqueItems": "unique elements:",
    "minProperties": "at least this many fields:",
    "maxProperties": "at most this many fields:",
}
