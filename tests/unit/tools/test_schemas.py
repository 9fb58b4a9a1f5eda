"""OpenAPI schemas as JSON Schema 2020-12."""

from __future__ import annotations

from typing import Any

import pytest

from dagflow.core.values import canonical
from dagflow.tools.validate import problem_of
from tests.unit.tools.documents import answers, json_body, operation, refusal, tool


def body_of(schema: Any, *, version: str = "3.1.0", **schemas: Any) -> Any:
    made = operation(
        json_body(schema), method="post", version=version, components={"schemas": schemas}
    )
    assert isinstance(made.arguments, dict)
    return {**made.arguments["properties"]["body"], "$defs": made.arguments.get("$defs", {})}


def accepts(schema: Any, value: Any) -> bool:
    return problem_of(schema, value) is None


@pytest.mark.parametrize(
    ("schema", "version", "expected"),
    [
        ({"type": "string", "nullable": True}, "3.0.3", {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, "3.0.3", {"type": "string"}),
        ({"nullable": True, "description": "d"}, "3.0.3", {"description": "d"}),
        ({"type": "string", "nullable": True}, "3.1.0", {"type": "string"}),
        (
            {"type": "string", "nullable": True, "enum": ["a"]},
            "3.0.3",
            {"type": ["string", "null"], "enum": ["a"]},
        ),
        (
            {"type": "integer", "minimum": 3, "exclusiveMinimum": True},
            "3.0.3",
            {"type": "integer", "exclusiveMinimum": 3},
        ),
        (
            {"type": "integer", "maximum": 3, "exclusiveMaximum": False},
            "3.0.3",
            {"type": "integer", "maximum": 3},
        ),
        ({"exclusiveMinimum": 3}, "3.1.0", {"exclusiveMinimum": 3}),
        ({"type": ["string", "null"]}, "3.1.0", {"type": ["string", "null"]}),
        ({"required": ["a", "a"], "example": 1, "x-y": 2, "xml": {}}, "3.1.0", {"required": ["a"]}),
        (
            {"properties": {"$ref": {"type": "string"}}},
            "3.1.0",
            {"properties": {"$ref": {"type": "string"}}},
        ),
    ],
)
def test_dialects_are_converted_exactly(schema: Any, version: str, expected: Any) -> None:
    found = body_of(schema, version=version)

    assert found == {**expected, "$defs": {}}


def test_null_is_accepted_only_where_the_dialect_allows_it() -> None:
    plain = {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}}

    assert accepts(body_of(plain, version="3.0.3"), {"a": None})
    assert not accepts(body_of(plain, version="3.1.0"), {"a": None})


def test_nullable_beside_a_reference_does_nothing_in_3_0() -> None:
    schema = {"$ref": "#/components/schemas/A", "nullable": True}

    assert not accepts(body_of(schema, version="3.0.3", A={"type": "string"}), None)


def test_siblings_of_a_reference_count_in_3_1_only() -> None:
    schema = {"$ref": "#/components/schemas/A", "maxLength": 2}

    assert not accepts(body_of(schema, A={"type": "string"}), "abc")
    assert accepts(body_of(schema, version="3.0.3", A={"type": "string"}), "abc")


