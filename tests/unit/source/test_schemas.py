from __future__ import annotations

import jsonschema_rs
import pytest

from dagflow.compiler.source.schemas import schema_of
from dagflow.core.values import Schema

from .reading import HEAD, read_step, step, under, workflow


def output(text: str) -> Schema:
    declared = read_step(f"transform: x\noutput: {text}").output
    assert declared is not None
    return schema_of(declared)


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("string", {"type": "string"}),
        ("list", {"type": "array"}),
        ("array", {"type": "array"}),
        ("object", {"type": "object"}),
        ("null", {"type": "null"}),
        ("string?", {"type": "string"}),
        ("{schema: integer}", {"type": "integer"}),
        ("{schema: {type: [string, 'null']}}", {"type": ["string", "null"]}),
        ("{schema: {}}", {}),
        (
            "{a: string, b: integer?, c: {enum: [x, y]}, d: {type: number, default: 1}}",
            {
                "type": "object",
                "properties": {
                    "a": {"type": "string"},
                    "b": {"type": "integer"},
                    "c": {"enum": ["x", "y"]},
                    "d": {"type": "number", "default": 1},
                },
                "required": ["a", "c"],
                "additionalProperties": False,
            },
        ),
        (
            "{type: string, items: list}",
            {
                "type": "object",
                "properties": {"type": {"type": "string"}, "items": {"type": "array"}},
                "required": ["type", "items"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_types_as_written_become_schemas(text: str, schema: Schema) -> None:
    assert output(text) == schema


def test_a_reference_in_a_field_still_points_into_its_own_schema() -> None:
    schema = output(
        "{tree: {$ref: '#/$defs/node', $defs: {node: {type: object, "
        "properties: {kids: {type: array, items: {$ref: '#/$defs/node'}}, $ref: {const: '#/x'}}, "
        "default: {$ref: '#/y'}}}}}"
    )

    validator = jsonschema_rs.Draft202012Validator(schema)
    assert validator.is_valid({"tree": {"kids": [{"kids": []}]}})
    assert not validator.is_valid({"tree": {"kids": [{"kids": 1}]}})
    assert isinstance(schema, dict)
    node = schema["properties"]["tree"]["$defs"]["node"]  # type: ignore[index, call-overload]
    assert node["default"] == {"$ref": "#/y"}  # type: ignore[index, call-overload]
    assert node["properties"]["$ref"] == {"const": "#/x"}  # type: ignore[index, call-overload]


MISTAKES = [
    ("{a: str}", "str", "did you mean `string`?"),
    ("{a: strng?}", "strng?", "did you mean `string?`?"),
    ("{a: Integer}", "Integer", "did you mean `integer`?"),
    ("{a: 'list[string]'}", "'list[string]'", "no type"),
    ("{a: }", "a", "has no type"),
    ("{a: 5}", "5", "takes a type, not the number 5"),
    ("{a: [string]}", "[string]", "a type, not a list"),
    ("[string]", "[string]", "not a list"),
    ("", "output", "has no value"),
    ("{é: string}", "é", "no name"),
    ("{a: {typ: string}}", "typ", "did you mean `type`?"),
    ("{a: {type: string, maxLenght: 4}}", "maxLenght", "did you mean `maxLength`?"),
    ("{a: {b: string}}", "b", "no keyword `b`"),
    ("{a: {properties: {b: {typ: string}}}}", "typ", "did you mean `type`?"),
    ("{a: {type: object, properties: {b: string}}}", "string", "in a JSON Schema"),
    ("{a: {type: strin}}", "strin", "did you mean `string`?"),
    ("{a: {type: list}}", "list", "did you mean `array`?"),
    ("{a: {type: string, maxLength: -1}}", "-1", "in a JSON Schema"),
    ("{a: {type: string, maxLength: '5'}}", "'5'", "in a JSON Schema"),
    ("{a: {enum: x}}", "x", "in a JSON Schema"),
    ("{a: {required: [b, b]}}", "[b, b]", "in a JSON Schema"),
    ("{a: {type: string, pattern: '(?=x)'}}", "'(?=x)'", "can't be used"),
    ("{a: {type: string, pattern: '(a)\\1'}}", "'(a)\\1'", "can't be used"),
    ("{a: {type: string, pattern: '['}}", "'['", "can't be used"),
    ("{a: {patternProperties: {'(?!x)': {}}}}", "'(?!x)'", "can't be used"),
    ("{a: {items: {type: string, pattern: '(?<=x)'}}}", "'(?<=x)'", "can't be used"),
    ("{a: {$ref: 'http://x/y'}}", "'http://x/y'", "can't point at"),
    ("{a: {$ref: 'x.json#/y'}}", "'x.json#/y'", "can't point at"),
    ("{a: {$ref: '#/$defs/x'}}", "{$ref: '#/$defs/x'}", "can't be used"),
    ("{a: {$id: 'http://x'}}", "$id", "can't be used"),
    ("{a: {nullable: true}}", "nullable", "can't be used"),
    ("{a: {type: integer, default: x}}", "x", "does not fit its own type"),
    ("{a: {$schema: draft-07}}", "draft-07", "2020-12"),
    ("{type: object, properties: {a: {type: string}}}", "type", "this is one JSON Schema"),
    ("{type: string, enum: [a, b]}", "type", "this is one JSON Schema"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "pointed", "said"), MISTAKES)
def test_one_mistake_in_a_type_is_one_finding_at_its_place(
    text: str, pointed: str, said: str
) -> None:
    written = step(f"transform: x\noutput: {text}")

    parsed = workflow(written)

    assert [it.message for it in parsed.findings if said not in it.message] == []
    (found,) = parsed.findings
    assert under(found, written) == pointed
    assert found.code == "DF002"
    assert found.path.startswith("/steps/a/output")


def test_inputs_are_closed_and_take_no_whole_schema() -> None:
    parsed = workflow(HEAD + "inputs: string\nsteps: {a: {transform: x}}\n")

    assert ["a mapping of names to types" in it.message for it in parsed.findings] == [True]


def test_fields_that_differ_only_in_case_are_twins() -> None:
    parsed = workflow(step("transform: x\noutput: {ID: string, id: string}"))

    assert [it.code for it in parsed.findings] == ["DF001"]
