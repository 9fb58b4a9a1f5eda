"""Types as people write them."""

from __future__ import annotations

import pytest

from dagflow.compiler.report.notation import notation
from dagflow.core.values import Schema

STRING: Schema = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (True, "any"),
        (False, "nothing"),
        ({}, "any"),
        (STRING, "string"),
        ({"type": "string", "format": "uuid"}, "string (uuid)"),
        ({"type": ["integer", "null"]}, "integer | null"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"const": 201}, "201"),
        ({"anyOf": [STRING, {"type": "null"}, STRING]}, "string | null"),
        ({"type": "array", "items": STRING}, "list(string)"),
        ({"type": "array"}, "list(any)"),
        ({"type": "object", "additionalProperties": STRING}, "map(string)"),
        ({"type": "object", "additionalProperties": False}, "{}"),
        (
            {
                "type": "object",
                "properties": {"id": STRING, "total": {"type": "number"}},
                "required": ["id"],
                "additionalProperties": False,
            },
            "{id: string, total?: number}",
        ),
        ({"properties": {"id": STRING}}, "{id?: string, …}"),
        (
            {"$defs": {"Id": STRING}, "type": "array", "items": {"$ref": "#/$defs/Id"}},
            "list(string)",
        ),
        ({"enum": list(range(10))}, "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | … 2 more"),
    ],
)
def test_schema_is_written_in_one_line(schema: Schema, said: str) -> None:
    assert notation(schema) == said


def test_schema_that_holds_itself_comes_to_an_end() -> None:
    tree: Schema = {
        "$defs": {"Tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}},
        "$ref": "#/$defs/Tree",
    }

    assert "…" in notation(tree)
    assert len(notation(tree)) < 200
