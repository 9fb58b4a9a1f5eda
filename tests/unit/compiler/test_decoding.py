from __future__ import annotations

import time

import pytest

from dagflow.compiler.outputs import closed
from dagflow.compiler.types.decoding import troubles
from dagflow.core import decodable
from dagflow.core.longest import longest
from dagflow.core.values import JsonObject, JsonValue, Schema

SHORT: JsonObject = {"type": "string", "maxLength": 10}


def messages(schema: Schema, tokens: int = 512) -> list[str]:
    return [trouble.message for trouble in troubles(schema, tokens)]


@pytest.mark.parametrize(
    "schema",
    [
        closed({"a": SHORT, "b": {"enum": ["x", "y"]}, "c": {"type": "integer"}}),
        {"type": "array", "items": SHORT, "maxItems": 3},
        {"type": "string", "format": "date-time"},
        {"anyOf": [SHORT, {"type": "null"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": SHORT}},
        {"type": "boolean"},
        {"$ref": "#/$defs/a", "maxLength": 5, "$defs": {"a": {"type": "string"}}},
        {"$ref": "#/$defs/a%20b", "$defs": {"a b": SHORT}},
        {"$ref": "#/$defs/a", "const": 1, "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"allOf": [{"type": "string"}, {"maxLength": 5}]},
        {"type": "string", "anyOf": [{"maxLength": 5}, {"format": "date"}]},
        {"anyOf": [{"type": "string"}, {"type": "null"}], "maxLength": 5},
        {"type": "array", "prefixItems": [SHORT], "items": False},
        {"type": "array", "prefixItems": [SHORT], "maxItems": 1},
        {"type": "array", "maxItems": 0},
        {"$ref": "#/$defs/a", "items": SHORT, "$defs": {"a": {"type": "array", "maxItems": 2}}},
        {**closed({"a": {"type": "string"}}), "allOf": [{"properties": {"a": {"maxLength": 5}}}]},
    ],
)
def test_bounded_schema_in_the_subset_is_fine(schema: Schema) -> None:
    assert messages(schema) == []


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string"}, "the text the answer has no `maxLength`"),
        (closed({"a": {"type": "string"}}), "the text 'a' has no `maxLength`"),
        ({"type": "array", "items": SHORT}, "has no `maxItems`"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 2}, "'[]' has no `maxLength`"),
        ({"type": "object"}, "may have any keys"),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"type": "string"}}}, "has no `maxLength`"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {}}, **closed({"x": {"type": "string"}})}, "'x'"),
        (closed({"a": {"properties": {"x": SHORT}}}), "'a' may be anything"),
        (closed({"a": {"allOf": [{"minimum": 1}]}}), "'a' may be anything"),
        ({"not": SHORT}, "`not` can't be kept"),
        (closed({"a": {"type": "array", "maxItems": 2, "uniqueItems": True}}), "`uniqueItems`"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [SHORT, {"$ref": "#/$defs/a"}]}}}, "ever"),
        (closed({"a": {"type": "string", "maxLength": 9000}}), "it may be cut"),
    ],
)
def test_what_can_not_be_held_or_need_not_end_is_said(schema: Schema, said: str) -> None:
    assert any(said in message for message in messages(schema)), messages(schema)


SAME: list[list[JsonObject]] = [
    [
        {"items": True},
        {"items": {}},
        {},
        {"items": {"title": "x"}},
        {"items": {"$ref": "#/$defs/a"}},
    ],
    [
        {"items": {"type": "string", "maxLength": 5}},
        {"items": {"$ref": "#/$defs/text", "maxLength": 5}},
        {"items": {"allOf": [{"$ref": "#/$defs/text"}, {"maxLength": 5}]}},
        {"items": {"anyOf": [{"$ref": "#/$defs/text"}], "maxLength": 5}},
        {"$ref": "#/$defs/list", "items": {"type": "string", "maxLength": 5}},
        {"allOf": [{"$ref": "#/$defs/list"}, {"items": {"maxLength": 5}}]},
    ],
    [
        {"prefixItems": [SHORT], "items": False},
        {"prefixItems": [{"$ref": "#/$defs/short"}], "items": False},
    ],
]
DEFS: JsonObject = {
    "a": {},
    "text": {"type": "string"},
    "short": SHORT,
    "list": {"type": "array", "items": {"type": "string"}},
}


@pytest.mark.parametrize("same", SAME)
def test_what_means_the_same_has_the_same_verdict(same: list[JsonObject]) -> None:
    lists: list[Schema] = [
        closed({"a": {"type": "array", "maxItems": 3, **one}}) | {"$defs": DEFS} for one in same
    ]

    assert len({tuple(messages(one)) for one in lists}) == 1
    assert len({longest(one) for one in lists}) == 1


