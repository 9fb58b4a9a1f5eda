"""`transform`: the value of a pure expression."""

from __future__ import annotations

from dagflow.core.values import JsonValue
from dagflow.executor.steps.base import Attempt, StepContext


async def work(attempt: Attempt, context: StepContext) -> JsonValue:  # noqa: ARG001  # as every kind
    """Return the expression's value. Raises `StepError` of class `expression`."""
    from dagflow.expr.evaluate import evaluate

    return evaluate(attempt.step.expressions["expression"], attempt.activation)
