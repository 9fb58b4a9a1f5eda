"""The schemas that are published as files of their own, each with all it refers to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from dagflow.api.schemas.diff import diff_definitions
from dagflow.api.schemas.form import PREFIX, ref
from dagflow.api.schemas.plan import plan_definitions
from dagflow.api.schemas.table import DEFINITIONS
from dagflow.core.values import JsonObject, JsonValue

_BASE: Final = "https://dagflow.dev/schemas/"
_Table = Mapping[str, JsonObject]


def _all() -> _Table:
    return DEFINITIONS


PUBLISHED: Final[Mapping[str, tuple[str, Callable[[], _Table]]]] = {
    "report.v1.json": ("Report", _all),
    "run.v1.json": ("Run", _all),
    "events.v1.json": ("Event", _all),
    "plan.v1.json": ("Plan", plan_definitions),
    "diff.v1.json": ("Difference", diff_definitions),
}
"""File → the name of its root, and the table that this is in."""


def published(file: str) -> JsonObject:
    """Return a published schema (JSON Schema 2020-12)."""
    root, table = PUBLISHED[file]
    definitions = table()
    used: JsonObject = {name: definitions[name] for name in sorted(_reached(root, definitions))}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": _BASE + file,
        "title": f"dagflow {root.lower()}",
        **ref(root),
        "$defs": used,
    }


def _reached(root: str, table: _Table) -> set[str]:
    found: set[str] = set()
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _references(table[name])
    return found


def _references(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, str) and value.startswith(PREFIX):
        yield value.removeprefix(PREFIX)
