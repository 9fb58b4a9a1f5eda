"""Compiling in tests: sources with the tools of `tests/golden/faulty`, findings as lines."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dagflow.compiler import Compiled, compile_workflow
from dagflow.core.findings import Finding, Severity
from dagflow.core.plan import Plan
from dagflow.core.site import Site
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog
from dagflow.service.site.history import parse_history
from dagflow.service.site.reading import parse_site, site_of
from dagflow.tools.catalog import ToolSource, catalog

FAULTY = Path(__file__).parents[1] / "golden" / "faulty"


@cache
def tools() -> ToolCatalog:
    """Return the tools that every test's source may declare."""
    names = ("helpdesk", "plaindesk")
    texts = {name: (FAULTY / f"{name}.openapi.yaml").read_text() for name in names}
    return catalog({name: ToolSource(text=text, location="") for name, text in texts.items()})


def compiled(text: str, name: str = "test.yaml") -> Compiled:
    """Compile a source with those tools.

    Where it has lines `# file: <name>`, what follows each is a file of its own; the last one is
    the source, at the lines where it stands, and the others are what it may call, or what is
    known of the site (`site.yaml`, `history.jsonl`), or the version before it (`before.yaml`).
    """
    *called, (_, own) = files(text)
    children: dict[str, Plan] = {}
    site = site_in(dict(called))
    for path, part in called:
        if path in {"site.yaml", "history.jsonl"}:
            continue
        child = compile_workflow(Source(path, part), tools(), children=children)
        assert child.plan is not None, child.report.findings
        children[f"./{path}"] = child.plan
    before = children.pop("./before.yaml", None)
    return compile_workflow(Source(name, own), tools(), children=children, site=site, before=before)


def site_in(parts: dict[str, str]) -> Site:
    """Return what a site file and a history among the files say."""
    file = parse_site(Source("site.yaml", parts.get("site.yaml", "dagflow_site: 1\n")))
    return site_of(file, parse_history(parts.get("history.jsonl", ""), "history.jsonl"))


def files(text: str) -> list[tuple[str, str]]:
    """Return the files of a text by name, each with blank lines for what stands before it."""
    found: list[tuple[str, str]] = [("", "")]
    for number, line in enumerate(text.splitlines(keepends=True)):
        if line.startswith("# file: "):
            found.append((line.removeprefix("# file: ").strip(), "\n" * (number + 1)))
        else:
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found[1:] or found


def told(text: str) -> list[Finding]:
    """Return the errors and warnings of a source."""
    found = compiled(text).report.findings
    return [finding for finding in found if finding.severity is not Severity.NOTE]
