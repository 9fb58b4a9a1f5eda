"""What is called a simple schema is one that the validator's library accepts as it is."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagflow.compiler.source.keywords import DIALECT
from dagflow.compiler.source.simple import is_simple

META = jsonschema_rs.Draft202012Validator({"$ref": DIALECT})
VALUES = st.one_of(
    st.sampled_from(["string", "integer", "array", "strin", ""]),
    st.integers(min_value=-3, max_value=2**60),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    st.lists(st.sampled_from(["a", "b", 1]), max_size=3),
)
WORDS = st.sampled_from(
    ["type", "title", "enum", "minimum", "exclusiveMaximum", "minLength", "maxItems", "items"]
)


def schemas() -> st.SearchStrategy[Any]:
    flat = st.dictionaries(WORDS, VALUES, max_size=3)
    return st.dictionaries(WORDS, st.one_of(VALUES, flat), max_size=4)


@given(schemas())
def test_every_simple_schema_is_valid_and_can_be_used(schema: Any) -> None:
    if is_simple(schema):
        assert list(META.iter_errors(schema)) == []
        jsonschema_rs.Draft202012Validator(schema, offline=True)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 0, "maximum": 100},
        {"type": "string", "enum": ["a", "b"], "description": "one of two"},
        {"type": "array", "items": {"type": "string", "maxLength": 10}, "minItems": 1},
    ],
)
def test_what_workflows_mostly_declare_is_simple(schema: Any) -> None:
    assert is_simple(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"type": ["string", "null"]},
        {"minLength": -1},
        {"minLength": True},
        {"minimum": "0"},
        {"enum": ["a", "a"]},
        {"pattern": "^a"},
        {"default": 1},
        {"$ref": "#"},
        {"items": {"type": 3}},
    ],
)
def test_whatever_may_be_wrong_is_left_to_the_validator(schema: Any) -> None:
    assert not is_simple(schema)
