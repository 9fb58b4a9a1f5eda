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
    except ValueRefusedError as error:
        raise _unfit(plan, error.message) from error
    given = fill_defaults(plan.inputs_schema, inputs)
    violation = validate(plan.inputs_schema, given)
    if violation is not None:
        raise _unfit(plan, f"{violation.pointer or '/'}: {violation.message}")
    return given


def _unfit(plan: Plan, reason: str) -> UsageError:
    return UsageError(
        f"the inputs of workflow {plan.name!r} don't fit: {reason}",
        remedy="give each input with the type that the workflow declares under `inputs`",
    )
