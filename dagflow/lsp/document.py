"""One open file: its text as it stands, what the compiler says of it, and what was known last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from dagflow.compiler import Memory
from dagflow.compiler.model import Model
from dagflow.compiler.source.parse import parse
from dagflow.compiler.types.infer import model_of
from dagflow.core.findings import Finding
from dagflow.core.plan import Plan
from dagflow.core.records import dataclass
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog
from dagflow.core.workflow import Workflow
from dagflow.service.bundle import Bundle, edited_bundle
from dagflow.service.check import check, tool_catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A workflow's text and what is known of it.

    `workflow` and `model` are those of the last text that could be read: while somebody types
    there is mostly a mistake, and completion is wanted then. `memory` makes the next check fast.
    """

    source: Source
    findings: tuple[Finding, ...] = ()
    workflow: Workflow | None = None
    model: Model | None = None
    catalog: ToolCatalog = ToolCatalog()
    memory: Memory = field(default_factory=Memory)


def opened(path: str, text: str, before: Document | None = None) -> Document:
    """Check a file's text; the files that it refers to are read from disk."""
    bundle = edited_bundle(path, text)
    memory = Memory() if before is None else before.memory
    checked = check(bundle, memory=memory)
    catalog = tool_catalog(bundle)
    workflow = parse(bundle.source).workflow
    if workflow is None:
        kept = before if before is not None else Document(source=bundle.source, memory=memory)
        return replace(kept, source=bundle.source, findings=checked.report.findings)
    return Document(
        source=bundle.source,
        findings=checked.report.findings,
        workflow=workflow,
        model=model_of(workflow, catalog, _children(bundle, memory), memory=memory),
        catalog=catalog,
        memory=memory,
    )


def _children(bundle: Bundle, memory: Memory) -> Mapping[str, Plan]:
    plans = {
        name: check(child, memory=memory.of(name)).plan for name, child in bundle.children.items()
    }
    return {name: plan for name, plan in plans.items() if plan is not None}
