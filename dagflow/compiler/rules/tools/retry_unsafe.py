"""DF605: retries of what must not happen twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dagflow.compiler.defaults import RETRIED_BY_DEFAULT, retry_of
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity

_KEY: Final = "its effects are `once`: give the operation an idempotency key, or say `idempotent`"
_SAY: Final = "its effects are `once`: say `effects: idempotent` where twice is as good as once"


@rule("DF605", "retry-unsafe", Severity.WARNING, "typed")
def retry_unsafe(checks: Checks) -> Iterator[Violation]:
    """A step is retried though running it twice would do its work twice.

    Where an answer was lost (`lost`, `timeout`, `network`) nobody knows whether the work was done:
    no attempt follows, the step waits for a person to settle it. After any other failure one does,
    and may be the second time. Give a tool's operation an idempotency key
    (`x-dagflow-idempotency-key` in the document), or say `effects: idempotent` where doing it
    twice is as good as once.

    Bad:

        dagflow: 1
        name: ticket
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          open:
            tool: helpdesk.createTicket
            with: {body: {text: The printer is on fire}}
            retry: 3  # DF605: a retry of 'open' may do it twice or wait for a person

    Good:

        dagflow: 1
        name: ticket
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          open:
            tool: helpdesk.createTicket
            with: {body: {text: The printer is on fire}}
            retry: 3
            effects: idempotent
    """
    if checks.model is None:
        return
    common = checks.model.workflow.defaults
    for facts in checks.model.steps():
        retry = facts.step.retry
        if facts.broken or facts.effects != "once" or facts.kind not in RETRIED_BY_DEFAULT:
            continue
        if retry_of(facts.step, checks.model.workflow).attempts > 1:
            spans = (retry, common.retry if common else None)
            span = next((s.span for s in spans if s is not None), facts.step.name.span)
            yield Violation(
                span=span,
                message=f"a retry of {facts.name!r} may do it twice or wait for a person",
                step=facts.path,
                help=_KEY if facts.kind == "tool" else _SAY,
            )
