"""Schemas as they are decoded: closed, bounded, and with what can't be kept named."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.llm.grammar import longest, prepare, unsupported

OBJECT: JsonObject = {
    "type": "object",
    "properties": {"s": {"type": "string"}, "n": {"type": ["integer", "null"]}},
    "required": ["s"],
}


def test_objects_are_closed_and_open_ends_bounded() -> None:
    made = prepare(OBJECT)

    assert made.schema == {
        "type": "object",
        "properties": {
            "s": {"type": "string", "maxLength": 512},
            "n": {
                "type": ["integer", "null"],
                "minimum": -999_999_999_999_999,
                "maximum": 999_999_999_999_999,
            },
        },
        "required": ["s"],
        "additionalProperties": False,
    }
    assert made.notes[0] == "/properties/s: at most 512 characters"


def test_the_authors_own_bounds_stay() -> None:
    schema: JsonObject = {
        "type": "array", "maxItems": 2, "items": {"type": "string", "minLength": 600},
    }  # fmt: skip

    made = prepare(schema).schema

    assert made["maxItems"] == 2
    assert made["items"] == {"type": "string", "minLength": 600, "maxLength": 600}


@pytest.mark.parametrize(
    ("bounds", "edges"),
    [
        ({"minimum": 3}, {"minimum": 3, "maximum": 999_999_999_999_999}),
        ({"exclusiveMaximum": 9}, {"exclusiveMaximum": 9, "minimum": -999_999_999_999_999}),
        ({"minimum": 10**16}, {"minimum": 10**16}),
    ],
)
def test_a_number_is_bounded_only_where_it_is_open(bounds: JsonObject, edges: JsonObject) -> None:
    assert prepare({"type": "integer", **bounds}).schema == {"type": "integer", **edges}


def test_what_changes_nothing_is_dropped() -> None:
    schema: JsonObject = {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "t", "default": [],
        "type": "array", "items": {"type": "string", "format": "colour"}, "uniqueItems": False,
    }  # fmt: skip

    assert prepare(schema).schema == {
        "type": "array",
        "items": {"type": "string", "maxLength": 512},
        "maxItems": 32,
    }


def test_enums_and_constants_stay_as_they_are() -> None:
    assert prepare({"enum": ["a"], "type": "string"}).schema == {"enum": ["a"], "type": "string"}
    assert prepare(True).schema == {"anyOf": [True]}


def test_a_property_that_is_named_like_a_keyword_is_no_keyword() -> None:
    schema: JsonObject = {
        "type": "object", "properties": {"not": {"type": "null"}, "title": {"type": "null"}},
    }  # fmt: skip

    assert unsupported(schema) == ()
    assert prepare(schema).schema["properties"] == schema["properties"]


@pytest.mark.parametrize(
    ("schema", "pointers"),
    [
        ({"uniqueItems": True, "items": {"not": {}}}, ("/items/not", "/uniqueItems")),
        ({"properties": {"a/b": {"if": {}, "then": {}}}},
         ("/properties/a~1b/if", "/properties/a~1b/then")),
        ({"anyOf": [{"patternProperties": {}}, {"dependentRequired": {}}]},
         ("/anyOf/0/patternProperties", "/anyOf/1/dependentRequired")),
        ({"pattern": "(?=a)b"}, ("/pattern",)),
        ({"pattern": r"(a)\1"}, ("/pattern",)),
        ({"pattern": r"^(?:a|[b-d])+$"}, ()),
        ({"$ref": "http://x/y"}, ("/$ref",)),
        ({"$ref": "#/$defs/a", "$defs": {"a": True}}, ()),
        ({"uniqueItems": False}, ()),
        (True, ()),
    ],
)  # fmt: skip
def test_what_decoding_can_not_be_held_to_is_named(schema: Schema, pointers: tuple) -> None:
    assert unsupported(schema) == pointers


@pytest.mark.parametrize(
    ("schema", "size"),
    [
        ({"type": "boolean"}, 5),
        ({"enum": ["a", {"é": 1}]}, len('{"é":1}')),
        ({"type": "string", "maxLength": 3}, 5),
        ({"type": "string"}, 514),
        ({"type": "array", "items": {"type": "null"}, "maxItems": 3}, len("[null,null,null]")),
        ({"type": "array", "maxItems": 0}, 2),
        ({"type": "array", "prefixItems": [{"type": "null"}], "items": False}, len("[null]")),
        ({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}},
         len('{"a":null,"b":null}')),
        ({"type": "object", "additionalProperties": False}, 2),
        ({"type": "array", "items": {"type": "null"}, "maxItems": 10**12}, 5 * 10**12 + 1),
        ({"type": "array", "prefixItems": [{"type": "null"}] * 40, "items": False}, 201),
        ({"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "boolean"},
          "maxItems": 3}, len("[null,false,false]")),
        ({"type": "string", "format": "uuid"}, 38),
        ({"type": "object", "properties": {"a": {"type": "null"}},
          "additionalProperties": {"type": "null"}}, None),
        ({"type": "object"}, None),
        ({"type": "object", "additionalProperties": {"type": "null"}}, None),
        ({}, None),
        (True, None),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, 5),
        ({"anyOf": [{"type": "null"}, {}]}, None),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "null"}}}, 4),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}}},
         None),
        ({"$ref": "#/$defs/none"}, None),
        ({"type": "array", "items": {}}, None),
    ],
)  # fmt: skip
def test_the_longest_answer_is_counted(schema: Schema, size: int | None) -> None:
    assert longest(schema) == size


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**14), 10**14), st.text("ab", max_size=9)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xyz"), inner, max_size=3),
    max_leaves=8,
)


def described(value: JsonValue) -> Schema:
    """Return a bounded schema of which `value` is an instance."""
    if isinstance(value, bool) or value is None:
        return {"type": "boolean" if value is not None else "null"}
    if isinstance(value, int):
        return {"type": "integer"}
    if isinstance(value, str):
        return {"type": "string", "maxLength": max(len(value), 1)}
    if isinstance(value, list):
        heads = {"prefixItems": [described(item) for item in value]} if value else {}
        return {"type": "array", **heads, "items": False, "maxItems": len(value)}  # fmt: skip
    assert isinstance(value, dict)
    return {"type": "object", "properties": {key: described(item) for key, item in value.items()}}


@given(VALUES)
def test_no_instance_is_longer_and_every_prepared_schema_still_takes_it(value: JsonValue) -> None:
    schema = described(value)

    bound = longest(schema)

    assert bound is not None
    assert bound >= len(json.dumps(value, separators=(",", ":"), ensure_ascii=False))
    jsonschema.validate(value, prepare(schema).schema)


TEXT: JsonObject = {"a b": {"type": "string"}, "list": {"type": "array", "maxItems": 2}}


@pytest.mark.parametrize(
    ("schema", "kept", "refused"),
    [
        ({"$ref": "#/$defs/a%20b", "maxLength": 3}, "abc", "abcd"),
        ({"$ref": "#/$defs/a%20b", "enum": ["ab"]}, "ab", "abc"),
        ({"allOf": [{"$ref": "#/$defs/a%20b"}, {"maxLength": 3}]}, "abc", "abcd"),
        ({"anyOf": [{"$ref": "#/$defs/a%20b"}], "maxLength": 3}, "abc", "abcd"),
        ({"$ref": "#/$defs/list", "items": {"const": 1}}, [1, 1], [1, 2]),
        ({"$ref": "#/$defs/list", "items": {"const": 1}}, [1, 1], [1, 1, 1]),
    ],
)
def test_the_decoder_keeps_what_stands_beside_a_reference(
    schema: JsonObject, kept: JsonValue, refused: JsonValue
) -> None:
    guidance = pytest.importorskip("llguidance")
    whole: JsonObject = {**schema, "$defs": TEXT}
    tokens = guidance.LLTokenizer("byte")

    def takes(value: JsonValue) -> bool:
        grammar = guidance.LLMatcher.grammar_from_json_schema(
            prepare(whole).schema, defaults={"whitespace_flexible": False}
        )
        matcher = guidance.LLMatcher(tokens, grammar, log_level=0)
        text = tokens.tokenize_str(json.dumps(value, separators=(",", ":")))
        return bool(matcher.try_consume_tokens(text) == len(text) and matcher.is_accepting())

    assert (takes(kept), takes(refused)) == (True, False)
    assert longest(whole) == len(json.dumps(kept, separators=(",", ":")))
