"""DF802: prompts that can be longer than the model's context."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dagflow.compiler.defaults import MAX_TOKENS
from dagflow.compiler.model import StepFacts, Typed
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity
from dagflow.core.plan import Literal_
from dagflow.core.steps.llm import Llm
from dagflow.core.workflow import ModelRef, Workflow

CHARACTERS: Final = 4
"""How many characters a token stands for in ordinary English text; other text takes more tokens,
so that a prompt that is said to fit by this measure may still not."""

_PARTS: Final = ("system", "prompt", "messages.")


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
    parts = [typed for name, typed in facts.templates.items() if name.startswith(_PARTS)]
    lengths = {id(part): _longest(part) for part in parts}
    prompt = -(-sum(lengths.values()) // CHARACTERS)
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


def _longest(part: Typed) -> int:
    """Return how many characters a part of a prompt has at most, as far as that is bounded."""
    if isinstance(part.value, Literal_):
        return len(str(part.value.literal))
    schema = part.schema if isinstance(part.schema, dict) else {}
    bound = schema.get("maxLength", schema.get("minLength", 0))
    return bound if isinstance(bound, int) else 0
