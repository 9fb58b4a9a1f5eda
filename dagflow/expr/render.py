"""The value of a template: what a `with`, an output or a message becomes when a step is ready."""

from __future__ import annotations

from collections.abc import Mapping

from dagflow.core.plan import Evaluated, Expression, Joined, Keyed, Listed, Literal_, Value
from dagflow.core.values import JsonValue
from dagflow.expr.evaluate import ExpressionError, evaluate
from dagflow.expr.functions import FunctionError, text_of


def render(value: Value, activation: Mapping[str, JsonValue]) -> JsonValue:
    """Return a template's value; raises `ExpressionError` where an expression fails.

    In text, strings are written as they are, other scalars as JSON writes them; null, a list or
    an object is an error unless it is written with `json(…)`.
    """
    match value:
        case Literal_(literal=literal):
            return literal
        case Evaluated(expression=expression):
            return evaluate(expression, activation)
        case Joined(parts=parts):
            return "".join(_text(part, activation) for part in parts)
        case Listed(items=items):
            return [render(item, activation) for item in items]
        case Keyed(entries=entries):
            return {name: render(item, activation) for name, item in entries}


def _text(part: str | Expression, activation: Mapping[str, JsonValue]) -> str:
    if isinstance(part, str):
        return part
    try:
        return text_of(evaluate(part, activation))
    except FunctionError as error:
        raise ExpressionError(str(error), part.text, 0, len(part.text)) from None
