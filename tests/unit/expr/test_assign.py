from __future__ import annotations

import pytest

from dagflow.core.values import Schema
from dagflow.expr import fits, misfit, validate, witness
from tests.unit.expr.scopes import INT, NUMBER, TEXT, TREE, record

LOW_HIGH: Schema = {"enum": ["low", "high"]}


@pytest.mark.parametrize(
    ("producer", "consumer"),
    [
        (INT, INT),
        (INT, NUMBER),
        (INT, True),
        (True, {}),
        (False, INT),
        ({"const": "low"}, LOW_HIGH),
        (LOW_HIGH, TEXT),
        (record(a=INT, b=TEXT), {"type": "object", "required": ["a"]}),
        (record(a=INT), record(a=INT, b_=TEXT)),
        ({"type": "string", "maxLength": 3}, {"type": "string", "maxLength": 5}),
        ({"type": "integer", "minimum": 3}, {"type": "number", "minimum": 1}),
        ({"type": "array", "items": INT}, {"type": "array", "items": NUMBER}),
        (TREE, TREE),
        ({"type": "string", "description": "a"}, {"type": "string", "title": "b"}),
        (record(title=INT), record(title=NUMBER)),
    ],
)
def test_what_always_fits_is_a_yes(producer: Schema, consumer: Schema) -> None:
    assert fits(producer, consumer) == "yes"


@pytest.mark.parametrize(
    ("producer", "consumer", "words"),
    [
        (TEXT, INT, "is a string, not an integer"),
        (NUMBER, INT, "is a number, not an integer"),
        ({"type": ["string", "null"]}, TEXT, "is null or a string, not a string"),
        ({"enum": ["low", "mid"]}, LOW_HIGH, 'may be "mid", and must be "low" or "high"'),
        (TEXT, LOW_HIGH, 'may be any of a string, not only "low" or "high"'),
        (record(a=TEXT), record(a=INT), "`a` is a string, not an integer"),
        (record(a_=INT), record(a=INT), "`a` is required and may be absent"),
        (record(), record(a=INT), "`a` is required and not there"),
        (record(a=INT, b=INT), record(a=INT), "`b` is not allowed; allowed is a"),
        (
            record(body=record(items={"type": "array", "items": record(id=INT)})),
            record(body=record(items={"type": "array", "items": record(id=TEXT)})),
            "`body.items[].id` is an integer, not a string",
        ),
        (
            TEXT,
            {"type": "string", "maxLength": 5},
            "must have at most this length: 5, it has no such bound",
        ),
        (
            {"type": "integer", "minimum": 0},
            {"type": "integer", "minimum": 1},
            "must have at least the value 1, its own is 0",
        ),
    ],
)
def test_what_does_not_fit_is_a_no_with_its_place(
    producer: Schema, consumer: Schema, words: str
) -> None:
    assert fits(producer, consumer) == "no"
    assert misfit(producer, consumer) == words
    shown = witness(producer, consumer)
    assert shown is not None
    assert validate(producer, shown.value) is None
    assert validate(consumer, shown.value) is not None


@pytest.mark.parametrize(
    ("producer", "consumer"),
    [
        (True, {"$ref": "https://example.com/x"}),
        ({"type": "strin"}, INT),
        ({"enum": [f"{n:0>40}" for n in range(2000)]}, {"type": "string", "minLength": 40}),
    ],
)
def test_what_cannot_be_decided_is_unknown(producer: Schema, consumer: Schema) -> None:
    assert fits(producer, consumer) == "unknown"


def test_a_property_that_is_called_like_prose_is_kept() -> None:
    assert fits(record(description=TEXT), record(description=INT)) == "no"


def test_a_constant_that_holds_prose_is_kept() -> None:
    assert fits({"const": {"title": "a"}}, {"const": {"title": "b"}}) == "no"
