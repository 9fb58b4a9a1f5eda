"""How a value differs from what a test file expects, place by place in the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from dagflow.core.node import Mapping, Node, Scalar, Sequence, plain
from dagflow.core.pointers import under
from dagflow.core.records import dataclass
from dagflow.core.source import Span
from dagflow.core.text import abridged
from dagflow.core.values import JsonValue
from dagflow.core.words import nearest

LONG: Final = 60
AROUND: Final = 20
"""Characters shown on both sides of the place where long texts part."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place at which two values differ: a JSON Pointer into the value, and both sides.

    `hint` says of long texts where they part.
    """

    pointer: str
    span: Span
    expected: str
    got: str
    hint: str = ""


def differences(wanted: Node, got: JsonValue, pointer: str = "") -> Iterator[Difference]:
    """Yield where `got` differs from what is written.

    An object may have more keys than are written, unless none are; a list has exactly the items
    that are written. Numbers are equal as numbers, and never equal to true or false.
    """
    if isinstance(wanted, Mapping) and isinstance(got, dict) and (wanted.entries or not got):
        for key, value in wanted.entries:
            name = str(key.value)
            at = under(pointer, name)
            if name in got:
                yield from differences(value, got[name], at)
            else:
                missing = f"no `{name}`{nearest(name, got)}"
                yield Difference(at, key.span, shown(plain(value)), missing)
    elif isinstance(wanted, Sequence) and isinstance(got, list):
        yield from _of_lists(wanted, got, pointer)
    elif not _same(wanted, got):
        meant = plain(wanted)
        yield Difference(pointer, wanted.span, shown(meant), shown(got), _parting(meant, got))


def _of_lists(wanted: Sequence, got: list[JsonValue], pointer: str) -> Iterator[Difference]:
    for index, (value, item) in enumerate(zip(wanted.items, got, strict=False)):
        yield from differences(value, item, f"{pointer}/{index}")
    if len(got) < len(wanted.items):
        first = wanted.items[len(got)]
        said = f"{len(got)} in all: {shown(got)}"
        yield Difference(f"{pointer}/{len(got)}", first.span, shown(plain(first)), said)
    elif len(got) > len(wanted.items):
        at = f"{pointer}/{len(wanted.items)}"
        yield Difference(at, wanted.span, "no more items", shown(got[len(wanted.items)]))


def _parting(wanted: JsonValue, got: JsonValue) -> str:
    """Say where two long texts part; of short ones everybody sees it."""
    if not isinstance(wanted, str) or not isinstance(got, str):
        return ""
    if min(len(wanted), len(got)) < LONG:
        return ""
    pairs = enumerate(zip(wanted, got, strict=False))
    at = next((n for n, (one, other) in pairs if one != other), min(len(wanted), len(got)))
    here = slice(max(0, at - AROUND), at + AROUND)
    one, other = shown(wanted[here]), shown(got[here])
    return f"they part at character {at + 1}: expected {one}, got {other}"


def _same(wanted: Node, got: JsonValue) -> bool:
    if not isinstance(wanted, Scalar):
        return False
    value = wanted.value
    if isinstance(value, bool) or isinstance(got, bool):
        return value is got
    return value == got and (value is None) == (got is None)


def place_in(written: Node, pointer: str) -> Span:
    """Return the place of the part that a JSON Pointer names, or of what is around it."""
    for part in filter(None, pointer.split("/")):
        name = part.replace("~1", "/").replace("~0", "~")
        found = written.get(name) if isinstance(written, Mapping) else None
        if isinstance(written, Sequence) and name.isdecimal() and int(name) < len(written.items):
            found = written.items[int(name)]
        if found is None:
            break
        written = found
    return written.span


def shown(value: JsonValue) -> str:
    """Write a value as a message shows it: as JSON, and the ends only of what is long."""
    return abridged(json.dumps(value, ensure_ascii=False), 300)
