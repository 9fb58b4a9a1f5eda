"""`foreach`: nested steps once for each item of a list."""

from __future__ import annotations

from dagflow.core.records import dataclass
from dagflow.core.shape import Cel, Int, Name, StepsOf, shaped
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.steps.kind import StepKind
from dagflow.core.workflow import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreach:
    """The output is a list in item order, one entry an item."""

    items: At[str] = shaped(Cel(), "the list")
    as_: At[str] | None = shaped(Name(), "name of the item (default `item`)", default=None)
    concurrency: At[int] | None = shaped(
        Int(minimum=1, maximum=10_000), "items at a time (default 1)", default=None
    )
    max_items: At[int] = shaped(Int(minimum=0, maximum=1_000_000), "bound of the list")
    tolerate: At[int] | None = shaped(Int(), "failed items allowed (default 0)", default=None)
    collect: At[str] | None = shaped(
        Cel(), "an entry, from the inner steps (default: output of the only sink)", default=None
    )
    steps: tuple[Step, ...] = shaped(StepsOf(), "the nested steps")
    span: Span = NOWHERE


KIND = StepKind("foreach", Foreach, "", "pure", "map", in_engine=True)
