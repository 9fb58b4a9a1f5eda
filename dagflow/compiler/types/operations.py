"""Which operation of which tool a `tool` step means."""

from __future__ import annotations

from dagflow.core.records import dataclass
from dagflow.core.steps.tool import Tool as ToolStep
from dagflow.core.tool import Operation, Tool, ToolCatalog
from dagflow.core.words import nearest
from dagflow.core.workflow import Step, Workflow


@dataclass(frozen=True, slots=True)
class Found:
    """The operation, or the rule, message and help of why there is none (both None: silent)."""

    operation: Operation | None = None
    fault: tuple[str, str, str] | None = None


def find_operation(workflow: Workflow, catalog: ToolCatalog, step: Step) -> Found:
    """Return the operation that a step calls; of a document that can't be read, nothing is said."""
    if not isinstance(step.body, ToolStep):
        return Found()
    name, _, wanted = step.body.operation.value.partition(".")
    tool = catalog.tools.get(name)
    if tool is not None:
        return _in_tool(tool, wanted)
    if name in workflow.tools.names():
        return Found()  # the entry under `tools` says it
    hint = nearest(name, workflow.tools.names())
    help_ = "" if hint else f"declare it under `tools: {{{name}: {{openapi: <file>}}}}`"
    return Found(fault=("unknown-name", f"no tool is named {name!r}{hint}", help_))


def _in_tool(tool: Tool, wanted: str) -> Found:
    ids = tool.names.get(wanted, ())
    if len(ids) > 1:
        message = f"{tool.name!r} has {len(ids)} operations named {wanted!r}"
        return Found(fault=("tool-ambiguous", message, f"write one of: {', '.join(ids)}"))
    broken = tool.refusals.get(ids[0]) if ids else None
    if broken is None and ids and ids[0] in tool.operations:
        return Found(operation=tool.operations[ids[0]])
    if broken is not None:
        message = f"operation {wanted!r} of {tool.name!r} can't be used: {broken.message}"
        return Found(fault=("tool-unknown", message, broken.location))
    return _missing(tool, wanted)


def _missing(tool: Tool, wanted: str) -> Found:
    known = tuple(tool.names)
    hint = nearest(wanted, known)
    listed = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")  # noqa: PLR2004  # a line
    help_ = (
        "" if hint else (f"it has: {listed}" if known else "it has no operation that can be used")
    )
    message = f"tool {tool.name!r} has no operation {wanted!r}{hint}"
    return Found(fault=("tool-unknown", message, help_))
