"""The evaluator that production uses: CEL, and JSON Schema by jsonschema-rs."""

from __future__ import annotations

from dagflow.core.errors import StepError, ValueRefusedError
from dagflow.core.plan import Expression, Value
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.expr import evaluate, render
from dagflow.expr.schema import fill_defaults, validate


class Cel:
    """`Evaluator` over `dagflow.expr`."""

    def evaluate(self, expression: Expression, activation: JsonObject) -> JsonValue:
        """Return the expression's value. Raises `StepError` of class `expression`."""
        return evaluate(expression, activation)

    def render(self, value: Value, activation: JsonObject) -> JsonValue:
        """Return a template's value. Raises `StepError` of class `expression`."""
        return render(value, activation)

    def fill(self, schema: Schema, value: JsonValue) -> JsonValue:
        """Return the value with the schema's defaults where it has nothing."""
        return fill_defaults(schema, value)

    def validate(self, schema: Schema, value: JsonValue) -> None:
        """Raise `StepError` of class `schema` unless the value satisfies the schema."""
        try:
            validate(schema, value)
        except ValueRefusedError as error:
            raise StepError("schema", error.message) from error
