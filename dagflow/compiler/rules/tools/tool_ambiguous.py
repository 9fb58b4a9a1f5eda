"""DF602: names that several operations of one document have."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF602", "tool-ambiguous", Severity.ERROR, "resolved")
def tool_ambiguous(checks: Checks) -> Iterator[Violation]:
    """Several operations of a document have the name that a step calls.

    Their method and path tell them apart: `helpdesk.GET /tickets/{id}`.

    Bad:

        dagflow: 1
        name: sizes
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          count:
            tool: helpdesk.count  # DF602: 'helpdesk' has 2 operations named 'count'
        outputs:
          total: ${{ steps.count.output.body }}

    Good:

        dagflow: 1
        name: sizes
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          count:
            tool: helpdesk.GET /tickets/count
        outputs:
          total: ${{ steps.count.output.body }}
    """
    yield from checks.faults("tool-ambiguous")
