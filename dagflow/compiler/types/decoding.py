"""What keeps a schema from holding a model's answer: keywords, missing bounds, sheer length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dagflow.core.decodable import (
    BOUNDED_FORMATS,
    MAX_NESTING,
    SCHEMA_LISTS,
    find,
    longest,
    unsupported,
)
from dagflow.core.pointers import keys_of
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, Schema

CHARACTERS_A_TOKEN: Final = 4
"""About what one token stands for; less for rare words, so this errs on the side of silence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One thing wrong, in the top-level field it is in ("" for the whole)."""

    field: str
    message: str
    help: str = ""
    is_error: bool = False
    bound: bool = False


def troubles(schema: Schema, max_tokens: int) -> Iterator[Trouble]:
    """Yield what is wrong with an output schema; whether it is too long only if nothing else is.

    What can't be kept is what `core.decodable` says, as the worker that decodes asks it.
    """
    found = [*_refused(schema), *_Walk(schema).part(schema, _Place())]
    yield from found
    length = None if found else longest(schema)
    if length is not None and length / CHARACTERS_A_TOKEN > max_tokens:
        about = round(length / CHARACTERS_A_TOKEN)
        message = (
            f"the longest answer has about {length} characters ({about} tokens), and"
            f" `max_tokens` is {max_tokens}: it may be cut"
        )
        yield Trouble(field="", message=message, help="raise `max_tokens`, or tighten the bounds")


def _refused(schema: Schema) -> Iterator[Trouble]:
    for pointer in unsupported(schema):
        parts = keys_of(pointer)
        yield Trouble(
            field=parts[1] if parts[0] == "properties" else "",
            message=f"`{parts[-1]}` can't be kept while a model writes",
            help="check it in a step after this one",
            is_error=True,
        )


@dataclass(frozen=True, slots=True)
class _Place:
    """A part of the answer: the top-level field it is in, and its path; "" for the whole."""

    field: str = ""
    at: str = ""
    depth: int = 0

    def below(self, step: str = "", field: str = "") -> _Place:
        """Return the place of a part of this one."""
        at = f"{self.at}.{step}" if self.at and field else f"{self.at}{step}"
        return _Place(self.field or field, at, self.depth + 1)


class _Walk:
    """Looks for open ends. What a `$ref` names is looked at once, so that the work is linear."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._seen = {"#"}
        self._open = {"#"}

    def part(self, schema: JsonValue, place: _Place) -> Iterator[Trouble]:
        """Yield what in this part of an answer need not end."""
        if not isinstance(schema, dict):
            if schema is True and place.depth:
                yield _loose(place)
        elif place.depth > MAX_NESTING:
            yield _endless(place, f"it is more than {MAX_NESTING} levels deep")
        elif isinstance(reference := schema.get("$ref"), str):
            yield from self._referred(reference, place)
        else:
            yield from _bounds(schema, place)
            yield from self._inside(schema, place)

    def _referred(self, reference: str, place: _Place) -> Iterator[Trouble]:
        if reference in self._open:
            self._open.remove(reference)
            yield _endless(place, "it holds itself")
        if reference not in self._seen:
            self._seen.add(reference)
            self._open.add(reference)
            yield from self.part(find(self._root, reference), place.below())
            self._open.discard(reference)

    def _inside(self, schema: JsonObject, place: _Place) -> Iterator[Trouble]:
        properties = schema.get("properties")
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            yield from self.part(inner, place.below(name, field=name))
        if "items" in schema:
            yield from self.part(schema["items"], place.below("[]"))
        for keyword in SCHEMA_LISTS:
            options = schema.get(keyword)
            for option in options if isinstance(options, list) else ():
                yield from self.part(option, place.below())


def _endless(place: _Place, why: str) -> Trouble:
    return Trouble(field=place.field, message=f"{_named(place.at)} can go on for ever: {why}")


def _loose(place: _Place) -> Trouble:
    message = f"{_named(place.at)} may be anything: give it a type"
    return Trouble(field=place.field, message=message)


def _named(at: str) -> str:
    return f"{at!r}" if at else "the answer"


def _kinds(schema: JsonObject) -> tuple[str, ...]:
    kind = schema.get("type")
    return tuple(str(k) for k in kind) if isinstance(kind, list) else (str(kind),)


def _bounds(schema: JsonObject, place: _Place) -> Iterator[Trouble]:
    if "enum" in schema or "const" in schema:
        return
    kinds = _kinds(schema)
    if "string" in kinds and not _is_short(schema):
        yield Trouble(
            field=place.field,
            message=f"the text {_named(place.at)} has no `maxLength`: the answer may be cut",
            help="give it a `maxLength`",
            bound=True,
        )
    if "array" in kinds and "maxItems" not in schema and schema.get("items") is not False:
        yield Trouble(
            field=place.field,
            message=f"the list {_named(place.at)} has no `maxItems`: the answer may be cut",
            help="give it `maxItems`",
        )
    open_ = "object" in kinds and schema.get("additionalProperties", True) is not False
    if open_ and "properties" not in schema:
        message = f"the object {_named(place.at)} may have any keys: name them under `properties`"
        yield Trouble(field=place.field, message=message)


def _is_short(schema: JsonObject) -> bool:
    return "maxLength" in schema or schema.get("format") in BOUNDED_FORMATS
