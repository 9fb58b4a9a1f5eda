"""`workflow`: a child run of another workflow."""

from __future__ import annotations

from dagflow.core.records import dataclass
from dagflow.core.shape import Name, Str, shaped
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.steps.kind import StepKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SubWorkflow:
    """`{file: ./x.yaml}` or `{name, version}`; `with` are its inputs."""

    file: At[str] | None = shaped(Str(), "path of the file, from this file", default=None)
    name: At[str] | None = shaped(Name(), "a registered workflow", default=None)
    version: At[str] | None = shaped(Str(), "its version", default=None)
    span: Span = NOWHERE


KIND = StepKind("workflow", SubWorkflow, "file", "once", "call", in_engine=True)