NODE = {
    "type": "object",
    "properties": {"next": {"$ref": "#/components/schemas/Node"}, "n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def test_a_recursive_schema_stays_finite_and_checks_every_level() -> None:
    schema = body_of({"$ref": "#/components/schemas/Node"}, Node=NODE)

    assert len(canonical(schema)) < 600
    assert accepts(schema, {"n": 1, "next": {"n": 2, "next": {"n": 3}}})
    assert problem_of(schema, {"n": 1, "next": {"n": 2, "next": {"n": "x"}}}) == (
        "/next/next/n is not of type integer"
    )


def test_a_reference_to_any_place_of_the_document_is_followed() -> None:
    holder = {
        "type": "object",
        "properties": {
            "left": {"type": "object", "properties": {"v": {"type": "integer"}}},
            "right": {"$ref": "#/components/schemas/Holder/properties/left"},
        },
    }
    schema = body_of({"$ref": "#/components/schemas/Holder"}, Holder=holder)

    assert not accepts(schema, {"right": {"v": "x"}})
    assert accepts(schema, {"right": {"v": 1}})


def test_odd_component_names_make_plain_and_distinct_definitions() -> None:
    schema = body_of(
        {
            "properties": {
                "a": {"$ref": "#/components/schemas/a~1b"},
                "b": {"$ref": "#/components/schemas/a%20b"},
            }
        },
        **{"a/b": {"type": "string"}, "a b": {"type": "integer"}},
    )

    assert accepts(schema, {"a": "x", "b": 1})
    assert not accepts(schema, {"a": 1})
    assert not accepts(schema, {"b": "x"})


def test_only_what_an_operation_reaches_is_in_its_definitions() -> None:
    schema = body_of(
        {"$ref": "#/components/schemas/A"},
        A={"properties": {"b": {"$ref": "#/components/schemas/B"}}},
        B={"type": "string"},
        Unused={"type": "string"},
    )

    assert set(schema["$defs"]) == {"A", "B"}


PET = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"type": "string"}},
    "discriminator": {"propertyName": "kind"},
    "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
}
CAT = {
    "allOf": [
        {"$ref": "#/components/schemas/Pet"},
        {"properties": {"claws": {"type": "integer"}}, "required": ["claws"]},
    ]
}
DOG = {
    "allOf": [
        {"$ref": "#/components/schemas/Pet"},
        {"properties": {"bark": {"type": "string"}}, "required": ["bark"]},
    ]
}


def test_a_parent_and_children_that_name_each_other_are_checked_without_going_round() -> None:
    schema = body_of({"$ref": "#/components/schemas/Pet"}, Pet=PET, Cat=CAT, Dog=DOG)

    assert accepts(schema, {"kind": "cat", "claws": 4})
    assert not accepts(schema, {"kind": "cat"})
    assert not accepts(schema, {"claws": 4})
    assert not accepts(schema, {"kind": "cat", "claws": "x"})


def test_a_child_still_has_its_parents_fields() -> None:
    schema = body_of({"$ref": "#/components/schemas/Cat"}, Pet=PET, Cat=CAT, Dog=DOG)

    assert accepts(schema, {"kind": "cat", "claws": 4})
    assert not accepts(schema, {"claws": 4})


def test_a_schema_that_contains_itself_in_place_is_opened_and_said() -> None:
    looped = {"allOf": [{"$ref": "#/components/schemas/A"}, {"type": "object"}]}
    made = operation(
        json_body({"$ref": "#/components/schemas/A"}),
        method="post",
        components={"schemas": {"A": looped}},
    )

    assert made.notes == ("the schema 'A' contains itself in place; left open inside 'A'",)
    assert isinstance(made.arguments, dict)
    assert problem_of(made.arguments, {"body": {}}) is None
    assert problem_of(made.arguments, {"body": 1}) is not None


def test_a_chain_of_references_without_an_end_refuses_its_operation() -> None:
    schemas = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}

    message = refusal(
        json_body({"$ref": "#/components/schemas/A"}),
        method="post",
        components={"schemas": schemas},
    )

    assert "only leads back to itself" in message


ITEM = {
    "type": "object",
    "required": ["id", "name", "password"],
    "properties": {
        "id": {"type": "string", "readOnly": True},
        "name": {"type": "string"},
        "password": {"type": "string", "writeOnly": True},
    },
    "additionalProperties": False,
}


def test_read_only_leaves_requests_and_write_only_leaves_responses() -> None:
    made = operation(
        {
            **json_body({"$ref": "#/components/schemas/I"}),
            **answers({"$ref": "#/components/schemas/I"}),
        },
        method="post",
        components={"schemas": {"I": ITEM}},
    )
    whole = {"status": 200, "headers": {}}

    assert problem_of(made.arguments, {"body": {"name": "n", "password": "p"}}) is None
    assert problem_of(made.arguments, {"body": {"name": "n", "password": "p", "id": "1"}})
    assert problem_of(made.output, {**whole, "body": {"id": "1", "name": "n"}}) is None
    assert problem_of(made.output, {**whole, "body": {"id": "1", "name": "n", "password": "p"}})


