"""DF603: operations that their document calls deprecated."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.model import called
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF603", "tool-deprecated", Severity.WARNING, "typed")
def tool_deprecated(checks: Checks) -> Iterator[Violation]:
    """A step calls an operation that its document marks as deprecated.

    It works today and may be gone with the next version of the service.

    Bad:

        dagflow: 1
        name: ticket
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.readTicket  # DF603: operation 'readTicket' of 'helpdesk' is deprecated
            with: {query: {id: t-1}}
        outputs:
          text: ${{ steps.fetch.output.body.text }}

    Good:

        dagflow: 1
        name: ticket
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: t-1}}
        outputs:
          text: ${{ steps.fetch.output.body.text }}
    """
    for facts, operation in called(checks.model):
        if operation.deprecated:
            written = facts.step.body.operation
            tool, _, name = written.value.partition(".")
            yield Violation(
                span=written.span,
                message=f"operation {name!r} of {tool!r} is deprecated",
                step=facts.path,
            )
