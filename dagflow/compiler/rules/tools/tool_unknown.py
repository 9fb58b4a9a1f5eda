"""DF601: operations and documents that can't be used."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF601", "tool-unknown", Severity.ERROR, "resolved")
def tool_unknown(checks: Checks) -> Iterator[Violation]:
    """A step calls an operation that the tool's document does not have, or can't be used.

    The operation is pinned into the plan, so it must be known and whole when the plan is made.

    Bad:

        dagflow: 1
        name: ticket
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTiket  # DF601: tool 'helpdesk' has no operation 'getTiket'; did you…
            with: {path: {id: t-1}}
        outputs:
          text: ${{ steps.fetch.output.body }}

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
    yield from checks.faults("tool-unknown")
    workflow = checks.workflow
    if workflow is None:
        return
    for name, _ in workflow.tools:
        tool = checks.catalog.tools.get(name.value)
        problems = checks.catalog.problems if tool is None else tool.problems
        reason = next((p for p in problems if p.tool == name.value and not p.operation), None)
        if tool is None or reason is not None:
            why = f": {reason.message}" if reason else ", or was not given"
            yield Violation(
                span=name.span,
                message=f"the document of tool {name.value!r} can't be used{why}",
                help=reason.location if reason else "",
            )
