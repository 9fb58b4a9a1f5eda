"""`tool`: one operation of an OpenAPI document."""

from __future__ import annotations

from datetime import timedelta

from dagflow.core.records import dataclass
from dagflow.core.shape import Str, shaped
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.steps.kind import StepKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`tool: helpdesk.getTicket`; arguments stand in the step's `with` by group."""

    operation: At[str] = shaped(
        Str(pattern=r"[A-Za-z_][\w-]*\..+"),
        "`<tool>.<operationId>` or `<tool>.<METHOD /path>`",
    )
    span: Span = NOWHERE


KIND = StepKind("tool", Tool, "operation", "once", "act", timedelta(seconds=30))
