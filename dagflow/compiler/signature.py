"""What a workflow takes and gives: all that those who call it rely on."""

from __future__ import annotations

from dagflow.compiler.model import Model
from dagflow.compiler.outputs import closed
from dagflow.compiler.source.schemas import schema_of
from dagflow.core.plan import Plan
from dagflow.core.records import dataclass
from dagflow.core.values import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The schemas of a workflow's inputs and outputs, both closed objects."""

    inputs: Schema
    outputs: Schema


def signature_of(model: Model) -> Signature:
    """Return the signature of a workflow that was typed."""
    declared = model.workflow.inputs
    return Signature(
        inputs=closed({}) if declared is None else schema_of(declared),
        outputs=closed({name: typed.schema for name, typed in model.outputs.items()}),
    )


def signature_in(plan: Plan) -> Signature:
    """Return the signature of a workflow that was compiled."""
    return Signature(inputs=plan.inputs_schema, outputs=plan.outputs_schema)
