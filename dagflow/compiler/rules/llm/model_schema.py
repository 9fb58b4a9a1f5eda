"""DF801: output schemas that a model can't be held to."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.defaults import MAX_TOKENS
from dagflow.compiler.model import StepFacts
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.types.decoding import Trouble, troubles
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Edit, Fix, Severity
from dagflow.core.node import Scalar
from dagflow.core.source import Span


@rule("DF801", "model-schema", Severity.ERROR, "typed")
def model_schema(checks: Checks) -> Iterator[Violation]:
    """The output of an llm step can't be decoded by its schema, or need not end.

    The answer is held to the schema token by token, which keywords like `uniqueItems` and `not`
    don't allow. A text or list without a bound may go on until `max_tokens` cuts it, and what is
    cut is no valid answer.

    Bad:

        dagflow: 1
        name: tags
        steps:
          tag:
            llm: {prompt: Name three colours.}
            output:
              colours:
                {type: array, items: {enum: [r, g, b]}, maxItems: 3, uniqueItems: true}  # DF801: …
        outputs:
          colours: ${{ steps.tag.output.colours }}

    Good:

        dagflow: 1
        name: tags
        steps:
          tag:
            llm: {prompt: Name three colours.}
            output:
              colours: {type: array, items: {enum: [r, g, b]}, maxItems: 3}
        outputs:
          colours: ${{ steps.tag.output.colours }}

    Bad:

        dagflow: 1
        name: poem
        steps:
          write:
            llm: {prompt: Write a poem.}
            output:
              poem: string  # DF801: the text 'poem' has no `maxLength`: the answer may be cut…
        outputs:
          poem: ${{ steps.write.output.poem }}

    Good:

        dagflow: 1
        name: poem
        steps:
          write:
            llm: {prompt: Write a poem.}
            output:
              poem: {type: string, maxLength: 1000}
        outputs:
          poem: ${{ steps.write.output.poem }}
    """
    for facts in checks.model.steps() if checks.model is not None else ():
        if facts.kind == "llm" and facts.step.output is not None and not facts.broken:
            yield from _step(facts)


def _step(facts: StepFacts) -> Iterator[Violation]:
    bound = facts.step.body.max_tokens
    tokens = bound.value if bound is not None else MAX_TOKENS
    for trouble in troubles(facts.output, tokens):
        span, fixes = _place(facts, trouble)
        yield Violation(
            span=span,
            message=trouble.message,
            step=facts.path,
            severity=_severity(trouble),
            help=trouble.help,
            fixes=fixes,
        )


def _severity(trouble: Trouble) -> Severity:
    """Return how bad a trouble is; hardly any answer is as long as it may be."""
    if trouble.is_error:
        return Severity.ERROR
    return Severity.NOTE if trouble.is_rare else Severity.WARNING


def _place(facts: StepFacts, trouble: Trouble) -> tuple[Span, tuple[Fix, ...]]:
    """Put the finding on the declared field it is in; a bare `string` there can be mended."""
    declared = facts.step.output
    assert declared is not None
    field = next((f for f in declared.fields if f.name.value == trouble.field), None)
    if field is None:
        return declared.span, ()
    node = field.type.node
    if trouble.bound and isinstance(node, Scalar) and node.value == "string":
        edit = Edit(node.span, "{type: string, maxLength: 1000}")
        return node.span, (Fix("bound the text to 1000 characters", (edit,)),)
    return node.span, ()
