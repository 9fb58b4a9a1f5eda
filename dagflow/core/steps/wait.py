"""`wait`: for a duration, an instant, or a named signal."""

from __future__ import annotations

from datetime import timedelta

from dagflow.core.node import Node
from dagflow.core.records import dataclass
from dagflow.core.shape import Bool, Duration, Name, Template, shaped
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.steps.kind import StepKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Exactly one of `for`, `until` and `signal`; a signal's payload is typed by `output`."""

    for_: At[timedelta] | None = shaped(Duration(), "how long", default=None)
    until: Node | None = shaped(
        Template(text=True), "an RFC 3339 instant, or a template of one", default=None
    )
    signal: At[str] | None = shaped(Name(), "name of the signal", default=None)
    expires: At[timedelta] | None = shaped(
        Duration(), "fail(expired) when no signal came", default=None
    )
    pause_clock: At[bool] | None = shaped(
        Bool(), "the run's deadline stands still while only this waits", default=None
    )
    span: Span = NOWHERE


KIND = StepKind("wait", Wait, "for_", "pure", "wait", in_engine=True)
