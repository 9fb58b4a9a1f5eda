"""What keeps a schema from holding a model's answer: keywords, missing bounds, sheer length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, Schema, canonical

UNSUPPORTED: Final = (
    "uniqueItems", "not", "if", "then", "else", "patternProperties", "dependentSchemas",
    "dependentRequired", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems",
    "minProperties", "maxProperties",
)  # fmt: skip
"""Keywords outside the decoder's subset."""

BOUNDED_FORMATS: Final = frozenset(
    {"date", "time", "date-time", "duration", "uuid", "ipv4", "ipv6"}
)
CHARACTERS_A_TOKEN: Final = 4
"""About what one token stands for; less for rare words, so this errs on the side of silence."""

NUMBER_LENGTH: Final = 12
FORMAT_LENGTH: Final = 36
_MAX_DEPTH: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One thing wrong, in the top-level field it is in ("" for the whole)."""

    field: str
    message: str
    help: str = ""
    is_error: bool = False
    bound: bool = False


def troubles(schema: Schema, max_tokens: int) -> Iterator[Trouble]:
    """Yield what is wrong with an output schema; whether it is too long only if nothing else is."""
    found = [*_walk(schema, schema, "", "", 0)]
    yield from found
    length = None if found else longest(schema, schema)
    if length is not None and length / CHARACTERS_A_TOKEN > max_tokens:
        about = round(length / CHARACTERS_A_TOKEN)
        message = (
            f"the longest answer has about {length} characters ({about} tokens), and"
            f" `max_tokens` is {max_tokens}: it may be cut"
        )
        yield Trouble(field="", message=message, help="raise `max_tokens`, or tighten the bounds")


def _walk(schema: JsonValue, root: Schema, field: str, at: str, depth: int) -> Iterator[Trouble]:
    if not isinstance(schema, dict):
        if schema is True and depth:
            yield _loose(field, at)
        return
    if depth > _MAX_DEPTH:
        yield Trouble(field=field, message=f"{_named(at)} can go on for ever: it holds itself")
        return
    target = _referred(schema, root)
    if target is not None:
        yield from _walk(target, root, field, at, depth + 1)
        return
    for keyword in UNSUPPORTED:
        if keyword in schema and schema[keyword] is not False:
            yield Trouble(
                field=field,
                message=f"`{keyword}` can't be kept while a model writes",
                help="check it in a step after this one",
                is_error=True,
            )
    yield from _bounds(schema, field, at)
    yield from _inside(schema, root, field, at, depth)


def _loose(field: str, at: str) -> Trouble:
    return Trouble(field=field, message=f"{_named(at)} may be anything: give it a type")


def _named(at: str) -> str:
    return f"{at!r}" if at else "the answer"


def _referred(schema: JsonObject, root: Schema) -> JsonValue:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return None
    found: JsonValue = root
    for part in reference.removeprefix("#").split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _kinds(schema: JsonObject) -> tuple[str, ...]:
    kind = schema.get("type")
    return tuple(str(k) for k in kind) if isinstance(kind, list) else (str(kind),)


def _bounds(schema: JsonObject, field: str, at: str) -> Iterator[Trouble]:
    if "enum" in schema or "const" in schema:
        return
    kinds = _kinds(schema)
    if "string" in kinds and not _is_short(schema):
        yield Trouble(
            field=field,
            message=f"the text {_named(at)} has no `maxLength`: the answer may be cut",
            help="give it a `maxLength`",
            bound=True,
        )
    if "array" in kinds and "maxItems" not in schema and schema.get("items") is not False:
        yield Trouble(
            field=field,
            message=f"the list {_named(at)} has no `maxItems`: the answer may be cut",
            help="give it `maxItems`",
        )
    open_ = "object" in kinds and schema.get("additionalProperties", True) is not False
    if open_ and "properties" not in schema:
        message = f"the object {_named(at)} may have any keys: name them under `properties`"
        yield Trouble(field=field, message=message)


def _is_short(schema: JsonObject) -> bool:
    return "maxLength" in schema or schema.get("format") in BOUNDED_FORMATS


def _inside(schema: JsonObject, root: Schema, field: str, at: str, depth: int) -> Iterator[Trouble]:
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        path = f"{at}.{name}" if at else name
        yield from _walk(inner, root, field or name, path, depth + 1)
    items = schema.get("items")
    if items is not None:
        yield from _walk(items, root, field, f"{at}[]", depth + 1)
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        options = schema.get(keyword)
        for option in options if isinstance(options, list) else ():
            yield from _walk(option, root, field, at, depth + 1)


def longest(schema: JsonValue, root: Schema) -> int | None:
    """Return the length of the longest JSON text that a bounded schema allows, roughly."""
    if not isinstance(schema, dict):
        return None
    target = _referred(schema, root)
    if target is not None:
        return longest(target, root)
    if "const" in schema:
        return len(canonical(schema["const"]))
    choices = schema.get("enum")
    if isinstance(choices, list):
        return max((len(canonical(choice)) for choice in choices), default=0)
    for keyword in ("anyOf", "oneOf"):
        options = schema.get(keyword)
        if isinstance(options, list):
            return _most(longest(option, root) for option in options)
    return _most(_length(kind, schema, root) for kind in _kinds(schema))


def _most(lengths: Iterator[int | None]) -> int | None:
    found = list(lengths)
    known = [length for length in found if length is not None]
    return max(known) if known and len(known) == len(found) else None


def _length(kind: str, schema: JsonObject, root: Schema) -> int | None:
    if kind == "string":
        most = schema.get("maxLength", FORMAT_LENGTH)
        return most + 2 if isinstance(most, int) else None
    if kind == "array":
        count, item = schema.get("maxItems"), longest(schema.get("items", True), root)
        return count * (item + 2) + 2 if isinstance(count, int) and item is not None else None
    if kind == "object":
        return _object_length(schema, root)
    return NUMBER_LENGTH if kind in {"integer", "number", "boolean", "null"} else None


def _object_length(schema: JsonObject, root: Schema) -> int | None:
    properties = schema.get("properties")
    total = 2
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        length = longest(inner, root)
        if length is None:
            return None
        total += len(name) + 6 + length
    return total
