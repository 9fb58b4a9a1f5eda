"""What an expression may name, and the view that it has of a step."""

from __future__ import annotations

from collections.abc import Mapping

from dagflow.core.errors import ERROR_CLASSES
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.expr.facts import STATUSES
from dagflow.expr.types import Type, of_schema


class Scope:
    """The variables of a place in a workflow, each with its JSON Schema.

    Nothing is made of the schemas until an expression reads them, so a scope costs nothing to
    build; one for each block of steps is enough.
    """

    def __init__(self, variables: Mapping[str, Schema]) -> None:
        self.variables = dict(variables)
        self._types: dict[str, Type] = {}

    def type_of(self, name: str) -> Type | None:
        """Return a variable's type, or None where there is no such variable."""
        if name not in self._types and name in self.variables:
            self._types[name] = of_schema(self.variables[name])
        return self._types.get(name)


_ERROR: JsonObject = {
    "type": "object",
    "properties": {
        "class": {"enum": [*sorted(ERROR_CLASSES)]},
        "message": {"type": "string"},
        "attempt": {"type": "integer", "minimum": 1},
    },
    "required": ["class", "message", "attempt"],
    "additionalProperties": False,
}
_ITEM_ERROR: JsonObject = {
    "type": "object",
    "properties": {
        "index": {"type": "integer", "minimum": 0},
        "class": {"enum": [*sorted(ERROR_CLASSES)]},
        "message": {"type": "string"},
    },
    "required": ["index", "class", "message"],
    "additionalProperties": False,
}


def step_view(output: Schema, *, foreach: bool = False) -> Schema:
    """Return the schema of `steps.<name>` for a step with that output.

    `status` is always there; `output` only when the step succeeded, `reason` when it was
    skipped, `error` when it failed (or failed and was handled). A foreach always has
    `errors`, which is empty when no item failed.
    """
    properties: JsonObject = {
        "status": {"enum": list(STATUSES)},
        "reason": {"type": "string"},
        "error": _ERROR,
        "output": output,
    }
    required: list[JsonValue] = ["status"]
    if foreach:
        properties["errors"] = {"type": "array", "items": _ITEM_ERROR}
        required.append("errors")
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
