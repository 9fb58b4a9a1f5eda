"""What users of agent frameworks complain about, as it has to be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dagflow.core.values import canonical
from dagflow.tools.document import load_tool
from dagflow.tools.request import draft
from dagflow.tools.validate import problem_of
from tests.unit.tools.documents import answers, document, json_body, operation, tool

OK: dict[str, Any] = {"responses": {"204": {}}}


def sent(made: Any, arguments: Any) -> Any:
    assert problem_of(made.arguments, arguments) is None
    return draft(made.wire, arguments, idempotency_key="k").request()


def test_1_a_schema_that_holds_itself_leaves_the_others_alone() -> None:
    node = {
        "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/N"}}}
    }
    made = tool(
        {
            "/n": {"post": {**json_body({"$ref": "#/components/schemas/N"}), **OK}},
            "/o": {"get": OK},
        },
        components={"schemas": {"N": node}},
    )

    assert len(made.operations) == 2
    arguments: Any = made.operations["t.POST /n"].arguments
    assert arguments["properties"]["body"] == {"$ref": "#/$defs/N"}
    assert arguments["$defs"]["N"]["properties"]["children"]["items"] == {"$ref": "#/$defs/N"}


def test_2_a_reference_into_properties_that_goes_round_is_not_unrolled() -> None:
    a = {
        "properties": {
            "self": {"properties": {"again": {"$ref": "#/components/schemas/A/properties/self"}}}
        }
    }
    made = operation(
        json_body({"$ref": "#/components/schemas/A"}),
        method="post",
        components={"schemas": {"A": a}},
    )

    assert len(canonical(made.arguments)) < 700


def test_3_shared_parts_of_a_yaml_document_make_a_tree() -> None:
    text = """\
openapi: 3.0.3
servers: [{url: "https://h"}]
paths:
  /a:
    get: &get
      parameters: &shared
        - {name: q, in: query, schema: &text {type: string}}
      responses: {"200": {description: d, content: {application/json: {schema: *text}}}}
  /b:
    get: *get
"""
    made = load_tool("t", text, location="a.yaml")

    assert json.loads(json.dumps(made.operations["t.GET /b"].wire))
    assert made.operations["t.GET /a"].output == made.operations["t.GET /b"].output


def test_4_an_operation_holds_what_it_reaches_and_not_the_document() -> None:
    schemas = {f"S{n}": {"type": "string", "description": "d" * 500} for n in range(1000)}
    made = operation(answers({"$ref": "#/components/schemas/S7"}), components={"schemas": schemas})

    assert len(canonical(made.wire)) < 3000


def test_6_two_documents_may_share_an_operation_id() -> None:
    text = document({"/x": {"get": {**OK, "operationId": "get"}}})
    one = load_tool("one", text, location="a")
    two = load_tool("two", text, location="b")

    assert one.names["get"] == ("one.GET /x",)
    assert two.names["get"] == ("two.GET /x",)


def test_8_one_name_in_the_path_the_query_and_the_body_stays_three_arguments() -> None:
    made = operation(
        {
            "parameters": [
                {"in": place, "name": "id", "required": True, "schema": {"type": "string"}}
                for place in ("path", "query", "header", "cookie")
            ],
            **json_body({"properties": {"id": {"type": "integer"}}}),
        },
        method="post",
        path="/x/{id}",
    )

    request = sent(
        made,
        {
            "path": {"id": "p"},
            "query": {"id": "q"},
            "header": {"id": "h"},
            "cookie": {"id": "c"},
            "body": {"id": 5},
        },
    )

    assert request.url.endswith("/x/p?id=q")
    assert dict(request.headers)["id"] == "h"
    assert dict(request.headers)["cookie"] == "id=c"
    assert request.content == b'{"id":5}'


def test_9_names_go_on_the_wire_as_they_are_written() -> None:
    made = operation(
        {
            "parameters": [{"in": "query", "name": "$filter-By.Name[]", "schema": {}}],
            **json_body({"properties": {"sessionInfo": {}}}),
        },
        method="post",
    )

    request = sent(made, {"query": {"$filter-By.Name[]": "x"}, "body": {"sessionInfo": 1}})

    assert request.url.endswith("?%24filter-By.Name%5B%5D=x")
    assert request.content == b'{"sessionInfo":1}'


def test_12_children_of_a_discriminated_parent_keep_their_fields() -> None:
    pet = {
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        "required": ["kind"],
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat"}},
    }
    cat = {
        "allOf": [
            {"$ref": "#/components/schemas/Pet"},
            {"properties": {"claws": {"type": "integer"}}},
        ]
    }
    made = operation(
        json_body({"$ref": "#/components/schemas/Pet"}),
        method="post",
        components={"schemas": {"Pet": pet, "Cat": cat}},
    )

    assert sent(made, {"body": {"kind": "cat", "claws": 4}}).content == b'{"kind":"cat","claws":4}'


def test_17_referenced_parameters_are_resolved() -> None:
    shared = {"in": "query", "name": "page", "schema": {"$ref": "#/components/schemas/Page"}}
    made = operation(
        {"parameters": [{"$ref": "#/components/parameters/Page"}]},
        components={"parameters": {"Page": shared}, "schemas": {"Page": {"type": "integer"}}},
    )

    assert sent(made, {"query": {"page": 2}}).url.endswith("/x?page=2")
    assert (
        problem_of(made.arguments, {"query": {"page": "2"}}) == "/query/page is not of type integer"
    )


def test_19_all_parameters_are_sent_each_by_its_type() -> None:
    made = operation(
        {
            "parameters": [
                {"in": "query", "name": "n", "schema": {"type": "number"}},
                {"in": "query", "name": "b", "schema": {"type": "boolean"}},
                {
                    "in": "query",
                    "name": "list",
                    "schema": {"type": "array", "items": {"type": "string"}},
                },
                {
                    "in": "query",
                    "name": "o",
                    "schema": {"type": "object"},
                    "style": "deepObject",
                    "explode": True,
                },
            ]
        }
    )

    request = sent(made, {"query": {"n": 1.5, "b": False, "list": ["a", "b"], "o": {"k": "v"}}})

    assert request.url.endswith("?n=1.5&b=false&list=a&list=b&o%5Bk%5D=v")


def test_22_the_time_of_an_operation_does_not_grow_with_the_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lookups(count: int) -> int:
        paths = {
            f"/r{n}": {"get": {**answers({"$ref": f"#/components/schemas/S{n}"})}}
            for n in range(count)
        }
        made = tool(
            paths, components={"schemas": {f"S{n}": {"type": "string"} for n in range(count)}}
        )
        seen = 0

        def counted(*args: Any) -> Any:
            nonlocal seen
            seen += 1
            return original(*args)

        from dagflow.tools.schemas import SchemaCompiler

        original = SchemaCompiler._convert
        with monkeypatch.context() as patched:
            patched.setattr(SchemaCompiler, "_convert", counted)
            made.operations["t.GET /r1"]
        return seen

    assert lookups(10) == lookups(2000)
