"""The schema of what each kind of step gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dagflow.core.plan import Plan
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.core.workflow import Step


def closed(properties: Mapping[str, Schema], required: tuple[str, ...] | None = None) -> JsonObject:
    """Return the schema of an object with just these properties, all required unless said."""
    names: list[JsonValue] = list(properties if required is None else required)
    return {
        "type": "object",
        "properties": dict(properties),
        "required": names,
        "additionalProperties": False,
    }


def nullable(schema: Schema) -> Schema:
    """Return the schema that also lets null through."""
    if schema is True:
        return True
    if isinstance(schema, dict) and isinstance(schema.get("type"), str) and "enum" not in schema:
        return (
            {**schema, "type": [schema["type"], "null"]} if "const" not in schema else _or(schema)
        )
    return _or(schema)


def _or(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


TEXT: Final[Schema] = {"type": "string"}
INTEGER: Final[Schema] = {"type": "integer"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}

LLM_TEXT: Final = closed({"text": TEXT, "finish_reason": TEXT})
SHELL_TEXT: Final = closed({"exit_code": INTEGER, "stdout": TEXT, "stderr": TEXT})
LINES: Final[Schema] = {"type": "array", "items": TEXT}
SWITCH: Final = closed({"branch": {"type": ["integer", "null"], "minimum": 0}})
APPROVAL: Final = closed({"by": TEXT, "at": INSTANT, "comment": TEXT})
NOTHING: Final[Schema] = {"type": "null"}


def output_of(step: Step, declared: Schema | None, child: Plan | None) -> Schema:
    """Return what a step gives as its kind says; True where only its parts can say more.

    `declared` is the step's own `output`, None when there is none.
    """
    if child is not None:
        return child.outputs_schema
    natural = _NATURAL.get(step.kind.value)
    found = natural(step) if natural else None
    if found is None:
        return True if declared is None else declared
    return found


def _llm(step: Step) -> Schema | None:
    return LLM_TEXT if step.output is None else None


def _shell(step: Step) -> Schema | None:
    parse = step.body.parse.value if step.body.parse else ""
    return {"": SHELL_TEXT, "text": TEXT, "lines": LINES}.get(parse)


def _wait(step: Step) -> Schema | None:
    return None if step.body.signal is not None else NOTHING


_NATURAL: Final[Mapping[str, Callable[[Step], Schema | None]]] = {
    "llm": _llm,
    "shell": _shell,
    "wait": _wait,
    "switch": lambda _: SWITCH,
    "approve": lambda _: APPROVAL,
}
