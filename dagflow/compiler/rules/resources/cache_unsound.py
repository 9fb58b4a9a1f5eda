"""DF704: caches of what must happen each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dagflow.compiler.model import StepFacts
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.types.signature import is_reference
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.plan import expressions_in
from dagflow.core.steps.python import Python

_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@rule("DF704", "cache-unsound", Severity.WARNING, "typed")
def cache_unsound(checks: Checks) -> Iterator[Violation]:
    """The output of a step is reused though the step does more, or knows more, than its key.

    From the cache the output comes without the effects: nothing is created, sent or written. The
    key is made of the step, what it is given, and the versions of its tool and model. What a
    secret holds, which run it is, and the code of a module outside of the file are not in it: the
    output may be one that was made with others.

    Bad:

        dagflow: 1
        name: ticket
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          open:
            tool: helpdesk.createTicket
            with: {body: {text: The printer is on fire}}
            cache: {ttl: 1h}  # DF704: a cached output of 'open' would come without its effects

    Good:

        dagflow: 1
        name: ticket
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: t-1}}
            cache: {ttl: 1h}
        outputs:
          text: ${{ steps.fetch.output.body.text }}

    Bad:

        dagflow: 1
        name: stamped
        inputs: {word: string}
        steps:
          stamp:
            python: |
              def main(word, at):
                  return f"{word} {at}"
            with: {word: "${{ inputs.word }}", at: "${{ run.started_at }}"}
            output: string
            cache: {ttl: 1h}  # DF704: the key of 'stamp' does not hold `run.started_at`…
        outputs:
          line: ${{ steps.stamp.output }}

    Good:

        dagflow: 1
        name: stamped
        inputs: {word: string}
        steps:
          shout:
            python: |
              def main(word):
                  return word.upper()
            with: {word: "${{ inputs.word }}"}
            output: string
            cache: {ttl: 1h}
        outputs:
          line: ${{ steps.shout.output }} ${{ run.started_at }}
    """
    for facts in checks.model.steps() if checks.model is not None else ():
        if facts.step.cache is not None and not facts.broken:
            for message in _reasons(facts):
                yield Violation(span=facts.step.cache.span, message=message, step=facts.path)


def _reasons(facts: StepFacts) -> Iterator[str]:
    operation = facts.operation
    is_write = operation is not None and operation.method not in _READING
    if facts.effects == "once" or is_write:
        yield f"a cached output of {facts.name!r} would come without its effects"
    missed = [read for read in _reads(facts) if read[0] in {"secrets", "run"}]
    for read in dict.fromkeys(missed):
        yield f"the key of {facts.name!r} does not hold `{'.'.join(read)}`, which it reads"
    body = facts.step.body
    if isinstance(body, Python) and is_reference(body.code.value):
        yield f"the key of {facts.name!r} does not hold the code of {body.code.value.strip()!r}"


def _reads(facts: StepFacts) -> Iterator[tuple[str, ...]]:
    for typed in facts.templates.values():
        for expression in expressions_in(typed.value):
            yield from expression.reads
