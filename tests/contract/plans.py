"""Plans built by hand, and an evaluator that needs no expression library."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from dagflow.core.plan import (
    Constraint,
    ControlEdge,
    Expression,
    Keyed,
    Literal_,
    Plan,
    PlanStep,
    RetryPolicy,
    Value,
    steps_of,
)
from dagflow.core.run import MOVES
from dagflow.core.values import JsonObject, JsonValue, Schema


class Plain:
    """An `Evaluator` whose expressions are JSON texts, or the names of variables."""

    def evaluate(self, expression: Expression, activation: JsonObject) -> JsonValue:
        """Return the variable of that name, or else the text as JSON."""
        if expression.text in activation:
            return activation[expression.text]
        return json.loads(expression.text)

    def render(
        self, value: Value, activation: JsonObject, *, references: bool = False
    ) -> JsonValue:
        """Return a literal, or an object of rendered values."""
        match value:
            case Literal_():
                return value.literal
            case Keyed():
                return {key: self.render(item, activation) for key, item in value.entries}
        return self.evaluate(value.expression, activation)

    def fill(self, schema: Schema, value: JsonValue) -> JsonValue:
        """Fill nothing in."""
        return value

    def conform(self, schema: Schema, value: JsonValue) -> JsonValue:
        """Accept everything."""
        return value


def expression(text: str, *reads: str) -> Expression:
    """Return an expression for `Plain`."""
    return Expression(text, {}, tuple((read,) for read in reads))


def step(name: str, after: str = "", *, kind: str = "python", **fields: Any) -> PlanStep:
    """Return a step that waits for the success of those named in `after`."""
    fields.setdefault("effects", "idempotent")
    if kind == "transform":
        fields.setdefault("expressions", {"expression": expression("null")})
    edges = tuple(ControlEdge(step=before, on=("success",)) for before in after.split())
    return PlanStep(path=name, kind=kind, action="act", after=edges, **fields)


def plan(*steps: PlanStep, name: str = "p", **fields: Any) -> Plan:
    """Return a plan of these steps, in which every move of the language is listed."""
    made = Plan(name=name, version="1", steps=steps, **fields)
    moves = (Constraint(s.path, *move) for s in steps_of(made) for move in sorted(MOVES))
    return replace(made, constraints=tuple(moves))


def foreach(name: str, after: str, items: list[JsonValue], inner: PlanStep) -> PlanStep:
    """Return a foreach over a list, two items at a time; its output are the inner step's."""
    return step(
        name,
        after,
        kind="foreach",
        effects="pure",
        block=(inner,),
        body={
            "as": "item", "index": "index", "concurrency": 2, "max_items": 100, "tolerate": 0,
            "collect_step": inner.path,
        },
        expressions={"items": expression(json.dumps(items))},
    )  # fmt: skip


def child(name: str, after: str, of: Plan) -> PlanStep:
    """Return a step that runs another plan."""
    return step(
        name, after, kind="workflow", effects="once", child=of,
        body={"name": of.name, "plan": of.digest}, retry=RetryPolicy(),
    )  # fmt: skip


def wait(name: str, after: str, seconds: float) -> PlanStep:
    """Return a step that waits for a time."""
    body = {"for": seconds, "signal": None, "until": None, "expires": None, "pause_clock": False}
    return step(name, after, kind="wait", effects="pure", body=body)


def approve(name: str, after: str) -> PlanStep:
    """Return a step that asks a person."""
    return step(
        name,
        after,
        kind="approve",
        effects="pure",
        body={"expires": None, "on_expiry": "reject", "goto": None, "pause_clock": False},
        templates={"message": Literal_("go on?")},
        arguments=Literal_({"n": 1}),
    )
