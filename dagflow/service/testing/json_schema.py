"""The published JSON Schema (draft 7) of test files, made from what the reader reads."""

from __future__ import annotations

from typing import Final

from dagflow.compiler.source.json_schema import DRAFT, definition_of, record_schema
from dagflow.core.shape import Record
from dagflow.core.values import JsonObject, JsonValue
from dagflow.service.testing.cases import CaseFile

IDENTIFIER: Final = "https://dagflow.dev/schemas/test.v1.json"
USED: Final = ("name", "duration")
"""The definitions that the fields of test files refer to."""


def cases_schema() -> JsonObject:
    """Return the JSON Schema of test files."""
    definitions: dict[str, JsonValue] = {name: definition_of(name) for name in USED}
    return {
        "$schema": DRAFT,
        "$id": IDENTIFIER,
        "title": "Tests of a dagflow workflow",
        **record_schema(Record(CaseFile)),
        "definitions": definitions,
    }
