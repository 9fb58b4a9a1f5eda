"""`approve`: a person decides."""

from __future__ import annotations

from datetime import timedelta

from dagflow.core.node import Node
from dagflow.core.records import dataclass
from dagflow.core.shape import AnyOf, Bool, Choice, Duration, Name, Record, Template, shaped
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.steps.kind import StepKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Goto:
    """`{goto: step}`."""

    goto: At[str] = shaped(Name(), "a later step of the same block")
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """The output is `{by, at, comment}`; `with` are the exact arguments that are released."""

    message: Node = shaped(Template(text=True), "what the person is asked")
    expires: At[timedelta] | None = shaped(Duration(), "time to decide", default=None)
    on_expiry: At[str] | Goto | None = shaped(
        AnyOf((Choice(("reject", "fail")), Record(Goto))),
        "when nobody decided: reject (default), fail, or {goto: step}; never approve",
        default=None,
    )
    pause_clock: At[bool] | None = shaped(
        Bool(), "the run's deadline stands still while only this waits", default=None
    )
    span: Span = NOWHERE


KIND = StepKind("approve", Approve, "message", "pure", "approve", in_engine=True)
