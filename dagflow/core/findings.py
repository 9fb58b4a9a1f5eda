"""Findings: what the compiler tells the author about a workflow, and the report they make."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Literal, TypeAlias

from dagflow.core.records import dataclass
from dagflow.core.source import Span
from dagflow.core.values import JsonValue

if TYPE_CHECKING:
    from dagflow.core.plan import Plan


class Severity(Enum):
    """How a finding affects the plan. Only an error stops one from being made."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that a finding speaks of: "first written here"."""

    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text at `span` by `text`."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that would mend the finding, safe to apply by machine."""

    description: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem at one place, raised by one rule.

    `path` is the JSON Pointer of the place in the document; `witness` an input that shows it;
    `flow` the way that leads to it, place by place: of a value from where it comes from to where
    it must not go, or of a run through the steps.
    """

    code: str
    name: str
    severity: Severity
    message: str
    span: Span
    path: str = ""
    related: tuple[Related, ...] = ()
    flow: tuple[Related, ...] = ()
    witness: JsonValue = None
    help: str = ""
    fixes: tuple[Fix, ...] = ()


@dataclass(frozen=True, slots=True)
class Removal:
    """Something that pruning took out of the graph, and why.

    `kind` is "step", "edge", "branch" or "transition"; `name` names it ("a", "a -> b",
    "route[1]", "a: waiting -> ready"); `code` is the rule that proved it, or "".
    """

    kind: str
    name: str
    reason: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class GraphSize:
    """How many steps a graph has, and how many distinct pairs of steps have an edge."""

    nodes: int
    edges: int


Verdict: TypeAlias = Literal["proven", "safe", "undecided", "cannot", "impossible", "no_data"]
"""Whether a deadline is kept: by bounds alone (proven, impossible), by what was recorded (95 of
100 runs do, they don't, it can't be told), or nothing can be said for want of records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineVerdict:
    """What is known of a run's deadline, in seconds.

    Of a recorded verdict, `low` and `high` bound the share of runs that keep it, `runs` were
    drawn from `windows` recorded windows with `seed`. `scope` tells whether the steps had to wait
    for workers as recorded ("queued") or not ("isolated"); `missing` are the steps of which
    nothing is recorded.
    """

    verdict: Verdict
    deadline: float
    scope: Literal["isolated", "queued"] = "isolated"
    low: float = 0.0
    high: float = 1.0
    runs: int = 0
    windows: int = 0
    seed: int = 0
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSlack:
    """How a step bears on the time of a run: in what `share` of runs it is on the longest way,
    and how many seconds longer it may take until 1 run in 20 is late; None without a deadline.
    """

    step: str
    share: float
    slack: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBounds:
    """What one step, with all inside it, can come to at most in a run; None is no bound."""

    step: str
    time_worst: float | None
    tokens: int | None
    tool_calls: int | None
    memory: int | None
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBound:
    """What a run costs at most, in units of `currency` ("" where the site names none).

    `most` is None where it can't be told, for want of what `unknown` says. `estimated` tells that
    prompts are counted by the length of their text, four characters a token.
    """

    most: float | None
    currency: str = ""
    estimated: bool = False
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a run uses on average, by what each of its steps used in at least `runs` recorded runs.

    `tokens` are those of prompts, too. All are None where nothing is recorded of the steps that
    `missing` names; `cost` also where it has no price.
    """

    runs: int = 0
    steps: float | None = None
    tokens: float | None = None
    tool_calls: float | None = None
    items: float | None = None
    cost: float | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a run can cost at most; None where nothing bounds it. Times are in seconds.

    `tokens` are those that models may generate; what prompts hold is known at run time only.
    Times are those of a run whose steps wait for no worker. `percentiles` (50, 95, 99), `slack`
    and the recorded verdicts come from the site's history, where it knows every step, and so does
    what is `expected`. `cost` is None where nothing has a price.
    """

    steps: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    time_best: float | None = None
    time_worst: float | None = None
    peak_memory: int | None = None
    critical_path: tuple[str, ...] = ()
    items: int | None = None
    peak_concurrency: int | None = None
    percentiles: tuple[float, float, float] | None = None
    deadlines: tuple[DeadlineVerdict, ...] = ()
    slack: tuple[StepSlack, ...] = ()
    each: tuple[StepBounds, ...] = ()
    cost: CostBound | None = None
    expected: Expected | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What `dagflow check` found in one workflow.

    `allowed` are the findings that a comment of the author allows; they are none of `findings`.
    `fused` are the chains of steps that a worker does in one dispatch, `merged` pairs of a step
    and the equal one that is made in its place.
    """

    workflow: str
    version: str
    plan: Plan | None
    findings: tuple[Finding, ...]
    allowed: tuple[Finding, ...] = ()
    before: GraphSize = GraphSize(0, 0)
    after: GraphSize = GraphSize(0, 0)
    removed: tuple[Removal, ...] = ()
    fused: tuple[tuple[str, ...], ...] = ()
    merged: tuple[tuple[str, str], ...] = ()
    bounds: Bounds = Bounds()
    tools: tuple[tuple[str, str], ...] = ()
    timings: tuple[tuple[str, float], ...] = field(default=(), compare=False)

    @property
    def ok(self) -> bool:
        """Tell whether a plan was made."""
        return self.plan is not None
