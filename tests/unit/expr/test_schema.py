from __future__ import annotations

import pytest

from dagflow.core.errors import UsageError
from dagflow.core.values import JsonValue, Schema
from dagflow.expr import explain, fill_defaults, normalised, unusable, validate
from tests.unit.expr.scopes import INT, NUMBER, TEXT, record


def test_a_value_that_fits_has_no_violation() -> None:
    assert validate(record(a=INT), {"a": 1}) is None
    assert validate(True, {"anything": [None]}) is None


@pytest.mark.parametrize("judge", [validate, explain])
@pytest.mark.parametrize(
    ("schema", "value", "pointer", "words"),
    [
        (record(a=INT), {"a": "x"}, "/a", "integer"),
        (record(a=INT), {}, "", "required"),
        (
            {"type": "array", "items": record(**{"b/c": TEXT})},
            [{"b/c": "x"}, {"b/c": 1}],
            "/1/b~1c",
            "string",
        ),
        ({"enum": ["a"]}, "b", "", "b"),
        (False, 1, "", "1"),
    ],
)
def test_a_violation_has_its_place_and_its_words(
    judge: object, schema: Schema, value: JsonValue, pointer: str, words: str
) -> None:
    violation = judge(schema, value)  # type: ignore[operator]

    assert violation.pointer == pointer
    assert words in violation.message


def test_a_number_that_is_a_whole_float_is_an_integer() -> None:
    assert validate(INT, 1.0) is None
    assert validate(INT, 1.5) is not None


@pytest.mark.parametrize(
    "reference", ["https://example.com/s.json", "file:///etc/passwd", "other.json"]
)
def test_nothing_is_ever_fetched(reference: str) -> None:
    assert unusable({"$ref": reference}) is not None
    with pytest.raises(UsageError, match="can't be used"):
        validate({"$ref": reference}, 1)


@pytest.mark.parametrize(
    "schema", [{"type": "strin"}, {"pattern": "(?=a)"}, {"pattern": "(a)\\1"}, {"minLength": -1}]
)
def test_a_schema_that_cannot_be_used_says_why(schema: Schema) -> None:
    words = unusable(schema)

    assert words is not None
    assert "the schema can't be used: " in words


def test_a_schema_that_can_be_used_says_nothing() -> None:
    assert unusable(record(a=INT)) is None


def test_a_hostile_pattern_takes_linear_time() -> None:
    assert validate({"pattern": "^(a+)+$"}, "a" * 20_000 + "b") is not None
    assert explain({"pattern": "^(a+)+$"}, "a" * 20_000 + "b") is not None


def test_a_compiled_schema_is_found_again_by_content() -> None:
    for _ in range(3):
        assert validate({"type": "string", "maxLength": 2}, "abc") is not None


def test_a_schema_that_took_the_place_of_another_is_not_mistaken_for_it() -> None:
    for maximum in range(3000):  # objects at one address, one after the other
        schema: Schema = {"maximum": maximum}
        assert validate(schema, maximum) is None
        assert validate(schema, maximum + 1) is not None


def test_defaults_are_filled_in_at_every_depth() -> None:
    inner: Schema = {"type": "object", "properties": {"b": {"default": [1]}}}
    schema: Schema = {
        "properties": {
            "a": {"default": 5},
            "o": inner,
            "l": {"items": {"$ref": "#/$defs/inner"}},
            "made": {"default": {}, "properties": {"c": {"default": None}}},
        },
        "$defs": {"inner": inner},
    }
    value: JsonValue = {"o": {}, "l": [{}, {"b": 2}]}

    filled = fill_defaults(schema, value)

    assert filled == {"a": 5, "o": {"b": [1]}, "l": [{"b": [1]}, {"b": 2}], "made": {"c": None}}
    assert value == {"o": {}, "l": [{}, {"b": 2}]}


def test_a_default_is_copied_each_time() -> None:
    schema: Schema = {"properties": {"a": {"default": []}}}

    first = fill_defaults(schema, {})
    first["a"].append(1)  # type: ignore[index, call-overload, union-attr]

    assert fill_defaults(schema, {}) == {"a": []}


def test_null_is_not_absence() -> None:
    assert fill_defaults({"properties": {"a": {"default": 1}}}, {"a": None}) == {"a": None}


def test_a_whole_float_becomes_an_integer_where_one_is_asked_for() -> None:
    schema = record(
        i=INT, n=NUMBER, l={"type": "array", "items": INT}, u={"type": ["integer", "null"]}
    )

    found = normalised(schema, {"i": 1.0, "n": 2.0, "l": [3.0], "u": 4.0, "x": 5.0})

    assert repr(found) == "{'i': 1, 'n': 2.0, 'l': [3], 'u': 4, 'x': 5.0}"
