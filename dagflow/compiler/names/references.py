"""Names outside expressions: steps to wait for or go to, models, schemes, triggers' inputs."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from dagflow.compiler.graph.edges import branch_targets, gotos
from dagflow.compiler.model import Block, Model, StepFacts
from dagflow.compiler.names.resolve import child_key
from dagflow.compiler.violation import Violation
from dagflow.core.node import Mapping as MappingNode
from dagflow.core.source import At
from dagflow.core.steps.llm import Llm
from dagflow.core.tool import Tool
from dagflow.core.words import nearest
from dagflow.core.workflow import Triggers


def step_names(facts: StepFacts) -> Iterator[At[str]]:
    """Yield the names of other steps that a step gives outside its expressions."""
    yield from (after.step for after in facts.step.after)
    yield from gotos(facts.step)
    for targets in branch_targets(facts.step):
        yield from targets


def unknown_steps(model: Model) -> Iterator[Violation]:
    """Yield the names of steps that no block has, and of children that have no plan."""
    everywhere = {facts.name for facts in model.steps()}
    for block in model.blocks.values():
        for facts in block.steps:
            for name in step_names(facts):
                if name.value not in everywhere and name.value not in model.missing:
                    yield _unknown(name, block, facts)
            yield from _unknown_child(model, facts)


def _unknown(name: At[str], block: Block, facts: StepFacts) -> Violation:
    others = tuple(other.name for other in block.steps if other.name != facts.name)
    message = f"no step is named {name.value!r}{nearest(name.value, others)}"
    return Violation(span=name.span, message=message, step=facts.path)


def _unknown_child(model: Model, facts: StepFacts) -> Iterator[Violation]:
    if facts.kind != "workflow" or facts.child is not None or facts.broken:
        return
    key = child_key(facts.step.body)
    if key in model.children:
        return
    written = facts.step.body.file or facts.step.body.name
    if written is not None and not calls_itself(model, facts):
        message = f"there is no plan of the workflow {key!r}"
        help_ = "it can't be found, or has errors of its own: check it by itself"
        yield Violation(span=written.span, message=message, step=facts.path, help=help_)


def calls_itself(model: Model, facts: StepFacts) -> bool:
    """Tell whether a `workflow` step names the very file it stands in."""
    file = facts.step.body.file
    if file is None:
        return facts.step.body.name is not None and (
            facts.step.body.name.value == model.workflow.name.value
        )
    own = posixpath.normpath(model.workflow.source.name)
    return posixpath.normpath(posixpath.join(posixpath.dirname(own), file.value)) == own


def misplaced_steps(model: Model) -> Iterator[Violation]:
    """Yield names of steps that exist, but not where the step that names them can reach them."""
    everywhere = {facts.name: facts for facts in model.steps()}
    for block in model.blocks.values():
        here = {facts.name for facts in block.steps}
        for facts in block.steps:
            for name in step_names(facts):
                if name.value == facts.name:
                    message = f"step {facts.name!r} can't wait for or go to itself"
                    yield _misplaced(name, message, facts)
                elif name.value in everywhere and name.value not in here:
                    message = _elsewhere(name.value, everywhere[name.value], block)
                    yield _misplaced(name, message, facts)


def _misplaced(name: At[str], message: str, facts: StepFacts) -> Violation:
    return Violation(span=name.span, message=message, step=facts.path)


def _elsewhere(name: str, other: StepFacts, block: Block) -> str:
    if block.kind == "finally":
        return f"step {name!r} is decided before `finally` begins; only its steps can be named here"
    if other.block == "finally":
        return f"step {name!r} runs in `finally`, after every step here"
    where = f"inside {other.block!r}" if other.block else "outside of this block"
    return f"step {name!r} is {where}; only steps of the same block can be named here"


def unknown_models(model: Model) -> Iterator[Violation]:
    """Yield the names of models that aren't declared; `default` always is."""
    known = model.workflow.models.names()
    for facts in model.steps():
        body = facts.step.body
        if not isinstance(body, Llm) or body.model is None:
            continue
        name = body.model
        if name.value not in known and (known or name.value != "default"):
            message = (
                f"no model is named {name.value!r}{nearest(name.value, known or ('default',))}"
            )
            yield Violation(span=name.span, message=message, step=facts.path)


def unknown_schemes(model: Model) -> Iterator[Violation]:
    """Yield the credentials for security schemes that a tool's document does not have."""
    for name, reference in model.workflow.tools:
        tool = model.catalog.tools.get(name.value)
        if tool is None or not isinstance(reference.auth, MappingNode):
            continue
        known = tuple(dict.fromkeys(_schemes(tool)))
        for key, _ in reference.auth.entries:
            scheme = str(key.value)
            if scheme not in known:
                hint = nearest(scheme, known) or (f"; it has {', '.join(known)}" if known else "")
                message = f"tool {name.value!r} has no security scheme {scheme!r}{hint}"
                yield Violation(span=key.span, message=message)


def _schemes(tool: Tool) -> Iterator[str]:
    for operation in tool.operations.values():
        alternatives = operation.wire.get("security")
        for schemes in alternatives if isinstance(alternatives, list) else ():
            for scheme in schemes if isinstance(schemes, list) else ():
                if isinstance(scheme, dict):
                    yield str(scheme.get("scheme"))


def unknown_triggers(model: Model) -> Iterator[Violation]:
    """Yield the inputs that a trigger gives and the workflow does not have."""
    workflow = model.workflow
    fields = workflow.inputs.fields if workflow.inputs else ()
    known = tuple(field.name.value for field in fields)
    for given in _trigger_inputs(workflow.triggers):
        for key, _ in given.entries:
            name = str(key.value)
            if name not in known:
                message = f"no input is named {name!r}{nearest(name, known)}"
                yield Violation(span=key.span, message=message)


def _trigger_inputs(triggers: Triggers | None) -> Iterator[MappingNode]:
    if triggers is None:
        return
    for trigger in (triggers.http, triggers.webhook, *triggers.schedule):
        if trigger is not None and isinstance(trigger.inputs, MappingNode):
            yield trigger.inputs
