"""What keeps a schema from holding a model's answer: keywords, missing bounds, sheer length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dagflow.core.conjunction import (
    MAX_PLACES,
    Parts,
    TooDeepError,
    heads_of,
    item_of,
    joined,
    key_of,
    options_of,
    properties_of,
    together,
    types_of,
)
from dagflow.core.decodable import BOUNDED_FORMATS, MAX_NESTING, unsupported
from dagflow.core.longest import item_count, longest
from dagflow.core.pointers import keys_of
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, Schema

CHARACTERS_A_TOKEN: Final = 4
"""About what one token stands for; less for rare words, so this errs on the side of silence."""


ROUGHLY: Final = 1.2
"""How far an estimate of tokens may be off: what is nearer is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One thing wrong, in the top-level field it is in ("" for the whole)."""

    field: str
    message: str
    help: str = ""
    is_error: bool = False
    bound: bool = False
    is_rare: bool = False


def troubles(schema: Schema, max_tokens: int) -> Iterator[Trouble]:
    """Yield what is wrong with an output schema; whether it is too long only if nothing else is.

    What can't be kept is what `core.decodable` says, as the worker that decodes asks it.
    """
    found = [*_refused(schema), *_Walk(schema).part((schema,), _Place())]
    yield from found
    length = None if found else longest(schema)
    if length is not None and length / CHARACTERS_A_TOKEN > max_tokens * ROUGHLY:
        about = round(length / CHARACTERS_A_TOKEN)
        message = (
            f"the longest answer has about {length} characters ({about} tokens), and"
            f" `max_tokens` is {max_tokens}: it may be cut"
        )
        help_ = "raise `max_tokens`, or tighten the bounds"
        yield Trouble(field="", message=message, help=help_, is_rare=True)


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
    """Looks for open ends. What a `$ref` names is looked at once for the same parts beside it."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._left = MAX_PLACES
        self._seen: set[frozenset[int]] = set()
        self._open: set[frozenset[int]] = set()

    def part(
        self, schemas: tuple[JsonValue, ...], place: _Place, around: Parts = ()
    ) -> Iterator[Trouble]:
        """Yield what need not end in a part of an answer that all of these schemas are about."""
        self._left -= 1
        if self._left < 0:
            return
        try:
            found = together(self._root, schemas, place.depth)
        except TooDeepError:
            yield _endless(place, f"it is more than {MAX_NESTING} levels deep")
            return
        if found is not None:
            own, is_referred = found
            parts = joined(own, around)
            once = self._once if is_referred or not place.depth else self._ends
            yield from once(own, parts, place)

    def _once(self, own: Parts, parts: Parts, place: _Place) -> Iterator[Trouble]:
        key = key_of(parts)
        if key in self._open:
            self._open.remove(key)
            yield _endless(place, "it holds itself")
        if key not in self._seen:
            self._seen.add(key)
            self._open.add(key)
            yield from self._ends(own, parts, place)
            self._open.discard(key)

    def _ends(self, own: Parts, parts: Parts, place: _Place) -> Iterator[Trouble]:
        if any("enum" in part or "const" in part for part in parts):
            return
        choices = [option for part in own for options in options_of(part) for option in options]
        if not choices:
            yield from _bounds(parts, place)
        yield from self._inside(own, parts, place)
        for option in choices:
            yield from self.part((option,), place.below(), parts)

    def _inside(self, own: Parts, parts: Parts, place: _Place) -> Iterator[Trouble]:
        said = [properties_of(part) for part in parts]
        for name in dict.fromkeys(name for part in own for name in properties_of(part)):
            inner = tuple(names[name] for names in said if name in names)
            yield from self.part(inner, place.below(name, field=name))
        if any("items" in part or "prefixItems" in part for part in own) or _is_list(parts):
            yield from self._items(parts, place)

    def _items(self, parts: Parts, place: _Place) -> Iterator[Trouble]:
        heads = max(len(heads_of(part)) for part in parts)
        for index in range(min(heads + 1, item_count(parts))):
            inner = tuple(item_of(part, index) for part in parts)
            yield from self.part(inner, place.below("[]"))


def _endless(place: _Place, why: str) -> Trouble:
    return Trouble(field=place.field, message=f"{_named(place.at)} can go on for ever: {why}")


def _loose(place: _Place) -> Trouble:
    message = f"{_named(place.at)} may be anything: give it a type"
    return Trouble(field=place.field, message=message)


def _named(at: str) -> str:
    return f"{at!r}" if at else "the answer"


def _is_list(parts: Parts) -> bool:
    return "array" in (types_of(parts) or ())


def _bounds(parts: Parts, place: _Place) -> Iterator[Trouble]:
    kinds = types_of(parts)
    if kinds is None:
        if place.depth:
            yield _loose(place)
        return
    if "string" in kinds and not any(map(_is_short, parts)):
        yield Trouble(
            field=place.field,
            message=f"the text {_named(place.at)} has no `maxLength`: the answer may be cut",
            help="give it a `maxLength`",
            bound=True,
        )
    if "array" in kinds and not any(map(_is_counted, parts)):
        yield Trouble(
            field=place.field,
            message=f"the list {_named(place.at)} has no `maxItems`: the answer may be cut",
            help="give it `maxItems`",
        )
    if "object" in kinds and not any(map(_is_named, parts)):
        message = f"the object {_named(place.at)} may have any keys: name them under `properties`"
        yield Trouble(field=place.field, message=message)


def _is_short(part: JsonObject) -> bool:
    return "maxLength" in part or part.get("format") in BOUNDED_FORMATS


def _is_counted(part: JsonObject) -> bool:
    return "maxItems" in part or part.get("items") is False


def _is_named(part: JsonObject) -> bool:
    return "properties" in part or part.get("additionalProperties") is False
