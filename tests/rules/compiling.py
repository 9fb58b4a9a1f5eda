"""Compiling in tests: sources with the tools of `tests/golden/faulty`, findings as lines."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dagflow.compiler import Compiled, compile_workflow
from dagflow.core.findings import Finding, Severity
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog
from dagflow.tools.catalog import ToolSource, catalog

FAULTY = Path(__file__).parents[1] / "golden" / "faulty"


@cache
def tools() -> ToolCatalog:
    """Return the tools that every test's source may declare."""
    names = ("helpdesk", "plaindesk")
    texts = {name: (FAULTY / f"{name}.openapi.yaml").read_text() for name in names}
    return catalog({name: ToolSource(text=text, location="") for name, text in texts.items()})


def compiled(text: str, name: str = "test.yaml") -> Compiled:
    """Compile a source with those tools."""
    return compile_workflow(Source(name, text), tools())


def told(text: str) -> list[Finding]:
    """Return the errors and warnings of a source."""
    found = compiled(text).report.findings
    return [finding for finding in found if finding.severity is not Severity.NOTE]
