"""How long an answer can get that is held to a JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from dagflow.core.decodable import (
    BOUNDED_FORMATS,
    DECIMALS,
    FORMAT_LENGTH,
    MAX_NUMBER,
    items_bound,
    string_bound,
)
from dagflow.core.values import JsonObject, JsonValue, Schema, canonical

_SCALARS: Final[Mapping[str, int]] = {
    "null": len("null"),
    "boolean": len("false"),
    "integer": len(str(-MAX_NUMBER)),
    "number": len(str(-MAX_NUMBER)) + 1 + DECIMALS,
}


def longest(schema: Schema) -> int | None:
    """Return how many characters the compact JSON of an answer can have, or None for no bound.

    Strings and arrays without a bound count with the default that decoding gives them. Escapes
    are not counted: a string of n characters is n + 2, whatever they are. What a `$ref` names is
    measured once for the same parts beside it, and no more than `MAX_PLACES` are.
    """
    return _Lengths(schema).of((schema,), (), 0)


class _Lengths:
    """Measures one schema. What a `$ref` names has no bound inside itself."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._left = MAX_PLACES
        self._known: dict[frozenset[int], int | None] = {}

    def of(self, schemas: tuple[JsonValue, ...], around: Parts, depth: int) -> int | None:
        """Return the length of what all of these schemas allow, and the parts around them."""
        self._left -= 1
        if self._left < 0:
            return None
        try:
            found = together(self._root, schemas, depth)
        except TooDeepError:
            return None
        if found is None:
            return 0
        own, is_referred = found
        parts = joined(own, around)
        if depth and not is_referred:
            return self._measured(own, parts, depth)
        key = key_of(parts)
        if key not in self._known:
            self._known[key] = None
            self._known[key] = self._measured(own, parts, depth)
        return self._known[key]

    def _measured(self, own: Parts, parts: Parts, depth: int) -> int | None:
        fixed = [size for part in parts if (size := _fixed(part)) is not None]
        if fixed:
            return min(fixed)
        choices = [
            _most([self.of((option,), parts, depth + 1) for option in options])
            for part in own
            for options in options_of(part)
        ]
        if choices:
            return min((size for size in choices if size is not None), default=None)
        types = types_of(parts)
        if types is None:
            return None
        return _most([self._typed(name, parts, depth) for name in sorted(types)])

    def _typed(self, name: str, parts: Parts, depth: int) -> int | None:
        if name in _SCALARS:
            return _SCALARS[name]
        if name == "string":
            return 2 + _characters(parts)
        return self._array(parts, depth) if name == "array" else self._object(parts, depth)

    def _array(self, parts: Parts, depth: int) -> int | None:
        heads, count = max(len(heads_of(part)) for part in parts), item_count(parts)
        sizes = [self._item(parts, index, depth) for index in range(min(count, heads))]
        more = count - len(sizes)
        if more:
            each = self._item(parts, heads, depth)
            sizes.append(None if each is None else each * more + more - 1)
        return _listed(sizes)

    def _item(self, parts: Parts, index: int, depth: int) -> int | None:
        return self.of(tuple(item_of(part, index) for part in parts), (), depth + 1)

    def _object(self, parts: Parts, depth: int) -> int | None:
        closed = [properties_of(part) for part in parts if _is_closed(part)]
        if not closed:
            return None
        names = [name for name in closed[0] if all(name in names for names in closed)]
        said = [properties_of(part) for part in parts]
        sizes = [
            self.of(tuple(names[name] for names in said if name in names), (), depth + 1)
            for name in names
        ]
        return _listed(sizes, sum(_written(name) + 1 for name in names))


def _fixed(part: JsonObject) -> int | None:
    """Return the length of the longest value that a part lists."""
    if "const" in part:
        return _written(part["const"])
    values = part.get("enum")
    return max(map(_written, values), default=0) if isinstance(values, list) else None


def _characters(parts: Parts) -> int:
    """Return how many characters a text may have."""
    bounds = [string_bound(part) for part in parts if "maxLength" in part]
    if bounds:
        return min(bounds)
    if any(part.get("format") in BOUNDED_FORMATS for part in parts):
        return FORMAT_LENGTH
    return max(map(string_bound, parts))


def item_count(parts: Parts) -> int:
    """Return how many items a list may have."""
    bounds = [items_bound(part) for part in parts if "maxItems" in part]
    bounds += [len(heads_of(part)) for part in parts if part.get("items") is False]
    return max(min(bounds), 0) if bounds else max(map(items_bound, parts))


def _is_closed(part: JsonObject) -> bool:
    """Tell whether an object has no other properties when it is decoded: declared ones close it."""
    if "additionalProperties" in part:
        return part["additionalProperties"] is False
    return "properties" in part and "object" in (types_of((part,)) or ())


def _listed(sizes: list[int | None], extra: int = 0) -> int | None:
    """Return the length of parts between brackets, with commas."""
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    return sum(known) + extra + 2 + max(len(sizes) - 1, 0)


def _written(value: JsonValue) -> int:
    return len(canonical(value).decode())


def _most(sizes: Iterable[int | None]) -> int | None:
    found = list(sizes)
    known = [size for size in found if size is not None]
    return max(known, default=0) if len(known) == len(found) else None
