"""What the state machine asks of expressions and schemas: a seam, and CEL behind it."""

from __future__ import annotations

from typing import Protocol

from dagflow.core.errors import ErrorClass, StepError
from dagflow.core.plan import Expression, Value
from dagflow.core.values import JsonObject, JsonValue, Schema


class Evaluator(Protocol):
    """Evaluates the plan's expressions over plain values."""

    def evaluate(self, expression: Expression, activation: JsonObject) -> JsonValue:
        """Return the expression's value. Raises `StepError` of class `expression`."""
        ...

    def render(
        self, value: Value, activation: JsonObject, *, references: bool = False
    ) -> JsonValue:
        """Return a template's value. Raises `StepError` of class `expression`.

        With `references`, everything in it but its secrets is `guarded`.
        """
        ...

    def fill(self, schema: Schema, value: JsonValue) -> JsonValue:
        """Return the value with the schema's defaults where it has nothing."""
        ...

    def conform(self, schema: Schema, value: JsonValue) -> JsonValue:
        """Return a value that satisfies the schema, 1.0 as 1 where it asks for an integer.

        Raises `StepError` of class `schema` for one that doesn't.
        """
        ...


def truth(
    evaluator: Evaluator,
    expression: Expression,
    activation: JsonObject,
    error_class: ErrorClass = "guard",
) -> bool:
    """Return whether a condition holds. Raises `StepError` of that class when it has no value."""
    try:
        value = evaluator.evaluate(expression, activation)
    except StepError as error:
        raise StepError(error_class, error.message, remedy=error.remedy) from error
    if not isinstance(value, bool):
        kind = type(value).__name__
        raise StepError(error_class, f"`{expression.text}` is neither true nor false but a {kind}")
    return value
