"""The scope that the tests of expressions share, and values that fit it."""

from __future__ import annotations

from dagflow.core.plan import Expression
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.expr import Checked, Problem, Scope, check, step_view
from dagflow.expr.evaluate import evaluate


def record(**properties: Schema) -> JsonObject:
    """Return a closed object; a name that ends in `_` is optional."""
    names = {name.rstrip("_"): schema for name, schema in properties.items()}
    required: list[JsonValue] = [name for name in properties if not name.endswith("_")]
    return {
        "type": "object",
        "properties": dict(names),
        "required": required,
        "additionalProperties": False,
    }


TEXT: JsonObject = {"type": "string"}
INT: JsonObject = {"type": "integer"}
NUMBER: JsonObject = {"type": "number"}
TREE: JsonObject = {
    "$ref": "#/$defs/tree",
    "$defs": {"tree": record(v=INT, kids={"type": "array", "items": {"$ref": "#/$defs/tree"}})},
}
OUTPUT = record(
    body=TEXT,
    count=INT,
    price=NUMBER,
    note={"type": ["string", "null"]},
    extra_=TEXT,
    severity={"enum": ["low", "high"]},
    items={"type": "array", "items": record(name=TEXT, price=NUMBER)},
    maybe={"type": "array", "items": {"type": ["integer", "null"]}},
    tree=TREE,
    free=True,
)
SCOPE = Scope(
    {
        "inputs": record(
            x=INT, text=TEXT, flag={"type": "boolean"}, divisor={"type": "integer", "minimum": 1}
        ),
        "steps": {
            "type": "object",
            "properties": {
                "fetch": step_view(OUTPUT),
                "my-step": step_view(INT),
                "loop": step_view({"type": "array", "items": INT}, foreach=True),
            },
            "additionalProperties": False,
        },
        "secrets": record(TOKEN=TEXT),
    }
)
FETCHED: JsonObject = {
    "body": "hello",
    "count": 3,
    "price": 2.5,
    "note": None,
    "severity": "high",
    "items": [{"name": "a", "price": 1}, {"name": "b", "price": 2.5}],
    "maybe": [1, None],
    "tree": {"v": 1, "kids": []},
    "free": {"deep": [1]},
}
VALUES: JsonObject = {
    "inputs": {"x": 5, "text": "abc", "flag": True, "divisor": 2},
    "steps": {
        "fetch": {"status": "succeeded", "output": FETCHED},
        "my-step": {"status": "skipped", "reason": "guard"},
        "loop": {"status": "succeeded", "output": [1, 2, 3], "errors": []},
    },
    "secrets": {"TOKEN": "t"},
}


def checked(text: str, scope: Scope = SCOPE) -> Checked:
    """Return the checked expression; fails where there is a problem."""
    found = check(text, scope)
    assert isinstance(found, Checked), found
    return found


def problems(
    text: str, scope: Scope = SCOPE, expected: Schema | None = None
) -> tuple[Problem, ...]:
    """Return the problems of an expression; fails where there is none."""
    found = check(text, scope, expected=expected)
    assert isinstance(found, tuple), found
    return found


def expression(text: str, scope: Scope = SCOPE) -> Expression:
    """Return what a plan would store."""
    found = checked(text, scope)
    return Expression(text, found.ast, found.paths)


def value_of(text: str, values: JsonObject = VALUES, scope: Scope = SCOPE) -> JsonValue:
    """Check and evaluate."""
    return evaluate(expression(text, scope), values)