def test_schema_whose_parts_hold_together_in_ever_new_ways_is_given_up() -> None:
    def both(*numbers: int) -> JsonObject:
        return {"allOf": [{"$ref": f"#/$defs/t{number % 40}"} for number in numbers]}

    every: JsonObject = {
        f"t{n}": closed({"p": both(n * 2, n + 1), "q": both(n * 3 + 1, n)}) for n in range(40)
    }
    began = time.process_time()

    messages({"$ref": "#/$defs/t1", "$defs": every})

    assert time.process_time() - began < 5


KEYWORDS: list[tuple[JsonObject, bool]] = [
    ({"minProperties": 1}, True),
    ({"maxProperties": 1}, True),
    ({"required": ["a"]}, True),
    ({"minItems": 1}, True),
    ({"prefixItems": [SHORT]}, True),
    ({"uniqueItems": False}, True),
    ({"multipleOf": 2}, True),
    ({"pattern": "^a+$"}, True),
    ({"$comment": "x"}, True),
    ({"allOf": [SHORT]}, True),
    ({"oneOf": [SHORT]}, True),
    ({"uniqueItems": True}, False),
    ({"contains": SHORT}, False),
    ({"minContains": 1}, False),
    ({"maxContains": 1}, False),
    ({"unevaluatedItems": False}, False),
    ({"unevaluatedProperties": False}, False),
    ({"patternProperties": {"a": SHORT}}, False),
    ({"propertyNames": SHORT}, False),
    ({"dependentRequired": {"a": ["b"]}}, False),
    ({"dependentSchemas": {"a": SHORT}}, False),
    ({"not": SHORT}, False),
    ({"if": SHORT}, False),
    ({"then": SHORT}, False),
    ({"else": SHORT}, False),
    ({"$dynamicRef": "#x"}, False),
    ({"pattern": "(?=a)b"}, False),
    ({"$ref": "https://example.com/x"}, False),
]
KINDS: list[JsonObject] = [
    closed({"a": SHORT}),
    {"type": "array", "items": SHORT, "maxItems": 2},
    {"type": "integer"},
    SHORT,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind["type"]))
@pytest.mark.parametrize(("keyword", "is_kept"), KEYWORDS, ids=str)
def test_the_check_refuses_what_the_decoder_refuses(
    kind: JsonObject, keyword: JsonObject, is_kept: bool
) -> None:
    schema = closed({"inner": {**kind, **keyword}})

    (name,) = keyword
    wanted = [] if is_kept else [("inner", f"`{name}` can't be kept while a model writes")]
    assert [(t.field, t.message) for t in troubles(schema, 512) if t.is_error] == wanted
    assert decodable.unsupported(schema) == (() if is_kept else (f"/properties/inner/{name}",))


def test_every_keyword_outside_the_subset_is_tried() -> None:
    tried = {name for keyword, is_kept in KEYWORDS if not is_kept for name in keyword}

    assert tried >= decodable.UNSUPPORTED - {"dependencies", "$recursiveRef"}  # of older drafts


class Counted(dict[str, JsonValue]):
    """A schema that counts how often it is looked at."""

    looks = 0

    def get(self, key: str, default: JsonValue = None) -> JsonValue:  # type: ignore[override]
        Counted.looks += key == "properties"
        return super().get(key, default)


def holding_each_other(names: int) -> Schema:
    """Return a schema of objects that each hold every one of them, and no other."""
    fields: dict[str, Schema] = {f"f{n}": {"$ref": f"#/$defs/t{n}"} for n in range(names)}
    every: JsonObject = {f"t{n}": Counted(closed(fields)) for n in range(names)}
    return {"$ref": "#/$defs/t0", "$defs": every}


def doubling(levels: int) -> Schema:
    """Return a schema that doubles at each level."""
    every: JsonObject = {f"t{levels}": {"type": "null"}}
    for n in range(levels):
        every[f"t{n}"] = Counted(closed({name: {"$ref": f"#/$defs/t{n + 1}"} for name in "ab"}))
    return {"$ref": "#/$defs/t0", "$defs": every}


@pytest.mark.parametrize("schema", [holding_each_other(20), doubling(30)])
def test_each_part_of_a_schema_is_looked_at_a_few_times(schema: Schema) -> None:
    Counted.looks = 0

    found = messages(schema)

    assert any(
        "go on for ever: it holds itself" in text or "it may be cut" in text for text in found
    )
    assert 20 <= Counted.looks <= 6 * 30


def test_part_that_holds_itself_is_told_once() -> None:
    assert len(messages(holding_each_other(1))) == 1
    assert len(messages(closed({"a": {"$ref": "#"}, "b": {"$ref": "#"}}))) == 1


def test_long_chain_of_references_is_told_and_not_followed_to_its_end() -> None:
    links: JsonObject = {f"t{n}": {"$ref": f"#/$defs/t{n + 1}"} for n in range(5000)}

    (only,) = messages({"$ref": "#/$defs/t0", "$defs": {**links, "t5000": SHORT}})

    assert only == "the answer can go on for ever: it is more than 64 levels deep"
