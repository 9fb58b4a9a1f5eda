"""DF704: caches of what must happen each time."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF704", "cache-unsound", Severity.WARNING, "typed")
def cache_unsound(checks: Checks) -> Iterator[Violation]:
    """The output of a step is reused though the step has effects.

    From the cache the output comes without the effects: nothing is created, sent or written.

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
    """
    for facts in checks.model.steps() if checks.model is not None else ():
        if facts.step.cache is not None and facts.effects == "once" and not facts.broken:
            yield Violation(
                span=facts.step.cache.span,
                message=f"a cached output of {facts.name!r} would come without its effects",
                step=facts.path,
            )
