"""The schema of what a path reads, as far as the schemas around it are simple."""

from __future__ import annotations

from dagflow.compiler.graph.edges import sibling
from dagflow.compiler.model import TOPS, Model, StepFacts
from dagflow.core.values import Schema


def schema_at(
    path: tuple[str, ...], model: Model, facts: StepFacts | None, *, present: bool = False
) -> Schema | None:
    """Return the schema of the value at a path; None where it isn't known.

    Known are paths into `inputs` and into `steps.<name>.output`, as `facts` sees the steps. With
    `present`, only what is always there: required, or filled in by a default.
    """
    if path[0] == "inputs" and len(path) > 1:
        return _input(path, model, present=present)
    if path[0] == "steps" and len(path) > 2 and path[2] == "output" and not present:  # noqa: PLR2004
        producer = _seen(path[1], model, facts)
        return None if producer is None else _inside(producer.output, path[3:], present=False)
    return None


def _input(path: tuple[str, ...], model: Model, *, present: bool) -> Schema | None:
    declared = model.workflow.inputs
    fields = declared.fields if declared else ()
    found = next((field.type for field in fields if field.name.value == path[1]), None)
    if found is None:
        return None
    has_default = isinstance(found.schema, dict) and "default" in found.schema
    if present and found.optional and not has_default:
        return None
    return _inside(found.schema, path[2:], present=present)


def _seen(name: str, model: Model, facts: StepFacts | None) -> StepFacts | None:
    """Return the step of that name in the block of `facts`, or in a block around it."""
    block = facts.block if facts else ""
    while True:
        found = model.find(sibling(block, name))
        if found is not None or block in TOPS:
            return found
        around = model.find(block)
        block = around.block if around else ""


def _inside(schema: Schema, path: tuple[str, ...], *, present: bool) -> Schema | None:
    for name in path:
        if not isinstance(schema, dict):
            return None
        properties, required = schema.get("properties"), schema.get("required")
        inner = properties.get(name) if isinstance(properties, dict) else None
        if not isinstance(inner, dict | bool):
            return None
        if present and not (isinstance(required, list) and name in required):
            return None
        schema = inner
    return schema
