from __future__ import annotations

import pytest

from dagflow.compiler.outputs import closed
from dagflow.compiler.types.decoding import longest, troubles
from dagflow.core.values import Schema

SHORT: Schema = {"type": "string", "maxLength": 10}


def messages(schema: Schema, tokens: int = 512) -> list[str]:
    return [trouble.message for trouble in troubles(schema, tokens)]


@pytest.mark.parametrize(
    "schema",
    [
        closed({"a": SHORT, "b": {"enum": ["x", "y"]}, "c": {"type": "integer"}}),
        {"type": "array", "items": SHORT, "maxItems": 3},
        {"type": "string", "format": "date-time"},
        {"anyOf": [SHORT, {"type": "null"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": SHORT}},
        {"type": "boolean"},
    ],
)
def test_bounded_schema_in_the_subset_is_fine(schema: Schema) -> None:
    assert messages(schema) == []


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string"}, "the text the answer has no `maxLength`"),
        (closed({"a": {"type": "string"}}), "the text 'a' has no `maxLength`"),
        ({"type": "array", "items": SHORT}, "has no `maxItems`"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 2}, "'[]' has no `maxLength`"),
        ({"type": "object"}, "may have any keys"),
        ({"not": SHORT}, "`not` can't be kept"),
        (closed({"a": {"type": "array", "maxItems": 2, "uniqueItems": True}}), "`uniqueItems`"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [SHORT, {"$ref": "#/$defs/a"}]}}}, "ever"),
        (closed({"a": {"type": "string", "maxLength": 9000}}), "it may be cut"),
    ],
)
def test_what_can_not_be_held_or_need_not_end_is_said(schema: Schema, said: str) -> None:
    assert any(said in message for message in messages(schema)), messages(schema)


def test_longest_answer_counts_texts_lists_and_keys() -> None:
    schema = closed({"ab": {"type": "array", "items": SHORT, "maxItems": 3}})

    assert longest(schema, schema) == 2 + len("ab") + 6 + 3 * (12 + 2) + 2
