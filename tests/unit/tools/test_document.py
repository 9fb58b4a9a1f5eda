"""Documents as tools: names, servers, security, effects, versions, and what is refused."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from dagflow.core.tool import ToolCatalog
from dagflow.core.values import canonical, check_value
from dagflow.tools.catalog import ToolSource, catalog
from dagflow.tools.conformance import validate_document
from dagflow.tools.document import load_tool
from dagflow.tools.read import DocumentError
from tests.unit.tools.documents import answers, document, json_body, operation, refusal, tool

OK: dict[str, Any] = {"responses": {"204": {}}}


@pytest.mark.parametrize(
    ("root", "words"),
    [
        ({"swagger": "2.0", "paths": {}}, "Swagger 2.0 document; convert it to OpenAPI 3"),
        ({"openapi": "3.2.0", "paths": {}}, "'3.2.0'; 3.0 and 3.1 are supported"),
        ({"openapi": "4"}, "3.0 and 3.1 are supported"),
        ({"paths": {}}, "no `openapi` version"),
        ({"openapi": "3.1.0"}, "no operations"),
        ({"openapi": "3.0.0", "paths": {"/a": {"x-b": {}}}}, "no operations"),
    ],
)
def test_documents_of_other_kinds_are_refused_by_name(root: Any, words: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load_tool("t", json.dumps(root), location="t.json")

    assert words in str(caught.value)


def test_an_operation_is_named_by_its_id_its_operation_id_and_its_place() -> None:
    made = tool({"/a/{id}": {"get": {**OK, "operationId": "getA"}, "put": OK}})

    assert made.names["getA"] == made.names["GET /a/{id}"] == ("t.GET /a/{id}",)
    assert made.names["PUT /a/{id}"] == ("t.PUT /a/{id}",)
    found = made.operations["t.GET /a/{id}"]
    assert (found.operation_id, found.method, found.path) == ("getA", "GET", "/a/{id}")
    assert made.operations["t.PUT /a/{id}"].operation_id == ""


def test_an_operation_id_used_twice_keeps_both() -> None:
    made = tool(
        {"/a": {"get": {**OK, "operationId": "x"}}, "/b": {"get": {**OK, "operationId": "x"}}}
    )

    assert made.names["x"] == ("t.GET /a", "t.GET /b")
    assert len(made.operations) == 2


@pytest.mark.parametrize(
    ("method", "effects"),
    [
        ("get", "pure"),
        ("head", "pure"),
        ("options", "pure"),
        ("put", "idempotent"),
        ("delete", "idempotent"),
        ("post", "once"),
        ("patch", "once"),
    ],
)
def test_effects_follow_from_the_method(method: str, effects: str) -> None:
    assert operation({}, method=method).effects == effects


def test_arguments_are_closed_groups_and_only_those_that_there_are() -> None:
    made = operation(
        {
            "parameters": [
                {"in": "query", "name": "q", "schema": {"type": "string"}, "required": True},
                {"in": "header", "name": "X-H", "schema": {"type": "integer"}},
                {"in": "header", "name": "Content-Type", "schema": {}},
                {"in": "path", "name": "id", "schema": {"type": "string"}, "required": True},
            ],
            **json_body({"type": "object"}),
        },
        method="post",
        path="/x/{id}",
    )

    assert made.arguments == {
        "type": "object",
        "properties": {
            "query": {
                "type": "object",
                "properties": {"q": {"type": "string"}},
                "required": ["q"],
                "additionalProperties": False,
            },
            "header": {
                "type": "object",
                "properties": {"X-H": {"type": "integer"}},
                "required": [],
                "additionalProperties": False,
            },
            "path": {
                "type": "object",
                "properties": {"id": {"type": "string"}},
                "required": ["id"],
                "additionalProperties": False,
            },
            "body": {"type": "object"},
        },
        "required": ["query", "path", "body"],
        "additionalProperties": False,
    }


def test_an_operations_parameter_replaces_the_paths() -> None:
    shared = {"in": "query", "name": "n", "schema": {"type": "string"}}
    own = {"in": "query", "name": "n", "schema": {"type": "integer"}}
    other = {"in": "header", "name": "n", "schema": {"type": "boolean"}}
    made = tool({"/x": {"parameters": [shared, other], "get": {**OK, "parameters": [own]}}})

    arguments: Any = made.operations["t.GET /x"].arguments
    assert arguments["properties"]["query"]["properties"]["n"] == {"type": "integer"}
    assert arguments["properties"]["header"]["properties"]["n"] == {"type": "boolean"}


def test_header_parameters_are_the_same_in_whatever_case() -> None:
    shared = {"in": "header", "name": "X-Trace", "schema": {"type": "string"}}
    own = {"in": "header", "name": "x-trace", "schema": {"type": "integer"}}
    made = tool({"/x": {"parameters": [shared], "get": {**OK, "parameters": [own]}}})

    arguments: Any = made.operations["t.GET /x"].arguments
    assert arguments["properties"]["header"]["properties"] == {"x-trace": {"type": "integer"}}


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        (
            {"in": "query", "style": "deepObject", "schema": {"type": "array"}},
            "deepObject of an array",
        ),
        (
            {
                "in": "query",
                "style": "deepObject",
                "schema": {"properties": {"a": {"type": "object"}}},
            },
            "nested",
        ),
        ({"in": "query", "schema": {"type": "array", "items": {"type": "object"}}}, "nested"),
        (
            {
                "in": "query",
                "style": "pipeDelimited",
                "explode": True,
                "schema": {"type": "object"},
            },
            "exploded object",
        ),
        (
            {"in": "query", "style": "matrix", "schema": {}},
            "style 'matrix' is not defined in query",
        ),
        ({"in": "query", "content": {"application/xml": {}}}, "application/xml is not supported"),
    ],
)
def test_a_parameter_without_a_form_refuses_its_operation_or_is_left_out_when_optional(
    parameter: dict[str, Any], words: str
) -> None:
    needed = {"parameters": [{"name": "p", "required": True, **parameter}]}
    optional = {"parameters": [{"name": "p", **parameter}]}

    assert words in refusal(needed)
    made = operation(optional)
    assert words in made.notes[0]
    assert made.arguments["properties"] == {}  # type: ignore[index]


def test_a_name_in_the_path_that_nothing_declares_is_a_string() -> None:
    made = operation({}, path="/x/{id}")

    assert "no parameter declares {id}" in made.notes[0]
    assert "'id': {'type': 'string'}" in str(made.arguments)


@pytest.mark.parametrize("path", ["/x?action=list", "/x#part", "/a/../b", "/a b"])
def test_a_path_that_is_not_plain_is_refused(path: str) -> None:
    assert "is not a plain path" in refusal({}, path=path)


@pytest.mark.parametrize(
    ("servers", "location", "server", "expected"),
    [
        ([{"url": "https://h/v2/"}], "a.json", None, "https://h/v2"),
        ([{"url": "https://h/v2"}, {"url": "https://other"}], "a.json", None, "https://h/v2"),
        ([{"url": "/v2"}], "https://docs.example/specs/a.json", None, "https://docs.example/v2"),
        ([{"url": "../v2"}], "https://d.example/specs/a.json", None, "https://d.example/v2"),
        (None, "https://d.example/specs/a.json", None, "https://d.example"),
        ([{"url": "/v2"}], "a.json", "http://127.0.0.1:8000/v3/", "http://127.0.0.1:8000/v3"),
        (
            [
                {
                    "url": "https://{r}.h/{v}",
                    "variables": {
                        "r": {"default": "eu", "enum": ["eu", "us"]},
                        "v": {"default": 2},
                    },
                }
            ],
            "a.json",
            None,
            "https://eu.h/2",
        ),
    ],
)
def test_the_server_is_made_whole(
    servers: Any, location: str, server: str | None, expected: str
) -> None:
    root = json.loads(document({"/x": {"get": OK}}))
    root.pop("servers")
    if servers is not None:
        root["servers"] = servers
    made = load_tool("t", json.dumps(root), location=location, server=server)

    assert made.operations["t.GET /x"].wire["server"] == expected


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("/v2", "relative to where the document was published"),
        ("ftp://h/", "not an http or https URL"),
        ("https://user:pw@h/", "given with a user"),
        ("https://h/?key=1", "not a plain base URL"),
        ("https://{r}.h/", "variable 'r' has no default"),
        ("https://h:99999/", "not a URL"),
        ("http://[::1", "not a URL"),
        ("unix:///var/run/docker.sock", "not an http or https URL"),
    ],
)
def test_a_server_that_can_not_be_called_refuses_its_operations(url: str, words: str) -> None:
    assert words in refusal({}, servers=[{"url": url}])


def test_a_server_of_the_operation_comes_before_the_paths_and_the_documents() -> None:
    own, item = [{"url": "https://own"}], [{"url": "https://item"}]
    made = tool(
        {"/a": {"servers": item, "get": {**OK, "servers": own}, "put": OK}, "/b": {"get": OK}}
    )

    servers = [made.operations[id_].wire["server"] for id_ in made.operations]
    assert servers == ["https://own", "https://item", "https://api.example.com/v2"]


def test_credentials_that_no_program_can_get_refuse_the_operation() -> None:
    schemes = {"tls": {"type": "mutualTLS"}, "digest": {"type": "http", "scheme": "digest"}}
    more = {"components": {"securitySchemes": schemes}}

    assert "'tls' (mutualTLS) is not supported" in refusal({"security": [{"tls": []}]}, **more)
    assert "http digest" in refusal({"security": [{"digest": []}]}, **more)
    assert operation({"security": [{"tls": []}, {}]}, **more).wire["security"] == [[]]
    assert "points nowhere" in refusal({"security": [{"missing": []}]}, **more)


def test_the_output_joins_the_successful_responses() -> None:
    def of(schema: Any, **headers: Any) -> Any:
        return {"content": {"application/json": {"schema": schema}}, "headers": headers}

    made = operation(
        {
            "responses": {
                "200": of({"type": "string"}, **{"X-Left": {}}),
                "201": of({"type": "integer"}),
                "default": of({"type": "boolean"}),
                "404": of({"type": "array"}),
            }
        }
    )

    output: Any = made.output
    assert output["properties"]["status"] == {"type": "integer", "enum": [200, 201]}
    assert output["properties"]["body"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert output["properties"]["headers"]["properties"] == {"x-left": {"type": "string"}}
    assert output["required"] == ["status", "headers", "body"]


@pytest.mark.parametrize(
    ("responses", "status", "body"),
    [
        ({"2XX": {}}, {"minimum": 200, "maximum": 299}, {"type": "null"}),
        (
            {"default": {"content": {"text/plain": {}}}},
            {"minimum": 200, "maximum": 299},
            {"type": "string"},
        ),
        ({"204": {}}, {"enum": [204]}, {"type": "null"}),
        ({"404": {}}, {"minimum": 200, "maximum": 299}, True),
    ],
)
def test_ranges_defaults_and_nothing_at_all(responses: Any, status: Any, body: Any) -> None:
    output: Any = operation({"responses": responses}).output

    assert output["properties"]["status"] == {"type": "integer", **status}
    assert output["properties"]["body"] == body


def two_operations(**parts: Any) -> Any:
    used = {"$ref": "#/components/schemas/Used"}
    paths = {
        "/a": {"get": {**answers(used), "summary": parts.get("summary", "s")}},
        "/b": {"get": OK},
    }
    schemas = {
        "Used": {"properties": {"deep": {"$ref": "#/components/schemas/Deep"}}},
        "Deep": {"type": parts.get("deep", "string")},
        "Other": {"type": parts.get("other", "string")},
    }
    return tool(paths, components={"schemas": schemas})


def test_a_version_changes_with_what_the_operation_reaches_and_with_nothing_else() -> None:
    base, same = two_operations(), two_operations(other="integer")
    deep, said = two_operations(deep="integer"), two_operations(summary="new")
    a, b = "t.GET /a", "t.GET /b"

    assert base.operations[a].version.startswith("sha256:")
    assert same.operations[a].version == base.operations[a].version
    assert deep.operations[a].version != base.operations[a].version
    assert said.operations[a].version != base.operations[a].version
    for other in (same, deep, said):
        assert other.operations[b].version == base.operations[b].version
    assert base.version != deep.version


def test_compiling_is_the_same_in_any_order_of_asking() -> None:
    def compiled(order: int) -> bytes:
        made = two_operations()
        ids = list(made.names.values())[::order]
        found = {id_: made.operations[id_].wire for (id_,) in ids}
        return canonical(found)

    assert compiled(1) == compiled(-1)


def test_operations_are_plain_json() -> None:
    made = two_operations().operations["t.GET /a"]

    check_value(made.wire)
    check_value(made.output)
    assert json.loads(canonical(made.wire)) == made.wire


def test_a_catalog_names_the_documents_that_could_not_be_read() -> None:
    good = ToolSource(text=document({"/x": {"get": OK}}), location="good.json")
    bad = ToolSource(text="{", location="bad.json")

    made = catalog({"good": good, "bad": bad})

    assert isinstance(made, ToolCatalog)
    assert list(made.tools) == ["good"]
    assert made.tools["good"].operations["good.GET /x"].id == "good.GET /x"
    (problem,) = made.problems
    assert (problem.tool, problem.location) == ("bad", "bad.json")
    assert problem.message.startswith("not JSON")


def test_a_path_item_may_be_a_reference_and_one_that_leads_nowhere_harms_no_other() -> None:
    made = tool(
        {
            "/a": {"$ref": "#/components/pathItems/A"},
            "/b": {"$ref": "#/components/pathItems/B"},
            "/c": {"get": OK},
            "d": {"get": OK},
        },
        components={"pathItems": {"A": {"get": OK}}},
    )

    assert list(made.operations) == ["t.GET /a", "t.GET /c"]
    assert [problem.message for problem in made.problems] == [
        (
            "the path '/b' was left out: $ref '#/components/pathItems/B' points nowhere:"
            " there is no 'B'"
        ),
        "the path 'd' does not begin with a slash",
    ]


def large() -> str:
    """Make a document of about 13 MB: 1,200 operations over 1,000 schemas that know each other."""
    text = "x" * 900
    schemas = {
        f"S{n}": {
            "type": "object",
            "description": text,
            "properties": {
                **{f"p{k}": {"type": "string", "description": text[:150]} for k in range(45)},
                "next": {"$ref": f"#/components/schemas/S{(n * 7 + 1) % 1000}"},
            },
        }
        for n in range(1000)
    }
    paths = {
        f"/r{n}/{{id}}": {
            "get": {
                "operationId": f"get{n}",
                "description": text,
                **answers({"$ref": f"#/components/schemas/S{n % 1000}"}),
            }
        }
        for n in range(1200)
    }
    return document(paths, components={"schemas": schemas})


def test_a_document_of_13_mb_loads_in_seconds_and_each_operation_in_far_less() -> None:
    text = large()
    assert len(text) > 11_000_000

    began = time.perf_counter()
    made = load_tool("t", text, location="t.json")
    loaded = time.perf_counter()
    made.operations["t.GET /r7/{id}"]
    compiled = time.perf_counter()

    assert loaded - began < 5
    assert compiled - loaded < 2  # its closure is cut at 20,000 schema nodes
    assert len(made.names) == 2400


def test_the_specification_is_asked_in_another_process_with_a_bound() -> None:
    good = document({"/x": {"get": {"responses": {"204": {"description": "d"}}}}})
    bad = document({"/x": {"get": {"responses": {"204": {}}}}}, version="3.0.3")

    assert validate_document(good) == ()
    assert [problem.partition(": ")[0] for problem in validate_document(bad)] == [
        "/paths//x/get/responses/204"
    ]
    assert validate_document(good, timeout=0.01) == ("not validated: it took longer than 0.01 s",)
