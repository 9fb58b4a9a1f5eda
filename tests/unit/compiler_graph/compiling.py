"""Compiling small workflows in tests, through every pass."""

from __future__ import annotations

import textwrap

from dagflow.compiler import Compiled, compile_workflow
from dagflow.core.findings import Finding, Severity
from dagflow.core.plan import Plan
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog


def compiled(text: str) -> Compiled:
    """Compile the body of a workflow named `w`; `dagflow` and `name` are put before it."""
    body = textwrap.dedent(text).strip("\n")
    return compile_workflow(Source("w.yaml", f"dagflow: 1\nname: w\n{body}\n"), ToolCatalog())


def planned(text: str) -> Plan:
    """Return the plan of a workflow without errors."""
    made = compiled(text)
    assert made.plan is not None, [f.message for f in made.report.findings]
    return made.plan


def found(text: str, *names: str) -> list[Finding]:
    """Return the findings of these rules, or all errors and warnings but of what is unused."""
    return [
        finding
        for finding in compiled(text).report.findings
        if (finding.name in names if names else finding.severity is not Severity.NOTE)
        and (finding.name != "unused" or "unused" in names)
    ]


def told(text: str, *names: str) -> list[str]:
    """Return the messages of `found`."""
    return [finding.message for finding in found(text, *names)]
