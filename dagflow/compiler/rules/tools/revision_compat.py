"""DF607: new versions that those who call a workflow, or its open runs, can't go along with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dagflow.compiler.difference import Change, of_signature
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.signature import signature_in, signature_of
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.node import Mapping as MappingNode
from dagflow.core.plan import Plan, PlanStep, steps_of
from dagflow.core.source import Span
from dagflow.expr import fits, misfit

_LONG = frozenset({"approve", "wait", "foreach", "repeat", "workflow"})
"""Kinds of steps at which runs may stand for days."""


@rule("DF607", "revision-compat", Severity.ERROR, "graph")
def revision_compat(checks: Checks) -> Iterator[Violation]:
    """A new version breaks those who call the workflow, or runs that are open.

    Checked against the version before (`dagflow check FILE --against OLD`). Callers may rely on
    every input that was taken and on every output that was given: what takes less or gives
    something else is an error. A warning tells where a run that has begun with the old version
    could not go on with the new one: a step at which it may stand is gone or is of another kind, a
    result that it holds is none of the new step's, or what it has done once would be done again
    under another name. A run goes on with the version that it began with; what is told here
    matters where it shall not.

    Bad:

        # file: before.yaml
        dagflow: 1
        name: greet
        inputs: {name: string}
        steps:
          hello: {transform: "'hello ' + inputs.name"}
        outputs: {line: "${{ steps.hello.output }}"}
        # file: greet.yaml
        dagflow: 1
        name: greet
        inputs:
          name: string
          mood: {enum: [kind, curt]}  # DF607: input 'mood' is new, and must be given
        steps:
          hello: {transform: "(inputs.mood == 'kind' ? 'hello ' : '') + inputs.name"}
        outputs: {line: "${{ steps.hello.output }}"}

    Good:

        # file: before.yaml
        dagflow: 1
        name: greet
        inputs: {name: string}
        steps:
          hello: {transform: "'hello ' + inputs.name"}
        outputs: {line: "${{ steps.hello.output }}"}
        # file: greet.yaml
        dagflow: 1
        name: greet
        inputs:
          name: string
          mood: {enum: [kind, curt], default: kind}
        steps:
          hello: {transform: "(inputs.mood == 'kind' ? 'hello ' : '') + inputs.name"}
        outputs: {line: "${{ steps.hello.output }}"}

    Bad:

        # file: before.yaml
        dagflow: 1
        name: order
        steps:
          pay: {shell: [pay], effects: once}
        # file: order.yaml
        dagflow: 1
        name: order
        steps:
          charge: {shell: [pay], effects: once}  # DF607: an open run that has done 'pay' would do…

    Good:

        # file: before.yaml
        dagflow: 1
        name: order
        steps:
          pay: {shell: [pay], effects: once}
        # file: order.yaml
        dagflow: 1
        name: order
        steps:
          pay: {shell: [pay], effects: once}
          tell: {after: pay, shell: [notify]}
    """
    before, model = checks.before, checks.model
    if before is None or model is None:
        return
    for change in of_signature(signature_in(before), signature_of(model)):
        if change.breaking:
            yield _of_callers(change, model)
    yield from _of_open_runs(before, model)


def _of_callers(change: Change, model: Model) -> Violation:
    return Violation(
        span=_place(model, change.about),
        message=change.text,
        help="who calls the version before relies on it; keep it (a new input needs a default), or "
        "give the workflow another name",
    )


def _place(model: Model, about: str) -> Span:
    """Return the place of `inputs.x` or `outputs`, as near as there is one."""
    root, found = model.workflow.root, model.workflow.name.span
    node: object = root
    for part in about.split("."):
        entries = node.entries if isinstance(node, MappingNode) else ()
        key, node = next(((k, v) for k, v in entries if k.value == part), (None, None))
        if key is None:
            break
        found = key.span
    return found


def _of_open_runs(before: Plan, model: Model) -> Iterator[Violation]:
    old = {step.path: step for step in steps_of(before)}
    new = {each.path: each for facts in model.steps() for each in (facts, facts.compensate) if each}
    for path, step in old.items():
        if path not in new:
            yield from _gone(step, old, new, model)
        else:
            yield from _changed(step, new[path])


def _gone(
    step: PlanStep, old: Mapping[str, PlanStep], new: Mapping[str, StepFacts], model: Model
) -> Iterator[Violation]:
    again = _again(step, old, new)
    if again is not None:
        message = f"an open run that has done {step.path!r} would do it again as {again.path!r}"
        yield _warning(again.step.name.span, message, again.path, "keep the step's name")
    elif step.kind in _LONG and not step.path.endswith(".compensate"):
        message = f"step {step.path!r} is gone, and an open run may stand at it"
        yield _warning(model.workflow.name.span, message, "", "keep it until no run needs it")


def _again(
    step: PlanStep, old: Mapping[str, PlanStep], new: Mapping[str, StepFacts]
) -> StepFacts | None:
    """Return the new step that does once what a step that is gone did."""
    if step.effects != "once":
        return None
    alike = (
        facts
        for path, facts in new.items()
        if path not in old and facts.effects == "once" and facts.kind == step.kind
    )
    operation = step.body.get("operation")
    return next((it for it in alike if it.operation is None or it.operation.id == operation), None)


def _changed(step: PlanStep, facts: StepFacts) -> Iterator[Violation]:
    if facts.broken:
        return
    span, path = facts.step.name.span, facts.path
    if step.kind != facts.kind:
        message = f"step {path!r} was of kind {step.kind}: an open run can't take it for done"
        yield _warning(span, message, path, "give the new step another name")
    elif fits(step.output_schema, facts.output) == "no":
        why = misfit(step.output_schema, facts.output)
        message = f"open runs hold results of {path!r} that are none of the new one's: {why}"
        yield _warning(span, message, path, "widen its output, or give the new step another name")


def _warning(span: Span, message: str, step: str, help_: str) -> Violation:
    return Violation(span=span, message=message, step=step, help=help_, severity=Severity.WARNING)
