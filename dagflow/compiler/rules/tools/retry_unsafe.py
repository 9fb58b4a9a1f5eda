"""DF605: retries of what must not happen twice."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.defaults import RETRIED_BY_DEFAULT, retry_of
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF605", "retry-unsafe", Severity.WARNING, "typed")
def retry_unsafe(checks: Checks) -> Iterator[Violation]:
    """A step is retried though running it twice would do its work twice.

    A lost answer looks like a failure, so the retry may be the second time. Give the operation an
    idempotency key (`x-dagflow-idempotency-key` in the document), or say `effects: idempotent`
    where the service takes care of it.

    Bad:

        dagflow: 1
        name: ticket
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          open:
            tool: helpdesk.createTicket
            with: {body: {text: The printer is on fire}}
            retry: 3  # DF605: a retry may do 'open' twice: its effects are `once`

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
                message=f"a retry may do {facts.name!r} twice: its effects are `once`",
                step=facts.path,
                help="give the operation an idempotency key, or say `effects: idempotent`",
            )
