"""Schemas that contain themselves in place, made finite.

A parent with `oneOf: [child]` whose children say `allOf: [parent]` is common in documents with a
discriminator, and by the letter no value can be checked against it: each asks the other, for the
same value, for ever. What is meant is that a child has the parent's own fields; so the children
get the parent without its choice. Any other such circle is opened with `true`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dagflow.core.values import JsonObject, JsonValue, Schema

IN_PLACE: Final = ("not", "if", "then", "else")
IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
CHOICES: Final = ("oneOf", "anyOf")
PREFIX: Final = "#/$defs/"


def unwind(schema: JsonObject, notes: list[str]) -> JsonObject:
    """Return the schema with no definition that reaches itself without going into the value."""
    defs = schema.get("$defs")
    if not isinstance(defs, dict) or not _circle(defs):
        return schema
    opened = _without_circles(_with_bases(dict(defs)), notes)
    return {**schema, "$defs": dict(sorted(opened.items()))}


def _with_bases(defs: JsonObject) -> JsonObject:
    """Point each child of a circle's parent at the parent without its choice."""
    members = _in_circles(defs)
    parents = {name for name in members if any(key in _object(defs[name]) for key in CHOICES)}
    for name in sorted(members):
        members_of = _object(defs[name]).get("allOf")
        if isinstance(members_of, list):
            defs[name] = {
                **_object(defs[name]),
                "allOf": [_to_base(member, parents) for member in members_of],
            }
    for name in sorted(parents):
        defs[f"{name}-base"] = {k: v for k, v in _object(defs[name]).items() if k not in CHOICES}
    return defs


def _to_base(member: JsonValue, parents: set[str]) -> JsonValue:
    name = _target(member)
    return {"$ref": f"{PREFIX}{name}-base"} if name in parents else member


def _without_circles(defs: JsonObject, notes: list[str]) -> JsonObject:
    while circle := _circle(defs):
        source, target = circle
        defs[source] = _cut(defs[source], f"{PREFIX}{target}")
        notes.append(f"the schema {target!r} contains itself in place; left open inside {source!r}")
    return defs


def _cut(schema: JsonValue, reference: str) -> JsonValue:
    """Replace in-place references to `reference` by `true`; a choice with one is dropped whole."""
    if not isinstance(schema, dict):
        return schema
    if schema.get("$ref") == reference:
        return {key: value for key, value in schema.items() if key != "$ref"} or True
    found: JsonObject = {}
    for key, value in schema.items():
        if key in IN_PLACE:
            found[key] = _cut(value, reference)
        elif key in IN_PLACE_LISTS and isinstance(value, list):
            members = [_cut(member, reference) for member in value]
            if members == value or key == "allOf":
                found[key] = members
        else:
            found[key] = value
    return found


def _circle(defs: JsonObject) -> tuple[str, str] | None:
    """Return the edge that closes the first circle of in-place references, if there is one."""
    done: set[str] = set()
    for start in sorted(defs):
        found = _close(defs, start, done)
        if found:
            return found
    return None


def _close(defs: JsonObject, start: str, done: set[str]) -> tuple[str, str] | None:
    path: list[tuple[str, Iterator[str]]] = []
    _enter(defs, start, path, done)
    while path:
        name, rest = path[-1]
        target = next(rest, None)
        if target is None:
            path.pop()
            done.add(name)
        elif any(target == open_ for open_, _ in path):
            return name, target
        else:
            _enter(defs, target, path, done)
    return None


def _enter(
    defs: JsonObject, name: str, path: list[tuple[str, Iterator[str]]], done: set[str]
) -> None:
    if name in defs and name not in done:
        path.append((name, iter(sorted(set(_in_place(defs[name]))))))


def _in_circles(defs: JsonObject) -> set[str]:
    """Return the definitions that reach themselves in place."""
    edges = {name: set(_in_place(schema)) for name, schema in defs.items()}
    return {name for name in defs if name in _reach(edges, name)}


def _reach(edges: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(edges[start])
    while waiting:
        name = waiting.pop()
        if name not in seen and name in edges:
            seen.add(name)
            waiting.extend(edges[name])
    return seen


def _in_place(schema: JsonValue) -> Iterator[str]:
    """Yield the definitions that a schema applies to the very value it is applied to."""
    if not isinstance(schema, dict):
        return
    target = _target(schema)
    if target:
        yield target
    for key in IN_PLACE:
        yield from _in_place(schema.get(key))
    for key in IN_PLACE_LISTS:
        members = schema.get(key)
        for member in members if isinstance(members, list) else []:
            yield from _in_place(member)
    dependents = schema.get("dependentSchemas")
    for member in dependents.values() if isinstance(dependents, dict) else []:
        yield from _in_place(member)


def _target(schema: JsonValue) -> str:
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    return reference.removeprefix(PREFIX) if isinstance(reference, str) else ""


def _object(schema: Schema | JsonValue) -> JsonObject:
    return schema if isinstance(schema, dict) else {}
