"""Documents with anything anywhere: an operation compiles or is refused, and nothing else."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagflow.core.tool import Tool
from dagflow.core.values import canonical, digest
from dagflow.tools.document import load_tool
from dagflow.tools.read import DocumentError

REFERENCES = st.sampled_from(
    [
        {"$ref": text}
        for text in (
            "#/components/schemas/A", "#/components/schemas/B", "#/paths", "#", "#/", "",
            "#/components/parameters/P", "x.yaml", "#/components/schemas/A/properties/b", "#a",
        )
    ]
)  # fmt: skip
JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(["", "object", "array", "string", "deepObject", "{", "/..", "2XX", "\0"]),
        REFERENCES,
    ),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["type", "items", "properties", "allOf", "oneOf", "$ref", "in", "name", "schema",
             "content", "style", "application/json", "url", "variables", "flows", "enum"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=6,
)  # fmt: skip

SCHEMA_A = {
    "type": "object",
    "required": ["b"],
    "properties": {"b": {"$ref": "#/components/schemas/B"}, "id": {"readOnly": True}},
    "oneOf": [{"$ref": "#/components/schemas/B"}, {"type": "object"}],
}
SCHEMA_B = {"allOf": [{"$ref": "#/components/schemas/A"}, {"enum": [1, None], "nullable": True}]}
OPERATION = {
    "operationId": "op",
    "summary": "s",
    "parameters": [
        {"$ref": "#/components/parameters/P"},
        {"in": "query", "name": "o", "style": "deepObject", "schema": {"type": "object"}},
        {"in": "header", "name": "h", "schema": {"type": "array", "items": {"type": "string"}}},
    ],
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {"properties": {"f": {"type": "string", "format": "binary"}}},
                "encoding": {"f": {"contentType": "image/png"}},
            }
        },
    },
    "responses": {
        "200": {
            "headers": {"X-A": {}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}},
        }
    },
    "security": [{"s": ["x"]}],
    "servers": [{"url": "https://{r}.h", "variables": {"r": {"default": "a", "enum": ["a"]}}}],
}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "servers": [{"url": "https://h"}],
    "paths": {"/x/{id}": {"parameters": [], "post": OPERATION}},
    "components": {
        "schemas": {"A": SCHEMA_A, "B": SCHEMA_B},
        "parameters": {
            "P": {"in": "path", "name": "id", "required": True, "schema": {"type": "string"}}
        },
        "securitySchemes": {
            "s": {
                "type": "oauth2",
                "flows": {"clientCredentials": {"tokenUrl": "https://t", "scopes": {"x": ""}}},
            }
        },
    },
    "security": [],
}


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value)
    found = [at] if at else []
    for key, child in children:
        found += places(child, (*at, key)) if isinstance(child, dict | list) else [(*at, key)]
    return found


PLACES = places(DOCUMENT)


def test_the_document_itself_is_fine() -> None:
    made = load_tool("t", json.dumps(DOCUMENT), location="t.json")

    assert list(made.operations) == ["t.POST /x/{id}"]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from(PLACES), JUNK), min_size=1, max_size=3),
    st.sampled_from(["3.0.3", "3.1.0"]),
)
def test_junk_anywhere_refuses_at_most_what_it_touches(
    changes: list[tuple[tuple[Any, ...], Any]], version: str
) -> None:
    root = copy.deepcopy({**DOCUMENT, "openapi": version})
    for place, junk in changes:
        put(root, place, junk)

    made = loaded(root)
    if made is None:
        return
    ids = {id_ for ids in made.names.values() for id_ in ids}
    assert set(made.operations) | set(made.refusals) == ids
    for operation in made.operations.values():
        assert digest(operation.wire)
        assert json.loads(canonical(operation.wire)) == operation.wire
    assert all(problem.message for problem in made.refusals.values())


def loaded(root: Any) -> Tool | None:
    with contextlib.suppress(DocumentError):
        return load_tool("t", json.dumps(root), location="t.json")
    return None


def put(root: Any, place: tuple[Any, ...], junk: Any) -> None:
    """Put junk at a place, if earlier junk hasn't taken the way there."""
    for key in place[:-1]:
        try:
            root = root[key]
        except (KeyError, IndexError, TypeError):
            return
    if (isinstance(root, dict) and place[-1] in root) or (
        isinstance(root, list) and isinstance(place[-1], int) and place[-1] < len(root)
    ):
        root[place[-1]] = junk
