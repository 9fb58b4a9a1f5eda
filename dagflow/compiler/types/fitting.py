"""What goes into a step and what comes out of it, against what is declared for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from dagflow.compiler.model import Fault, StepFacts, Typed
from dagflow.compiler.source.schemas import schema_of
from dagflow.compiler.types.signature import Signature, signature_of
from dagflow.compiler.types.wiring import Mismatch, missing, wire
from dagflow.core.node import Mapping as MappingNode
from dagflow.core.node import Node, Scalar
from dagflow.core.plan import Literal_
from dagflow.core.records import replace
from dagflow.core.source import At, Span
from dagflow.core.steps.python import Python
from dagflow.core.steps.tool import Tool
from dagflow.core.values import Schema
from dagflow.core.workflow import Step, Workflow

NodeOf: TypeAlias = Callable[[At[str]], Scalar]

OUTSIDE: Final = frozenset({"llm", "python", "shell", "wait"})
"""Kinds whose output comes from outside: it is always checked against its declared schema."""


def fitted(
    facts: StepFacts, declared: Schema | None, node_of: NodeOf, workflow: Workflow
) -> tuple[StepFacts, tuple[Fault, ...]]:
    """Return the facts with what is checked at run time, and the faults of what does not fit."""
    wanted = _wanted(facts)
    into = [*_arguments(facts, wanted), *_signature(facts, node_of, workflow)]
    out = list(_output(facts, declared, node_of))
    output = facts.output if declared is None else declared
    caught = list(_handlers(facts, output))
    typed = output is not True
    done = replace(
        facts,
        output=output,
        input=wanted,
        check_input=not _is_decided(into),
        check_output=typed and (facts.kind in OUTSIDE or not _is_decided((*out, *caught))),
    )
    return done, tuple(_fault(facts, mismatch) for mismatch in (*into, *out, *caught))


def _is_decided(found: Iterable[Mismatch]) -> bool:
    return all(mismatch.level == "error" and mismatch.about is None for mismatch in found)


def _fault(facts: StepFacts, mismatch: Mismatch) -> Fault:
    return Fault(
        rule="wiring-type",
        span=mismatch.span,
        message=mismatch.message,
        step=facts.path,
        help=mismatch.help,
        severity=mismatch.level,
        witness=mismatch.witness,
        about=mismatch.about,
    )


def _wanted(facts: StepFacts) -> Schema:
    """Return the schema that `with` must satisfy."""
    if facts.operation is not None:
        return facts.operation.arguments
    if facts.child is not None:
        return facts.child.inputs_schema
    return True if facts.step.input is None else schema_of(facts.step.input)


def _arguments(facts: StepFacts, wanted: Schema) -> Iterator[Mismatch]:
    step = facts.step
    typed = facts.templates.get("with")
    if typed is not None:
        yield from wire(typed, wanted)
    elif step.with_ is None:
        by = step.body.operation.value if isinstance(step.body, Tool) else ""
        yield from missing(wanted, set(), _body_span(step), by=by)


def _signature(facts: StepFacts, node_of: NodeOf, workflow: Workflow) -> Iterator[Mismatch]:
    step = facts.step
    if not isinstance(step.body, Python):
        return
    code = step.body.code
    signature = signature_of(code.value, node_of(code), workflow.source)
    if signature is None:
        return
    if signature.problem is not None:
        yield signature.problem
    elif step.with_ is None or isinstance(step.with_, MappingNode):
        yield from _calls(step, signature)


def _calls(step: Step, signature: Signature) -> Iterator[Mismatch]:
    entries = step.with_.entries if isinstance(step.with_, MappingNode) else ()
    for key, _ in entries:
        if not signature.takes(str(key.value)):
            names = ", ".join(signature.names) or "nothing"
            message = f"`main` has no parameter {str(key.value)!r}; it takes {names}"
            yield Mismatch(span=key.span, message=message)
    given = {str(key.value) for key, _ in entries}
    span = step.with_.span if step.with_ is not None else _body_span(step)
    for name in signature.required:
        if name not in given:
            yield Mismatch(span=span, message=f"`main` needs {name!r}, and `with` doesn't give it")


def _body_span(step: Step) -> Span:
    return step.body.operation.span if isinstance(step.body, Tool) else step.name.span


def _output(facts: StepFacts, declared: Schema | None, node_of: NodeOf) -> Iterator[Mismatch]:
    """Compare what a step gives with what its author declared for it."""
    if declared is None or declared == facts.output or facts.step.output is None:
        return
    is_transform = facts.kind == "transform"
    if facts.output is True and not is_transform:
        return
    node: Node = Scalar(None, facts.step.output.span)
    if is_transform:
        node = node_of(facts.step.body.expression)
    if is_transform and "expression" not in facts.expressions:
        return
    given = Typed(value=Literal_(None), schema=facts.output, node=node)
    for mismatch in wire(given, declared, "output"):
        # an author who declares a tighter bound than the kind gives asks for the check
        yield mismatch if mismatch.level == "error" else replace(mismatch, level="note", help="")


def _handlers(facts: StepFacts, output: Schema) -> Iterator[Mismatch]:
    for index, _ in enumerate(facts.step.on_error):
        typed = facts.templates.get(f"on_error.{index}")
        if typed is not None:
            yield from wire(typed, output, "continue")
