"""DF802: prompts that can be longer than the model's context."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.defaults import MAX_TOKENS
from dagflow.compiler.model import StepFacts
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.types.prompts import known_length, parts_of, tokens_in
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity
from dagflow.core.steps.llm import Llm
from dagflow.core.workflow import ModelRef, Workflow


@rule("DF802", "prompt-overflow", Severity.WARNING, "typed")
def prompt_overflow(checks: Checks) -> Iterator[Violation]:
    """The largest prompt of a step, with its answer, is longer than the model's context.

    The model would refuse the longest prompts, or lose their beginning. Counted are the fixed text
    and the values whose length is bounded (`maxLength`, enums, numbers), four characters a token,
    and `max_tokens` for the answer, against the `context` that the model declares.

    Bad:

        dagflow: 1
        name: digest
        inputs:
          report: {type: string, maxLength: 40000}
        models:
          default: {route: local, context: 8192}
        steps:
          short:
            llm:
              prompt: "Shorten this: ${{ inputs.report }}"  # DF802: the prompt may take…
              max_tokens: 200
            output: {text: {type: string, maxLength: 400}}
        outputs: {text: "${{ steps.short.output.text }}"}

    Good:

        dagflow: 1
        name: digest
        inputs:
          report: {type: string, maxLength: 20000}
        models:
          default: {route: local, context: 8192}
        steps:
          short:
            llm:
              prompt: "Shorten this: ${{ inputs.report }}"
              max_tokens: 200
            output: {text: {type: string, maxLength: 400}}
        outputs: {text: "${{ steps.short.output.text }}"}
    """
    if checks.model is None:
        return
    for facts in checks.model.steps():
        model = _model(facts, checks.model.workflow)
        if model is not None and model.context is not None and not facts.broken:
            yield from _overflow(facts, model.context.value, model)


def _model(facts: StepFacts, workflow: Workflow) -> ModelRef | None:
    if not isinstance(facts.step.body, Llm):
        return None
    wanted = facts.step.body.model.value if facts.step.body.model else "default"
    return next((ref for name, ref in workflow.models if name.value == wanted), None)


def _overflow(facts: StepFacts, context: int, model: ModelRef) -> Iterator[Violation]:
    parts = parts_of(facts)
    lengths = {id(part): known_length(part) for part in parts}
    prompt = tokens_in(sum(lengths.values()))
    answer = facts.step.body.max_tokens.value if facts.step.body.max_tokens else MAX_TOKENS
    if not parts or prompt + answer <= context:
        return
    assert model.context is not None
    yield Violation(
        span=max(parts, key=lambda part: lengths[id(part)]).span,
        message=f"the prompt may take {prompt} tokens and the answer {answer}, "
        f"and the model's context is {context}",
        step=facts.path,
        related=(Related("the context is declared here", model.context.span),),
        help="bound what goes into it (`maxLength`), or shorten it in a step before",
    )
