"""DF306: workflows that call themselves."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.names.references import calls_itself
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.plan import Plan, PlanStep
from dagflow.core.source import Span


@rule("DF306", "recursive-workflow", Severity.ERROR, "resolved")
def recursive_workflow(checks: Checks) -> Iterator[Violation]:
    """A workflow calls itself, directly or through another.

    Each run would start another for ever. A loop is a `repeat` or a `foreach`, which have bounds.

    Bad:

        dagflow: 1
        name: countdown
        inputs: {from: integer}
        steps:
          again:
            when: inputs.from > 0
            workflow: {name: countdown}  # DF306: the workflow 'countdown' calls itself
            with: {from: "${{ inputs.from - 1 }}"}

    Good:

        dagflow: 1
        name: countdown
        inputs: {from: integer}
        steps:
          count:
            repeat:
              steps:
                pause: {wait: {for: 1s}}
              until: turn + 1 >= inputs.from
              max: 100
    """
    model = checks.model
    for facts in model.steps() if model is not None else ():
        if facts.kind != "workflow" or model is None:
            continue
        own = model.workflow.name.value
        way = _way(facts.child, own) if facts.child is not None else None
        if calls_itself(model, facts):
            way = ()
        if way is not None:
            through = f" through {' → '.join(map(repr, way))}" if way else ""
            yield Violation(
                span=_span(facts.step.body),
                message=f"the workflow {own!r} calls itself{through}",
                step=facts.path,
            )


def _span(body: object) -> Span:
    written = getattr(body, "file", None) or getattr(body, "name", None)
    span = written.span if written is not None else getattr(body, "span", None)
    assert isinstance(span, Span)
    return span


def _way(plan: Plan, wanted: str) -> tuple[str, ...] | None:
    """Return the workflows from `plan` on that lead to one named `wanted`, None if none do."""
    if plan.name == wanted:
        return ()
    for step in _steps((*plan.steps, *plan.finally_)):
        way = _way(step.child, wanted) if step.child is not None else None
        if way is not None:
            return (plan.name, *way)
    return None


def _steps(steps: tuple[PlanStep, ...]) -> Iterator[PlanStep]:
    for step in steps:
        yield step
        yield from _steps(step.block)
