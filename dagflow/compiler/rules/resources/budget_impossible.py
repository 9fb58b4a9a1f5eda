"""DF703: budgets that no successful run can keep."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.defaults import MAX_TOKENS
from dagflow.compiler.model import StepFacts
from dagflow.compiler.planning.musts import certain_steps
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.workflow import Step


@rule("DF703", "budget-impossible", Severity.ERROR, "plan")
def budget_impossible(checks: Checks) -> Iterator[Violation]:
    """The steps that every successful run makes need more than its budget has.

    An answer of a model is reserved in full before it is asked for.

    Bad:

        dagflow: 1
        name: poem
        budget: {tokens: 100}
        steps:
          write:
            llm:
              prompt: Write a poem about rain.
              max_tokens: 400  # DF703: this answer may take 400 tokens, and the run has 100
        outputs:
          poem: ${{ steps.write.output.text }}

    Good:

        dagflow: 1
        name: poem
        budget: {tokens: 600}
        steps:
          write:
            llm:
              prompt: Write a poem about rain.
              max_tokens: 400
        outputs:
          poem: ${{ steps.write.output.text }}
    """
    model = checks.model
    if model is None or checks.pruned is None or model.workflow.budget is None:
        return
    budget, graphs = model.workflow.budget, checks.pruned.graphs
    certain = certain_steps(graphs.blocks[""], graphs.facts)
    steps = tuple(facts for facts in certain if not _does_without(facts.step))
    if budget.tokens is not None:
        yield from _tokens(steps, budget.tokens.value)
    calls = sum(facts.kind == "tool" for facts in steps)
    if budget.tool_calls is not None and calls > budget.tool_calls.value:
        yield Violation(
            span=budget.tool_calls.span,
            message=f"every successful run makes {calls} tool calls, and may make"
            f" {budget.tool_calls.value}",
        )


def _does_without(step: Step) -> bool:
    """Tell whether a run goes on where the budget leaves nothing to the step."""
    classes = [{name.value for name in handler.on} for handler in step.on_error]
    return any(not each or "budget" in each for each in classes)


def _tokens(steps: tuple[StepFacts, ...], tokens: int) -> Iterator[Violation]:
    for facts in steps:
        if facts.kind != "llm":
            continue
        bound = facts.step.body.max_tokens
        needed = bound.value if bound is not None else MAX_TOKENS
        if needed > tokens:
            yield Violation(
                span=bound.span if bound is not None else facts.step.name.span,
                message=f"this answer may take {needed} tokens, and the run has {tokens}",
                step=facts.path,
            )
