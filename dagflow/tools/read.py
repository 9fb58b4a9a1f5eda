"""Read the text of an OpenAPI document, JSON or YAML, into plain values."""

from __future__ import annotations

import json
import re
from typing import Any

from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """What a document may be at most: `size` in bytes of text, `depth` in nested collections.

    `growth` bounds what aliases may make of a YAML document: its nodes once every alias is
    written out, over its nodes as they stand in the file.
    """

    size: int = 64 * 1024 * 1024
    depth: int = 200
    growth: int = 10


LIMITS = ReadLimits()


class DocumentError(Exception):
    """The document can't be used at all; the message says why."""


def read_document(text: str, *, location: str = "", limits: ReadLimits = LIMITS) -> JsonObject:
    """Return the document's root object.

    JSON is read where the text begins as JSON does, YAML 1.2 (core schema, no `<<`, no tags)
    otherwise. Raises `DocumentError` for anything else: too large, too deep, an alias bomb,
    a key twice, NaN.
    """
    if len(text) > limits.size or len(text.encode()) > limits.size:
        raise DocumentError(f"the document is larger than {limits.size} bytes")
    text = text.removeprefix("\ufeff")
    root = _read(text, location, limits)
    if not isinstance(root, dict):
        raise DocumentError("the document is not an object at its root")
    return root


def _read(text: str, location: str, limits: ReadLimits) -> JsonValue:
    if text.lstrip()[:1] not in {"{", "["}:
        return _read_yaml(text, limits)
    try:
        return _read_json(text)
    except json.JSONDecodeError as error:
        if location.endswith(".json"):
            raise DocumentError(f"not JSON: {error}") from None
    return _read_yaml(text, limits)  # YAML's flow style begins as JSON does


def _read_json(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        raise DocumentError("the document is nested too deeply") from None
    return value


def _object(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise DocumentError(f"the key {twice!r} appears twice in one object")
    return found


def _constant(name: str) -> JsonValue:
    raise DocumentError(f"{name} is not a JSON number")


_PLAIN: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(r"(?:null|Null|NULL|~|)\Z"), lambda _: None),
    (re.compile(r"(?:true|True|TRUE)\Z"), lambda _: True),
    (re.compile(r"(?:false|False|FALSE)\Z"), lambda _: False),
    (re.compile(r"[-+]?[0-9]{1,400}\Z"), int),
    (re.compile(r"0o[0-7]{1,400}\Z"), lambda text: int(text, 0)),
    (re.compile(r"0x[0-9a-fA-F]{1,400}\Z"), lambda text: int(text, 0)),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z"), float),
)
"""YAML 1.2's core schema for plain scalars, but for `.inf` and `.nan`, which JSON can't carry."""


def _read_yaml(text: str, limits: ReadLimits) -> JsonValue:
    import yaml

    loader = yaml.CSafeLoader(text)
    try:
        root = loader.get_single_node()
    except (yaml.YAMLError, RecursionError) as error:
        raise DocumentError(f"not YAML: {' '.join(str(error).split())}") from None
    finally:
        loader.dispose()
    if root is None:
        raise DocumentError("the document is empty")
    _Census(limits).check(root)
    return _build(root)


class _Census:
    """Counts a node tree as if its aliases were written out, visiting each node once."""

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._sizes: dict[int, int] = {}
        self._open: set[int] = set()

    def check(self, root: Any) -> None:
        total, nodes = self._size(root, 1), len(self._sizes)
        if total > max(10_000, nodes * self._limits.growth):
            raise DocumentError(
                f"aliases make {total} values of a document with {nodes}: more than"
                f" {self._limits.growth} times as many"
            )

    def _size(self, node: Any, depth: int) -> int:
        known = self._sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in self._open:
            raise DocumentError(f"an alias inside its own anchor{_place(node)}")
        if depth > self._limits.depth:
            raise DocumentError(f"nested deeper than {self._limits.depth} levels{_place(node)}")
        self._open.add(id(node))
        size = 1 + sum(self._size(child, depth + 1) for child in _children(node))
        self._open.discard(id(node))
        self._sizes[id(node)] = size
        return size


def _children(node: Any) -> list[Any]:
    if node.id == "mapping":
        return [part for pair in node.value for part in pair]
    return list(node.value) if node.id == "sequence" else []


def _build(node: Any) -> JsonValue:
    if node.id == "mapping":
        return _mapping(node)
    if node.id == "sequence":
        return [_build(child) for child in node.value]
    return _scalar(node)


def _mapping(node: Any) -> JsonObject:
    found: JsonObject = {}
    for key, value in node.value:
        if key.id != "scalar":
            raise DocumentError(f"a key that is not a scalar{_place(key)}")
        if key.value == "<<" and not key.style:
            raise DocumentError(f"merge keys (<<) are not part of YAML 1.2{_place(key)}")
        if key.value in found:
            raise DocumentError(f"the key {key.value!r} appears twice{_place(key)}")
        found[key.value] = _build(value)  # `200:` and `on:` stay the text they are
    return found


def _scalar(node: Any) -> JsonValue:
    if node.style:  # quoted or a block: text
        return str(node.value)
    for pattern, make in _PLAIN:
        if pattern.match(node.value):
            value: JsonValue = make(node.value)
            return value
    return str(node.value)


def _place(node: Any) -> str:
    mark = node.start_mark
    return f" (line {mark.line + 1}, column {mark.column + 1})"
