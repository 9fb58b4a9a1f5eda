"""The tool catalog of a workflow, made from documents that were already read."""

from __future__ import annotations

from collections.abc import Mapping

from dagflow.core.records import dataclass
from dagflow.core.tool import Tool, ToolCatalog, ToolProblem
from dagflow.tools.document import load_tool
from dagflow.tools.read import LIMITS, DocumentError, ReadLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSource:
    """A document as read: its text, where it came from, and a server to use instead of its own."""

    text: str
    location: str
    server: str | None = None


def catalog(refs: Mapping[str, ToolSource], *, limits: ReadLimits = LIMITS) -> ToolCatalog:
    """Return every tool that could be read, and a problem for each document that could not.

    Pure: the same texts give the same catalog, and nothing is fetched.
    """
    tools: dict[str, Tool] = {}
    problems: list[ToolProblem] = []
    for name, source in refs.items():
        try:
            tools[name] = load_tool(
                name,
                source.text,
                location=source.location,
                server=source.server,
                limits=limits,
            )
        except DocumentError as error:
            problems.append(ToolProblem(tool=name, message=str(error), location=source.location))
    return ToolCatalog(tools=tools, problems=tuple(problems))
