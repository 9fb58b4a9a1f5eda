"""The use case behind `check`, `plan` and every submission: bundle in, report and plan out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from dagflow.compiler import Memory, compile_workflow
from dagflow.core.findings import Finding, Report, Severity
from dagflow.core.plan import Plan
from dagflow.core.records import dataclass
from dagflow.core.site import NOWHERE_YET, Site
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog, ToolProblem
from dagflow.core.workflow import Workflow
from dagflow.service.bundle import Bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of a check. `sources` are every text that a finding may quote, by file name."""

    report: Report
    plan: Plan | None
    workflow: Workflow | None
    sources: Mapping[str, Source]

    def has(self, severity: Severity) -> bool:
        """Tell whether a finding is at least this severe."""
        order = list(Severity)
        worst = order.index(severity)
        return any(order.index(f.severity) <= worst for f in self.report.findings)


NONE: Mapping[str, Plan] = {}


def check(
    bundle: Bundle,
    *,
    prune: bool = True,
    registered: Mapping[str, Plan] = NONE,
    site: Site = NOWHERE_YET,
    before: Plan | None = None,
    memory: Memory | None = None,
) -> Checked:
    """Compile a bundle. Findings of a called workflow stay in its own report.

    A child with errors has no plan; the compiler reports the step that calls it. `registered`
    are the plans of workflows that are called by name (`name`, or `name@version`); `site` is what
    is known of where the runs will be, `before` the version that this one is to follow. Who checks
    the same file again and again gives the same `memory`: what an edit leaves as it was is known
    then.
    """
    if bundle.findings:
        return _unreadable(bundle.source, bundle.findings)
    memory = Memory() if memory is None else memory
    children, sources = _children(bundle, memory)
    start = time.perf_counter()
    tools = tool_catalog(bundle)
    loaded = time.perf_counter() - start
    called = {**registered, **children}
    compiled = compile_workflow(
        bundle.source,
        tools,
        children=called,
        site=site,
        before=before,
        prune=prune,
        memory=memory,
    )
    timings = (("tools", loaded), *compiled.report.timings)
    return Checked(
        report=replace(compiled.report, timings=timings),
        plan=compiled.plan,
        workflow=compiled.workflow,
        sources={**sources, bundle.source.name: bundle.source},
    )


def _unreadable(source: Source, findings: tuple[Finding, ...]) -> Checked:
    report = Report(workflow="", version="", plan=None, findings=findings)
    return Checked(report=report, plan=None, workflow=None, sources={source.name: source})


def _children(bundle: Bundle, memory: Memory) -> tuple[dict[str, Plan], dict[str, Source]]:
    plans: dict[str, Plan] = {}
    sources: dict[str, Source] = {}
    for written, child in bundle.children.items():
        checked = check(child, memory=memory.of(written))
        sources.update(checked.sources)
        if checked.plan is not None:
            plans[written] = checked.plan
    return plans, sources


def tool_catalog(bundle: Bundle) -> ToolCatalog:
    """Compile the documents of a bundle's tools; one that can't be read is a problem in it."""
    if not bundle.documents:
        return ToolCatalog()
    from dagflow.tools.catalog import ToolSource, catalog  # many workflows have no tools

    readable = {
        name: ToolSource(text=document.text, location=document.location, server=document.server)
        for name, document in bundle.documents.items()
        if not document.problem
    }
    found = catalog(readable)
    unreadable = tuple(
        ToolProblem(tool=name, message=f"{document.location}: {document.problem}")
        for name, document in bundle.documents.items()
        if document.problem
    )
    return replace(found, problems=(*found.problems, *unreadable))
