"""What a run is given: checked against the plan's schema, defaults filled in."""

from __future__ import annotations

from dagflow.core.errors import UsageError, ValueRefusedError
from dagflow.core.plan import Plan
from dagflow.core.values import JsonObject, JsonValue, check_value


def accepted(plan: Plan, inputs: JsonObject) -> JsonValue:
    """Return the inputs with the schema's defaults where there is nothing.

    Raises `UsageError` when they don't fit.
    """
    from dagflow.expr.schema import fill_defaults, validate

    try:
        check_value(inputs)
        given = fill_defaults(plan.inputs_schema, inputs)
        validate(plan.inputs_schema, given)
    except ValueRefusedError as error:
        raise UsageError(
            f"the inputs of workflow {plan.name!r} don't fit: {error.message}",
            remedy="give each input with the type that the workflow declares under `inputs`",
        ) from error
    return given
