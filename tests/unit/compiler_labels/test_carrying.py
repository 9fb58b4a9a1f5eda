"""Which types leave an attacker no room for words of their own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagflow.compiler.proofs.labels.carrying import carries, is_narrow
from dagflow.core.values import Schema

TEXT: Schema = {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer"}, {"type": "boolean"}, {"type": "null"}, {"enum": ["a", "b"]},
        {"const": "x"}, {"type": "string", "format": "uuid"},
        {"type": "array", "items": {"type": "number"}},
        {"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}, {"type": ["integer", "null"]},
        {"anyOf": [{"type": "integer"}, {"enum": ["x"]}]},
        {"allOf": [TEXT, {"enum": ["x", "y"]}]},
        {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False},
        False,
    ],
)  # fmt: skip
def test_type_without_free_text_carries_none(schema: Schema) -> None:
    assert not carries(schema)


@pytest.mark.parametrize(
    "schema",
    [
        True, {}, TEXT, {"type": ["string", "null"]}, {"type": "string", "maxLength": 5},
        {"type": "string", "format": "uri"}, {"type": "string", "format": "email"},
        {"type": "string", "pattern": "^.+$"}, {"type": "array"}, {"type": "array", "items": TEXT},
        {"type": "object"}, {"type": "object", "properties": {"n": {"type": "integer"}}},
        {"type": "object", "properties": {"t": TEXT}, "additionalProperties": False},
        {"anyOf": [{"type": "integer"}, TEXT]},
        {"$ref": "#/$defs/t", "$defs": {"t": TEXT}},
    ],
)  # fmt: skip
def test_type_with_free_text_carries_it(schema: Schema) -> None:
    assert carries(schema)


@pytest.mark.parametrize(
    ("pattern", "narrow"),
    [
        ("^[a-z]+$", True), ("^\\w{3}-[0-9]+$", True), ("^(a|b)$", True), ("^v\\d+\\.\\d+$", True),
        ("[a-z]+", False), ("^[a-z]+", False), ("^a|b$", False), ("^[^;]+$", False),
        ("^.*$", False), ("^[ -~]+$", False), ("^[A-z]+$", False), ("^\\S+$", False),
        ("^[a-z ]+$", False), ("^(?s:.)$", False), ("^[[:print:]]+$", False),
    ],
)  # fmt: skip
def test_pattern_is_narrow_when_it_lets_only_letters_and_digits_through(
    pattern: str, narrow: bool
) -> None:
    assert is_narrow(pattern) is narrow


@given(
    st.text("^$[]()az09AZ-_.:\\dw+*?{}|, ;'\"\n", max_size=12),
    st.text("aZ0-_.: ;'\"\n", max_size=4),
)
def test_text_that_a_narrow_pattern_matches_holds_nothing_else(middle: str, text: str) -> None:
    pattern = f"^{middle}$"
    if is_narrow(pattern):
        try:
            matched = re.search(pattern.removesuffix("$") + r"\Z", text)
        except re.error:
            return

        assert not matched or re.fullmatch(r"[\w.:-]*", text, re.ASCII)
