"""DF606: documents that are not the pinned version any more."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Edit, Fix, Severity


@rule("DF606", "tool-drift", Severity.ERROR, "resolved")
def tool_drift(checks: Checks) -> Iterator[Violation]:
    """The document of a tool is not the version that the workflow pins.

    A pinned version (`version: "sha256:…"`) is what the author looked at. When the document has
    changed since, its operations may take and give something else: look at what changed, then
    pin the new version.

    Bad:

        dagflow: 1
        name: ticket
        tools:
          helpdesk:
            openapi: ./helpdesk.openapi.yaml
            version: "sha256:d34db33f"  # DF606: the document of tool 'helpdesk' is another version…
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: t-1}}
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
    for name, reference in checks.workflow.tools if checks.workflow is not None else ():
        tool, pinned = checks.catalog.tools.get(name.value), reference.version
        if tool is None or pinned is None or pinned.value == tool.version:
            continue
        yield Violation(
            span=pinned.span,
            message=f"the document of tool {name.value!r} is another version than the pinned one",
            help=f"see what changed, then pin {tool.version}",
            fixes=(
                Fix(
                    f"pin the present version of {name.value!r}",
                    (Edit(pinned.span, f'"{tool.version}"'),),
                ),
            ),
        )
