"""DF604: credentials that go over the network in the clear."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from dagflow.compiler.model import called
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF604", "tool-insecure", Severity.WARNING, "typed")
def tool_insecure(checks: Checks) -> Iterator[Violation]:
    """A tool gets a credential over plain http.

    Everyone between here and there can read it. Loopback is not warned of.

    Bad:

        dagflow: 1
        name: ticket
        secrets: [HELPDESK_TOKEN]
        tools:
          plaindesk:
            openapi: ./plaindesk.openapi.yaml
            auth: {token: "${{ secrets.HELPDESK_TOKEN }}"}  # DF604: the credential goes to http:…
        steps:
          fetch:
            tool: plaindesk.getTicket
            with: {path: {id: t-1}}
        outputs:
          text: ${{ steps.fetch.output.body.text }}

    Good:

        dagflow: 1
        name: ticket
        secrets: [HELPDESK_TOKEN]
        tools:
          helpdesk:
            openapi: ./helpdesk.openapi.yaml
            auth: {token: "${{ secrets.HELPDESK_TOKEN }}"}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: t-1}}
        outputs:
          text: ${{ steps.fetch.output.body.text }}
    """
    if checks.model is None:
        return
    servers: dict[str, str] = {}
    for facts, operation in called(checks.model):
        tool = facts.step.body.operation.value.partition(".")[0]
        servers.setdefault(tool, str(operation.wire.get("server", "")))
    for name, reference in checks.model.workflow.tools:
        server = servers.get(name.value, "")
        if reference.auth is not None and _is_exposed(server):
            yield Violation(
                span=reference.auth.span,
                message=f"the credential goes to {server} in the clear",
                help="use https, or a server on loopback",
            )


def _is_exposed(server: str) -> bool:
    parts = urlsplit(server)
    if parts.scheme != "http":
        return False
    host = parts.hostname or ""
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")
