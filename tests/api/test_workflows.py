"""Checking, registering and looking up workflows."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest

from tests.api.served import HELLO, Client

YAML = {"Content-Type": "application/yaml"}
JSON = {"Content-Type": "application/json"}
TOOL = """\
openapi: 3.1.0
info: {title: t, version: "1"}
servers: [{url: "http://127.0.0.1:1"}]
paths:
  /x:
    get:
      operationId: x
      responses: {"200": {description: ok, content: {application/json: {schema: {}}}}}
"""
CALLS = """\
dagflow: 1
name: calls
tools: {t: {openapi: ./t.yaml}}
steps:
  x: {tool: t.x}
"""


def test_a_workflow_is_checked_as_yaml_as_json_and_with_its_documents(api: Client) -> None:
    yaml = api.send("POST", "/v1/workflows/check", HELLO.encode(), **YAML)
    plain = api.send("POST", "/v1/workflows/check", HELLO.encode())
    form = api.post("/v1/workflows/check", {"workflow": HELLO})
    itself = api.post(
        "/v1/workflows/check", {"dagflow": 1, "name": "j", "steps": {"a": {"transform": "1"}}}
    )
    documents = api.post("/v1/workflows/check", {"workflow": CALLS, "documents": {"t": TOOL}})

    assert [it.status for it in (yaml, plain, form, itself, documents)] == [200] * 5
    assert yaml.json == form.json == plain.json
    assert yaml.json["ok"] is True
    assert itself.json["workflow"]["name"] == "j"
    assert [f for f in documents.json["findings"] if f["severity"] == "error"] == []
    assert documents.json["tools"][0]["id"] == "t.GET /x"


def test_a_check_with_findings_is_still_an_answer(api: Client) -> None:
    answer = api.send("POST", "/v1/workflows/check", b"dagflow: 1\nname: x\nsteps: 3\n", **YAML)

    assert answer.status == 200
    assert answer.json["ok"] is False
    assert answer.json["findings"][0]["span"]["line"] == 3


def test_a_check_fetches_and_reads_nothing(api: Client, tmp_path: Path) -> None:
    asked: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0.2)
        thread = threading.Thread(target=lambda: asked.append(_accept(trap)))
        thread.start()
        url = f"http://127.0.0.1:{trap.getsockname()[1]}/t.yaml"
        file = tmp_path / "t.yaml"
        file.write_text(TOOL)
        remote = TOOL.replace("schema: {}", f'schema: {{$ref: "{url}"}}')
        answers = [
            api.send(
                "POST", "/v1/workflows/check", CALLS.replace("./t.yaml", place).encode(), **YAML
            )
            for place in (url, str(file))
        ]
        answers.append(
            api.post("/v1/workflows/check", {"workflow": CALLS, "documents": {"t": remote}})
        )
        thread.join()

    assert asked == [None]
    assert [it.status for it in answers] == [200] * 3
    assert [it.json["ok"] for it in answers[:2]] == [False, False]


def _accept(trap: socket.socket) -> object:
    try:
        return trap.accept()
    except TimeoutError:
        return None


def test_registering_twice_is_one_version_and_a_change_is_another(api: Client) -> None:
    source = HELLO.replace("name: hello", "name: twice", 1)
    first, again = api.put("twice", source), api.put("twice", source)
    changed = api.put("twice", source.replace("hello ", "hi "))
    versions = api.get("/v1/workflows/twice/versions").json["versions"]

    assert (first.status, again.status, changed.status) == (201, 201, 201)
    assert first.json == again.json
    assert first.headers["location"] == f"/v1/workflows/twice/versions/{first.json['version']}"
    assert [it["number"] for it in versions] == [2, 1]
    assert api.get(first.headers["location"]).json["source"] == source
    assert api.get("/v1/workflows/twice").json["plan"] == changed.json["plan"]


def test_a_version_does_not_change_its_plan(api: Client) -> None:
    source = HELLO.replace("name: hello", "name: fixed\nversion: '1'", 1)
    api.put("fixed", source)

    answer = api.put("fixed", source.replace("hello ", "hi "))

    assert answer.status == 409
    assert "new version" in answer.json["remedy"]


def test_what_does_not_compile_is_not_registered(api: Client) -> None:
    answer = api.put("broken", "dagflow: 1\nname: broken\nsteps:\n  a: {transform: nope.x}\n")

    assert (answer.status, answer.code) == (422, "does-not-compile")
    assert answer.json["report"]["findings"][0]["span"]["line"] == 4
    assert api.get("/v1/workflows/broken").status == 404


def test_the_name_in_the_path_is_that_of_the_workflow(api: Client) -> None:
    answer = api.put("other", HELLO)

    assert answer.status == 422
    assert "'hello'" in answer.json["detail"]
    assert "/v1/workflows/hello" in answer.json["remedy"]


def test_what_is_registered_can_be_looked_at(api: Client) -> None:
    listed = {it["name"] for it in api.get("/v1/workflows").json["workflows"]}
    report = api.get("/v1/workflows/hello/report")
    drawings = {
        f: api.get(f"/v1/workflows/hello/graph?format={f}") for f in ("svg", "mermaid", "dot")
    }

    assert listed >= {"hello", "waits", "asks"}
    assert report.json["workflow"]["name"] == "hello"
    assert drawings["svg"].headers["content-type"].startswith("image/svg+xml")
    assert all(b"greet" in it.body for it in drawings.values())
    assert api.get("/v1/workflows/hello/graph?format=png").status == 422


@pytest.mark.parametrize(
    "path", ["", "/versions", "/versions/1", "/report", "/graph"]
)  # fmt: skip
def test_an_unknown_workflow_is_not_found(api: Client, path: str) -> None:
    answer = api.get(f"/v1/workflows/no_such{path}")

    assert (answer.status, answer.code) == (404, "not-found")
    assert "no_such" in answer.json["detail"]


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, "/workflow"),
        ({"workflow": 3}, "/workflow"),
        ({"workflow": "x", "documents": {"t": 1}}, "/documents/t"),
        ({"workflow": "x", "more": 1}, "/more"),
        ([], "/"),
    ],
)
def test_a_body_that_does_not_fit_is_told_by_field(api: Client, body: object, at: str) -> None:
    answer = api.send("POST", "/v1/workflows/check", json.dumps(body).encode(), **JSON)

    assert answer.status == 422
    assert [it["pointer"] for it in answer.json["errors"]] == [at]


def test_a_registered_workflow_is_called_by_its_name_and_pinned(api: Client) -> None:
    double = (
        "dagflow: 1\nname: double\nversion: '{v}'\ninputs: {{n: integer}}\nsteps:\n"
        "  by: {{transform: inputs.n * {f}}}\noutputs: {{n: '${{{{ steps.by.output }}}}'}}\n"
    )
    caller = (
        "dagflow: 1\nname: caller\nsteps:\n"
        "  latest: {workflow: {name: double}, with: {n: 21}}\n"
        "  first: {workflow: {name: double, version: '1'}, with: {n: 21}}\n"
        "outputs: {latest: '${{ steps.latest.output.n }}', first: '${{ steps.first.output.n }}'}\n"
    )
    before = api.send("PUT", "/v1/workflows/caller", caller.encode(), **YAML)
    for version, factor in (("1", "2"), ("2", "3")):
        text = double.format(v=version, f=factor)
        api.send("PUT", "/v1/workflows/double", text.encode(), **YAML)

    registered = api.send("PUT", "/v1/workflows/caller", caller.encode(), **YAML)
    run = api.post("/v1/runs", {"workflow": "caller"}, Prefer="wait=30")

    assert before.status == 422
    assert registered.status == 201
    assert run.json["run"]["outputs"] == {"latest": 63, "first": 42}