def test_read_only_in_a_parent_is_not_required_of_a_child() -> None:
    child = {"allOf": [{"$ref": "#/components/schemas/I"}], "required": ["id", "name"]}
    schema = body_of(child, I={**ITEM, "additionalProperties": True})

    assert accepts(schema, {"name": "n", "password": "p"})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strnig"},
        {"type": "object", "properties": []},
        {"allOf": {}},
        {"enum": []},
        {"maximum": "3"},
        {"required": True},
        [],
        "string",
        {"$ref": "#/components/schemas/Missing"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "other.yaml#/A"},
        {"$ref": "x/components/schemas/Known"},
        {"$dynamicRef": "#x"},
    ],
)
def test_a_bad_schema_costs_its_own_operation_only(schema: Any) -> None:
    made = tool(
        {
            "/bad": {"post": {**json_body(schema), "responses": {"204": {}}}},
            "/good": {"get": {"responses": {"204": {}}}},
        },
        components={"schemas": {"Known": {"type": "string"}}},
    )

    assert list(made.operations) == ["t.GET /good"]
    assert made.refusals["t.POST /bad"].message
    assert made.refusals["t.POST /bad"].location.startswith("t.json#/")
    assert list(made.refusals) == ["t.POST /bad"]


def test_a_pattern_that_needs_backtracking_is_dropped_and_said() -> None:
    made = operation(json_body({"type": "string", "pattern": "^(?=x)"}), method="post")

    assert "pattern" not in str(made.arguments)
    assert "'^(?=x)'" in made.notes[0]


def test_a_linear_pattern_is_kept() -> None:
    assert body_of({"type": "string", "pattern": "^a+$"})["pattern"] == "^a+$"


def test_a_huge_closure_is_cut_at_its_far_end_and_said() -> None:
    schemas: dict[str, Any] = {
        f"S{n}": {
            "type": "object",
            "properties": {
                **{f"p{k}": {"type": "string"} for k in range(50)},
                "next": {"$ref": f"#/components/schemas/S{n + 1}"},
            },
        }
        for n in range(1000)
    }
    schemas["S1000"] = {"type": "string"}
    made = operation(
        json_body({"$ref": "#/components/schemas/S0"}),
        method="post",
        components={"schemas": schemas},
    )

    assert "left open" in made.notes[0]
    assert problem_of(made.arguments, {"body": {"p1": 1}})
    assert problem_of(made.arguments, {"body": {"next": {"next": {"p1": 1}}}})
    assert len(canonical(made.arguments)) < 2_000_000


def test_texts_for_people_lose_control_and_direction_characters() -> None:
    schema = body_of({"type": "string", "description": "a\u202eb\x1b[31mc" + "x" * 2000})

    assert schema["description"].startswith("ab[31mc")
    assert len(schema["description"]) == 700


def test_the_problem_of_a_value_names_its_place_and_never_the_value() -> None:
    schema = {"properties": {"a": {"items": {"enum": ["x"]}}}}

    problem = problem_of(schema, {"a": ["x", "hunter2"]})

    assert problem == "/a/1 breaks enum ['x']"


def test_the_problem_of_a_choice_names_the_nearest_alternative() -> None:
    schema = {
        "anyOf": [{"type": "string"}, {"properties": {"a": {"type": "string"}}, "type": "object"}]
    }

    problem = problem_of(schema, {"a": 12345})

    assert problem == "/ fits none of its 2 alternatives (nearest: /a is not of type string)"


def test_no_schema_makes_the_validator_fetch() -> None:
    with pytest.raises(ValueError, match=r"refers to .*, and nothing is fetched"):
        problem_of({"$ref": "http://127.0.0.1:9/x"}, 1)
