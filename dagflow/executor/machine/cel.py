"""The evaluator that production uses: CEL, and JSON Schema by jsonschema-rs."""

from __future__ import annotations

from dagflow.core.errors import StepError
from dagflow.core.plan import Expression, Value
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.expr.evaluate import evaluate
from dagflow.expr.render import render
from dagflow.expr.schema import fill_defaults, normalised, validate


class Cel:
    """`Evaluator` over `dagflow.expr`."""

    def evaluate(self, expression: Expression, activation: JsonObject) -> JsonValue:
        """Return the expression's value. Raises `StepError` of class `expression`."""
        return evaluate(expression, activation)

    def render(
        self, value: Value, activation: JsonObject, *, references: bool = False
    ) -> JsonValue:
        """Return a template's value. Raises `StepError` of class `expression`."""
        return render(value, activation, references=references)

    def fill(self, schema: Schema, value: JsonValue) -> JsonValue:
        """Return the value with the schema's defaults where it has nothing."""
        return fill_defaults(schema, value)

    def conform(self, schema: Schema, value: JsonValue) -> JsonValue:
        """Return the value, whole numbers as integers. Raises `StepError` of class `schema`."""
        value = normalised(schema, value)
        violation = validate(schema, value)
        if violation is not None:
            raise StepError("schema", str(violation))
        return value
