"""`transform`: a pure CEL expression whose value is the output."""

from __future__ import annotations

from dagflow.core.records import dataclass
from dagflow.core.shape import Cel, shaped
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.steps.kind import StepKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """`transform: <CEL>`."""

    expression: At[str] = shaped(Cel(), "the expression")
    span: Span = NOWHERE


KIND = StepKind("transform", Transform, "expression", "pure", "format")
