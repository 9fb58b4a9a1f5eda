from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagflow.compiler.source.json_schema import workflow_schema, workflow_schema_text
from dagflow.compiler.source.parse import parse
from dagflow.compiler.source.yaml import compose
from dagflow.core.findings import Severity
from dagflow.core.node import plain
from dagflow.core.source import Source
from dagflow.core.steps import KINDS
from dagflow.core.values import JsonValue

from .cases import REPOSITORY
from .reading import step
from .test_parse import FULL, MISTAKES

PUBLISHED = REPOSITORY / "schemas" / "workflow.v1.json"
VALIDATOR = jsonschema_rs.Draft7Validator(workflow_schema())
WHOLE = FULL.read_text(encoding="utf-8")


def loaded(text: str) -> JsonValue:
    root = compose(Source("w.yaml", text)).root
    assert root is not None
    return plain(root)


def refused(text: str) -> bool:
    return any(it.severity is Severity.ERROR for it in parse(Source("w.yaml", text)).findings)


def test_the_published_file_is_what_the_shapes_say() -> None:
    said = PUBLISHED.read_text(encoding="utf-8")

    assert said == workflow_schema_text(), (
        "run: python -m dagflow.compiler.source.json_schema > schemas/workflow.v1.json"
    )


def test_the_schema_is_valid_draft_7_and_accepts_a_workflow_with_every_key_and_kind() -> None:
    jsonschema_rs.Draft7Validator({"$ref": "http://json-schema.org/draft-07/schema#"}).validate(
        workflow_schema()
    )

    assert [it.message for it in VALIDATOR.iter_errors(loaded(WHOLE))] == []


def test_every_key_of_a_step_says_what_it_is_for() -> None:
    step_schema = workflow_schema()["definitions"]["step"]  # type: ignore[index, call-overload]
    properties = step_schema["properties"]  # type: ignore[index, call-overload]

    assert set(KINDS) < set(properties)
    assert all(it["markdownDescription"] for it in properties.values())


@pytest.mark.parametrize("body", [it[0] for it in MISTAKES])
def test_a_mistake_that_the_schema_sees_is_one_that_the_parser_sees(body: str) -> None:
    text = step(body)

    assert refused(text) or VALIDATOR.is_valid(loaded(text))


def test_the_schema_sees_most_mistakes() -> None:
    seen = [body for body, *_ in MISTAKES if not VALIDATOR.is_valid(loaded(step(body)))]

    assert len(seen) > len(MISTAKES) / 2


SCRAPS: list[JsonValue] = [
    None, True, 0, -1, 1, 3.5, 10**12, "", "x", "x y", "5s", "128MiB", "10MB/s", "${{ inputs.a }}",
    "all", "success", "string", "string?", "timeout", [], ["x"], [{}], {}, {"x": "y"},
    {"step": "x"},
    {"schema": "string"}, {"type": "string"}, {"attempts": 2}, {"on": "timeout", "goto": "x"},
    {"transform": "x"}, {"a": {"transform": "x"}}, {"at_least": 1}, [{"when": "x", "then": "y"}],
]  # fmt: skip
WORDS = sorted(set(re.findall(r"[a-z_]{2,}", WHOLE)))


def places(value: JsonValue) -> Iterator[tuple[list[object], JsonValue]]:
    """Yield every mapping or list of a document with its path."""
    stack: list[tuple[list[object], JsonValue]] = [([], value)]
    while stack:
        path, item = stack.pop()
        if isinstance(item, dict):
            yield path, item
            stack.extend(([*path, key], inner) for key, inner in item.items())
        elif isinstance(item, list):
            yield path, item
            stack.extend(([*path, index], inner) for index, inner in enumerate(item))


def mutate(draw: st.DrawFn, document: JsonValue) -> None:
    """Change one thing: replace, remove, rename or add."""
    _, target = draw(st.sampled_from([it for it in places(document) if it[1]]))
    scrap = deepcopy(draw(st.sampled_from(SCRAPS)))
    if isinstance(target, list):
        target[draw(st.integers(0, len(target) - 1))] = scrap
        return
    assert isinstance(target, dict)
    key = draw(st.sampled_from(sorted(target)))
    what = draw(st.sampled_from(["replace", "remove", "rename", "add"]))
    if what == "replace":
        target[key] = scrap
    elif what == "add":
        target[draw(st.sampled_from(WORDS))] = scrap
    else:
        value = target.pop(key)
        if what == "rename":
            target[draw(st.sampled_from(WORDS))] = value


@st.composite
def mutants(draw: st.DrawFn) -> JsonValue:
    document = loaded(WHOLE)
    for _ in range(draw(st.integers(1, 2))):
        mutate(draw, document)
    return document


@settings(max_examples=100, deadline=None)
@given(mutants())
def test_what_the_schema_rejects_the_parser_rejects(document: JsonValue) -> None:
    text = json.dumps(document, ensure_ascii=False)

    if not VALIDATOR.is_valid(document):
        assert refused(text), [it.message for it in VALIDATOR.iter_errors(document)]


def test_the_generator_is_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    import runpy
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the module has been imported already
        runpy.run_module("dagflow.compiler.source.json_schema", run_name="__main__")

    assert json.loads(capsys.readouterr().out) == workflow_schema()
    assert Path(PUBLISHED).is_file()
