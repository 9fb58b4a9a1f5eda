"""`fail`: end this way with an error of class `user`."""

from __future__ import annotations

from dagflow.core.node import Node
from dagflow.core.records import dataclass
from dagflow.core.shape import Template, shaped
from dagflow.core.source import NOWHERE, Span
from dagflow.core.steps.kind import StepKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """`fail: "why"`."""

    message: Node = shaped(Template(text=True), "what went wrong")
    span: Span = NOWHERE


KIND = StepKind("fail", Fail, "message", "pure", "fail", in_engine=True)
