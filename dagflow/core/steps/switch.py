"""`switch`: the first true branch is taken; its steps are the ones that may run."""

from __future__ import annotations

from dagflow.core.records import dataclass
from dagflow.core.shape import Cel, ListOf, Name, Record, shaped
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.steps.kind import StepKind

END = "end"
"""The branch target that means: nothing more on this way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """`{when: <CEL>, then: step | [steps] | end}`, or last `{else: …}`."""

    when: At[str] | None = shaped(Cel(), "the branch's condition", default=None)
    then: tuple[At[str], ...] = shaped(
        ListOf(Name(), single=True), "a step, a list of steps, or `end`", default=()
    )
    else_: tuple[At[str], ...] = shaped(
        ListOf(Name(), single=True), "the same, when no other branch is true", default=()
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """An ordered list of branches."""

    branches: tuple[Branch, ...] = shaped(ListOf(Record(Branch), minimum=1), "branches in order")
    span: Span = NOWHERE


KIND = StepKind("switch", Switch, "branches", "pure", "route", in_engine=True)
