from __future__ import annotations

import pytest

from dagflow.core.values import Schema
from dagflow.expr import Scope, validate
from dagflow.expr.types import closed, of_schema
from dagflow.expr.validators import compiled
from tests.unit.expr.scopes import INT, NUMBER, TEXT, TREE, checked, record


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("steps.fetch.output.severity", {"enum": ["low", "high"]}),
        ("inputs.flag ? 'a' : 'b'", {"enum": ["a", "b"]}),
        ("inputs.flag ? 1 : inputs.text", {"anyOf": [{"const": 1}, TEXT]}),
        ("inputs.x + 1", INT),
        ("inputs.x + 1.5", NUMBER),
        ("steps.fetch.output.price * 2", NUMBER),
        ("size(inputs.text)", INT),
        (
            "[1, inputs.x]",
            {
                "type": "array",
                "items": {"anyOf": [{"const": 1}, INT]},
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        ("steps.fetch.output.items.map(i, i.name)", {"type": "array", "items": TEXT}),
        ("steps.fetch.output.items.filter(i, i.price > 1)[0].price", NUMBER),
        ("steps.fetch.output.?extra.orValue(1)", {"anyOf": [{"const": 1}, TEXT]}),
        (
            "steps.?fetch.output.?note.orValue('d')",
            {"anyOf": [{"const": "d"}, {"type": ["string", "null"]}]},
        ),
        (
            "steps.fetch.output.note == null ? 'd' : steps.fetch.output.note",
            {"anyOf": [{"const": "d"}, TEXT]},
        ),
        (
            "timestamp('2026-01-01T00:00:00Z') + duration('1h')",
            {"type": "string", "format": "date-time"},
        ),
        ('{"a": inputs.x, ?"b": inputs.?text}', record(a=INT, b_=TEXT)),
        ("sum(steps.loop.output)", INT),
        (
            "steps.loop.errors.map(e, e.index)",
            {"type": "array", "items": {"type": "integer", "minimum": 0}},
        ),
        ("flatten([[1], [inputs.x]])", {"type": "array", "items": {"anyOf": [{"const": 1}, INT]}}),
        ("inputs.text.split(',')", {"type": "array", "items": TEXT}),
        ("steps.fetch.output.free", True),
        ("math.greatest(inputs.x, 2)", INT),
        ("steps.?fetch.optMap(f, f.status).orValue('') == ''", {"type": "boolean"}),
    ],
)
def test_the_type_of_an_expression(text: str, schema: Schema) -> None:
    assert checked(text).result == schema


def test_a_recursive_schema_comes_out_whole() -> None:
    found = checked("steps.fetch.output.tree.kids").result

    assert validate(found, [{"v": 1, "kids": [{"v": 2, "kids": []}]}]) is None
    assert validate(found, [{"v": 1, "kids": [{"v": "2", "kids": []}]}]) is not None


def test_two_schemas_with_definitions_of_one_name_do_not_mix() -> None:
    other = {"$ref": "#/$defs/tree", "$defs": {"tree": record(word=TEXT)}}
    scope = Scope({"a": TREE, "b": other})

    found = checked("[a.kids, b]", scope).result

    assert validate(found, [[{"v": 1, "kids": []}], {"word": "x"}]) is None
    assert validate(found, [[{"word": "x"}], {"word": "x"}]) is not None


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        (True, {"dyn"}),
        (False, set()),
        ({}, {"dyn"}),
        ({"type": ["string", "null"]}, {"string", "null"}),
        ({"enum": [1, "a", None]}, {"int", "string", "null"}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"string", "int"}),
        ({"allOf": [{"type": ["string", "null"]}, {"type": ["null", "integer"]}]}, {"null"}),
        ({"allOf": [{"type": "number"}, {"type": "integer"}]}, {"int"}),
        ({"type": ["integer", "number"]}, {"number"}),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "string"}}},
            {"string"},
        ),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, {"dyn"}),
        ({"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "null"}}}, {"null"}),
        ({"$ref": "https://example.com/x"}, {"dyn"}),
        ({"minimum": 3}, {"dyn"}),
    ],
)
def test_the_kinds_of_a_schema(schema: Schema, kinds: set[str]) -> None:
    assert of_schema(schema).kinds == kinds


@pytest.mark.parametrize(
    ("schema", "schema_of_a"),
    [
        ({"anyOf": [record(a=INT), record(a=TEXT)]}, {"anyOf": [INT, TEXT]}),
        ({"allOf": [{"type": "object", "properties": {"a": INT}}, {"required": ["a"]}]}, INT),
        ({"type": "object", "additionalProperties": INT}, INT),
        ({"type": "object", "patternProperties": {"^a": TEXT}}, TEXT),
        ({"const": {"a": 5}}, {"const": 5}),
        ({"$ref": "#/$defs/r", "$defs": {"r": record(a=INT)}}, INT),
        ({"type": "object", "properties": {"a": {"$ref": "#/properties/b"}, "b": TEXT}}, TEXT),
    ],
)
def test_a_field_is_found_through_every_form_of_schema(schema: Schema, schema_of_a: Schema) -> None:
    assert checked("v.a", Scope({"v": schema})).result == schema_of_a


def test_a_field_that_only_some_alternatives_have_may_be_absent() -> None:
    scope = Scope({"v": {"oneOf": [record(a=INT), record(b=INT)]}})

    (warning,) = checked("v.a", scope).warnings

    assert warning.kind == "partial-operation"


@pytest.mark.parametrize(
    ("name", "reference"),
    [("a b", "a%20b"), ("a/b", "a~1b"), ("a/b", "a%7E1b"), ("ü", "%C3%BC"), ("a%20b", "a%2520b")],
)
def test_a_reference_is_part_of_an_address(name: str, reference: str) -> None:
    to: Schema = {"$ref": f"#/$defs/{reference}"}
    schema: Schema = {"type": "array", "items": to, "$defs": {name: {"type": "string"}}}
    alone = closed(of_schema(schema))

    assert of_schema({**to, "$defs": {name: {"type": "string"}}}).kinds == {"string"}
    assert compiled(schema).is_valid(["x"])
    assert not compiled(schema).is_valid([1])
    assert compiled(alone).is_valid(["x"])
    assert not compiled(alone).is_valid([1])
