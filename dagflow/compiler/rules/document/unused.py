"""DF004: what is declared or made and never used."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.graph.edges import gotos
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.types.credentials import credentials, secrets_in
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.source import At

_KINDS = frozenset({"transform", "tool"})


@rule("DF004", "unused", Severity.WARNING, "plan")
def unused(checks: Checks) -> Iterator[Violation]:
    """An input, tool, secret or model is declared and never used, or a result never read.

    A caller must give an input that nothing reads, and a step whose only use is its result costs
    time for nothing. Often it is the sign of a reader that was meant and is missing.

    Bad:

        dagflow: 1
        name: greet
        inputs:
          name: string
          mood: string  # DF004: input 'mood' is never read
        steps:
          hello: {transform: '"hello " + inputs.name'}
        outputs:
          text: ${{ steps.hello.output }}

    Good:

        dagflow: 1
        name: greet
        inputs:
          name: string
        steps:
          hello: {transform: '"hello " + inputs.name'}
        outputs:
          text: ${{ steps.hello.output }}
    """
    model = checks.model
    if model is None:
        return
    yield from _declared(model)
    yield from _unread(model, checks)


def _declared(model: Model) -> Iterator[Violation]:
    workflow = model.workflow
    fields = workflow.inputs.fields if workflow.inputs else ()
    if "input:*" not in model.used:
        names = tuple(field.name for field in fields)
        yield from _never(model, names, "input", "is never read")
    secrets = _secret_names(model)
    spare = tuple(secret for secret in workflow.secrets if secret.value not in secrets)
    yield from _never(model, spare, "secret", "is never used")
    called = {_tool_of(facts) for facts in _all(model)}
    tools = tuple(name for name, _ in workflow.tools if name.value not in called)
    yield from _never(model, tools, "tool", "is never called")
    asked = {_model_of(facts) for facts in _all(model)}
    models = tuple(name for name, _ in workflow.models if name.value not in asked)
    yield from _never(model, models, "model", "is never asked")


def _never(
    model: Model, names: tuple[At[str], ...], what: str, verdict: str
) -> Iterator[Violation]:
    for name in names:
        if f"{what}:{name.value}" not in model.used:
            message = f"{what} {name.value!r} {verdict}"
            yield Violation(span=name.span, message=message)


def _secret_names(model: Model) -> frozenset[str]:
    source = model.workflow.source
    return frozenset(
        name for node in credentials(model.workflow) for name, _ in secrets_in(node, source)
    )


def _all(model: Model) -> Iterator[StepFacts]:
    for facts in model.steps():
        yield facts
        if facts.compensate is not None:
            yield facts.compensate


def _tool_of(facts: StepFacts) -> str:
    if facts.kind != "tool":
        return ""
    return str(facts.step.body.operation.value).partition(".")[0]


def _model_of(facts: StepFacts) -> str:
    if facts.kind != "llm":
        return ""
    chosen = facts.step.body.model
    return str(chosen.value) if chosen else "default"


def _unread(model: Model, checks: Checks) -> Iterator[Violation]:
    """Yield steps that do nothing but give a result, where nobody takes it."""
    read = {read.step for facts in _all(model) for read in facts.reads}
    read.update(read.step for read in model.output_reads)
    for block in model.blocks.values():
        if block.kind != "steps":
            continue
        awaited = {after.step.value for facts in block.steps for after in facts.step.after}
        targets = {goto.value for facts in block.steps for goto in gotos(facts.step)}
        for facts in block.steps:
            waited = facts.name in awaited or facts.name in targets
            needed = facts.path in read or waited or facts.step.on_error
            if checks.reach is not None and not checks.reach.runs(facts.path):
                continue  # it never runs, and that is said
            if not needed and facts.kind in _KINDS and facts.effects == "pure":
                message = f"nothing reads the result of step {facts.name!r}"
                yield Violation(
                    span=facts.step.name.span,
                    message=message,
                    step=facts.path,
                )
