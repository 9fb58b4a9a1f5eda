"""Tools as the compiler sees them: operations with typed arguments and responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from dagflow.core.records import dataclass
from dagflow.core.steps.kind import Effects
from dagflow.core.values import JsonObject, Schema

ParameterPlace: TypeAlias = Literal["path", "query", "header", "cookie"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a tool, compiled from its OpenAPI document.

    `id` is "<tool>.<METHOD> <path template>"; `operation_id` the document's name for it.
    `arguments` is the closed object schema of a step's `with`: groups `path`, `query`, `header`,
    `cookie` and `body`, each there only when the operation has it. `output` is the schema of the
    step's output: `{status: integer, headers: object, body: …}` over the 2xx responses.
    `wire` is what a caller needs to build the request and read the response (plain JSON).
    `version` is the hash of the operation's whole closure; `notes` say what of it was left out.
    """

    id: str
    operation_id: str
    method: str
    path: str
    arguments: Schema
    output: Schema
    effects: Effects
    version: str
    deprecated: bool = False
    summary: str = ""
    wire: JsonObject = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProblem:
    """Something wrong in a document: fatal for it, or for one operation only (quarantined)."""

    tool: str
    message: str
    operation: str = ""
    location: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One document: its operations by id, and the names by which steps may call them.

    `operations` and `refusals` may be computed when an id is asked for: ask for ids found in
    `names` rather than going through all. An id is in exactly one of the two; `refusals` says why
    an operation can't be called.
    """

    name: str
    version: str
    operations: Mapping[str, Operation]
    names: Mapping[str, tuple[str, ...]]
    problems: tuple[ToolProblem, ...] = ()
    refusals: Mapping[str, ToolProblem] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCatalog:
    """Every tool that a compilation may use, under the name the workflow gives it.

    `problems` are documents that could not be read at all.
    """

    tools: Mapping[str, Tool] = field(default_factory=dict)
    problems: tuple[ToolProblem, ...] = ()
