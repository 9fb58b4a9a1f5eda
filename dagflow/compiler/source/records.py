"""Reads a mapping as a dataclass of `shaped` fields, whatever the dataclass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from dagflow.compiler.source.problems import listed
from dagflow.compiler.source.spot import BAD, Bad, Level, Spot
from dagflow.core.findings import Edit, Fix
from dagflow.core.node import Mapping, Node, Scalar
from dagflow.core.shape import AnyOf, ListOf, MapOf, Record, Shape, Slot, slots
from dagflow.core.words import closest

Read = Callable[[Shape, Node, Spot], Any]
Entries = dict[str, tuple[Scalar, Node]]


def table(cls: type[Any]) -> dict[str, Slot]:
    """Return the keys that a record, given by its dataclass, may have."""
    if cls not in _TABLES:
        _TABLES[cls] = {slot.key: slot for slot in slots(cls)}
    return _TABLES[cls]


_TABLES: dict[type[Any], dict[str, Slot]] = {}


def read_record(
    cls: type[Any],
    shorthand: str,
    node: Node,
    spot: Spot,
    read: Read,
    *,
    wrong: Callable[[], Bad],
) -> Any:
    """Return an instance of `cls`, or `BAD` when a field it can't do without could not be read.

    A field that may be absent and could not be read is left at its default.
    """
    if not isinstance(node, Mapping):
        alone = next((s for s in table(cls).values() if shorthand in {s.key, s.attribute}), None)
        if alone is None or (isinstance(node, Scalar) and node.value is None and not node.raw):
            return wrong()
        value = read(alone.shape, node, spot.about(alone.doc))
        return BAD if value is BAD else cls(**{alone.attribute: value}, span=node.span)
    known = table(cls)
    entries = sort_out(node, known.keys(), spot, lambda: below(known.values()))
    inner = spot.inside(Level(spot.subject, known.keys()))
    values = read_slots(known.values(), entries, inner, read)
    return BAD if values is None else cls(**values, span=node.span)


def read_slots(
    known: Iterable[Slot], entries: Entries, spot: Spot, read: Read
) -> dict[str, Any] | None:
    """Return the values of the slots by attribute; None when a required one is missing or bad."""
    values: dict[str, Any] = {}
    complete = True
    for slot in known:
        if slot.key not in entries:
            complete = complete and not slot.required
            if slot.required:
                spot.bad(
                    f"{spot.subject} has no `{slot.key}`", spot.span, f"`{slot.key}`: {slot.doc}"
                )
            continue
        key, node = entries[slot.key]
        value = read(slot.shape, node, spot.child(key.value, slot.key, key.span, slot.doc))
        if value is not BAD:
            values[slot.attribute] = value
        elif slot.required:
            complete = False
    return values if complete else None


def sort_out(
    node: Mapping, keys: AbstractSet[str], spot: Spot, deeper: Callable[[], dict[str, str]]
) -> Entries:
    """Return the mapping's entries by key, misspelt keys put right; each of those is a finding.

    `deeper` gives keys that belong under one of these, and which; it is asked only when needed.
    """
    entries: Entries = {
        str(key.value): (key, value) for key, value in node.entries if key.value in keys
    }
    for key, value in node.entries:
        if key.value not in keys:
            meant = unknown_key(key, keys, entries.keys(), spot, deeper())
            if meant is not None:
                entries[meant] = (key, value)
    return entries


def unknown_key(
    key: Scalar, keys: AbstractSet[str], taken: AbstractSet[str], spot: Spot, deeper: dict[str, str]
) -> str | None:
    """Add the finding for a key that can't stand here; return the free key that was meant."""
    text = str(key.value)
    at = spot.child(text, text, key.span)
    said = f"{spot.subject} has no key `{text}`"
    if text in deeper:
        at.bad(f"{said}; it belongs under `{deeper[text]}`", key.span)
        return None
    outer = next((level for level in reversed(spot.above) if text in level.keys), None)
    if outer is not None:
        beside = f"beside `{spot.label}`" if outer is spot.above[-1] else f"in {outer.label}"
        at.bad(f"{said}; it belongs further out, {beside}", key.span)
        return None
    meant = closest(text, sorted(keys))
    if meant is None:
        at.bad(said, key.span, spot.doc or f"keys here: {listed(sorted(keys), 'and')}")
        return None
    if meant in taken:
        at.bad(f"{said}; `{meant}` is there already", key.span, "remove one of them")
        return None
    fix = Fix(f"write `{meant}`", (Edit(key.span, meant),))
    at.bad(f"{said}; did you mean `{meant}`?", key.span, fixes=(fix,))
    return meant


def below(known: Iterable[Slot]) -> dict[str, str]:
    """Return the keys that the records right under these slots have, and whose they are."""
    found: dict[str, str] = {}
    for slot in known:
        for cls in _records(slot.shape):
            for key in table(cls):
                found.setdefault(key, slot.key)
    return found


def _records(shape: Shape) -> Iterator[type[Any]]:
    match shape:
        case Record(cls):
            yield cls
        case ListOf(item):
            yield from _records(item)
        case AnyOf(options):
            for option in options:
                yield from _records(option)
        case MapOf():
            return
