"""The value of a template: what a `with`, an output or a message becomes when a step is ready."""

from __future__ import annotations

from collections.abc import Mapping

from dagflow.core.plan import Evaluated, Expression, Joined, Keyed, Listed, Literal_, Value
from dagflow.core.references import guarded, guarded_text
from dagflow.core.values import JsonValue
from dagflow.expr.evaluate import ExpressionError, evaluate
from dagflow.expr.functions import FunctionError, text_of


def render(
    value: Value, activation: Mapping[str, JsonValue], *, references: bool = False
) -> JsonValue:
    """Return a template's value; raises `ExpressionError` where an expression fails.

    In text, strings are written as they are, other scalars as JSON writes them; null, a list or
    an object is an error unless it is written with `json(…)`. With `references`, secrets stand in
    the value as references, and everything else as `guarded` writes it.
    """
    match value:
        case Literal_(literal=literal):
            return guarded(literal) if references else literal
        case Evaluated(expression=expression):
            found = evaluate(expression, activation)
            return guarded(found) if references and not _is_secret(expression) else found
        case Joined(parts=parts):
            return "".join(_text(part, activation, references) for part in parts)
        case Listed(items=items):
            return [render(item, activation, references=references) for item in items]
        case Keyed(entries=entries):
            return {n: render(item, activation, references=references) for n, item in entries}


def _text(
    part: str | Expression,
    activation: Mapping[str, JsonValue],
    references: bool,  # as in `render`
) -> str:
    if isinstance(part, str):
        return guarded_text(part) if references else part
    try:
        text = text_of(evaluate(part, activation))
    except FunctionError as error:
        raise ExpressionError(str(error), part.text, 0, len(part.text)) from None
    return guarded_text(text) if references and not _is_secret(part) else text


def _is_secret(expression: Expression) -> bool:
    """Tell whether an expression is a secret: those are passed on whole, never worked on."""
    return bool(expression.reads) and all(read[0] == "secrets" for read in expression.reads)
