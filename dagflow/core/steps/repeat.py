"""`repeat`: nested steps turn after turn, until a condition holds."""

from __future__ import annotations

from dagflow.core.records import dataclass
from dagflow.core.shape import Cel, Choice, Int, StepsOf, shaped
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.steps.kind import StepKind
from dagflow.core.workflow import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """The output is the last turn's: `collect`, or the output of the only sink."""

    steps: tuple[Step, ...] = shaped(StepsOf(), "the nested steps")
    until: At[str] = shaped(Cel(), "true ends the loop; sees the turn's steps, turn, previous")
    max: At[int] = shaped(Int(minimum=1, maximum=100_000), "turns at most")
    on_max: At[str] | None = shaped(
        Choice(("fail", "succeed")), "when `max` is reached (default fail)", default=None
    )
    collect: At[str] | None = shaped(
        Cel(),
        "a turn's value, from the inner steps (default: output of the only sink)",
        default=None,
    )
    span: Span = NOWHERE


KIND = StepKind("repeat", Repeat, "", "pure", "loop", in_engine=True)
