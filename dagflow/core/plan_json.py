"""Plans as JSON and back, strictly: exactly a plan, or an error that names the place."""

from __future__ import annotations

from dagflow.core import codec
from dagflow.core.errors import UsageError, ValueRefusedError
from dagflow.core.plan import MAX_PLAN_DEPTH, PLAN_VERSION, Plan
from dagflow.core.pointers import under
from dagflow.core.values import JsonObject, JsonValue, check_value


def to_json(plan: Plan) -> JsonObject:
    """Return the plan as plain JSON, its digest included."""
    return codec.encode(plan)


def from_json(value: JsonValue) -> Plan:
    """Read a plan, or raise `UsageError` with the JSON Pointer of what is wrong.

    The digest is computed anew: a plan edited by hand is accepted as the other plan that it is.
    """
    try:
        check_value(value, max_depth=MAX_PLAN_DEPTH)
    except ValueRefusedError as error:
        raise _wrong(error.at, error.reason) from None
    version = value.get("plan_version") if isinstance(value, dict) else None
    if isinstance(version, int) and version != PLAN_VERSION:
        raise UsageError(
            f"the plan has version {version}, and this dagflow reads version {PLAN_VERSION}",
            remedy="compile the workflow again with this dagflow",
        )
    try:
        return codec.decode(Plan, value)
    except codec.Misfit as error:
        raise _wrong(under("", *reversed(error.keys)), error.reason) from None


def _wrong(at: str, reason: str) -> UsageError:
    return UsageError(
        f"not a plan: at {at or '/'}: {reason}",
        remedy="make the plan with `dagflow plan FILE -o plan.json`, and edit values only",
    )
