"""The plan: a workflow as proven. Immutable, content-addressed, self-contained.

The compiler writes it and the engine runs it; nothing else passes between them. A plan as JSON is
`to_json(plan)` with sorted keys; its digest covers everything but the digest itself.

Paths: a *static* path names a step of the plan (`loop.grade`); a *run* path names one execution
of it (`loop[3].grade`). A compensation is the step `<step>.compensate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from dagflow.core.errors import ErrorClass
from dagflow.core.records import dataclass
from dagflow.core.steps.kind import Effects
from dagflow.core.values import JsonObject, JsonValue, Schema, digest

PLAN_VERSION = 1
CLEANUP_SECONDS = 60.0
"""How long compensations and `finally` may take together where nothing else is said."""

MAX_PLAN_DEPTH = 512
"""How deep a plan's JSON may be: an expression may nest 32 deep, and its AST several times that."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked CEL expression.

    `text` is what the author wrote; `ast` our canonical AST after lowering, which is what runs;
    `reads` the paths it reads, each from its root variable (`("steps", "fetch", "output")`),
    which is all that an activation must hold; `line` and `column` the place of the text's first
    character in the workflow file.
    """

    text: str
    ast: JsonObject
    reads: tuple[tuple[str, ...], ...] = ()
    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class Literal_:  # noqa: N801  # `Literal` is typing's
    """A JSON value as it stands."""

    literal: JsonValue


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A string that was one `${{ … }}`: the expression's value, with its type."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Joined:
    """A string with expressions in it: the parts written as text and joined."""

    parts: tuple[str | Expression, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of values."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Keyed:
    """An object of values, in the order of the file."""

    entries: tuple[tuple[str, Value], ...]


Value: TypeAlias = Literal_ | Evaluated | Joined | Listed | Keyed
"""What a template became. Subtrees without expressions are one `Literal_`."""


def expressions_in(value: Value) -> Iterator[Expression]:
    """Yield the expressions of a template, in its order."""
    match value:
        case Literal_():
            return
        case Joined():
            yield from (part for part in value.parts if isinstance(part, Expression))
        case Listed():
            for item in value.items:
                yield from expressions_in(item)
        case Keyed():
            for _, entry in value.entries:
                yield from expressions_in(entry)
        case _:
            yield value.expression


EdgeOn: TypeAlias = Literal["success", "failure", "skipped", "done", "goto"]


@dataclass(frozen=True, slots=True)
class ControlEdge:
    """A control edge from `step`, taken when any of its conditions holds.

    `on` are the ways in which that step may have ended; `branches` the indices of a switch's
    branches (taken when one of them was chosen); "goto" is taken when a failure of `step` was
    handled by a `goto` (or `on_expiry: {goto}`) to this step.
    """

    step: str
    on: tuple[EdgeOn, ...] = ()
    branches: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """How many control edges must be taken: `all`, `any`, or at least `n` as soon as they are."""

    mode: Literal["all", "any", "at_least"] = "all"
    n: int = 0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Retries; times in seconds. Delay n = min(max, backoff·factor^(n-1))·(1 + jitter·u)."""

    attempts: int = 1
    backoff: float = 1.0
    factor: float = 2.0
    max: float = 60.0
    jitter: float = 0.1
    on: tuple[ErrorClass, ...] = ("timeout", "network", "http_5xx", "rate_limited", "lost")


@dataclass(frozen=True, slots=True)
class ErrorHandler:
    """One `on_error` entry; no classes means every class. Exactly one of the two actions is set."""

    on: tuple[ErrorClass, ...] = ()
    continue_: Value | None = None
    goto: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits of one action. Sizes in bytes, times in seconds, cores as fractions."""

    memory: int = 512 * 1024 * 1024
    cpu: float = 1.0
    share: float = 0.1
    pids: int = 64
    io: int = 50_000_000
    time: float | None = None
    output: int = 1024 * 1024
    workspace: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Constraint:
    """One move that the engine may make for a step, and the checked condition of it.

    `before` and `after` are labels of `core.run.STATES`; `guard` is CEL over `steps`, `inputs`
    and, where it applies, `error`, `attempt`, `now` — "true" where nothing more is asked. In a
    plan file the labels are `from` and `to`.
    """

    step: str
    before: str = field(metadata={"json": "from"})
    after: str = field(metadata={"json": "to"})
    guard: str = "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPlan:
    """One branch of a switch; `when` is None for `else`. `targets` empty means `end`."""

    when: Expression | None
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One step, proven.

    `path` is static. `needs` are the producers whose success a plain read requires; `awaits`
    those that must only be decided (and, under at_least, only where they aren't control
    producers). `arguments` is the step's `with`; `body` holds what the kind needs at run time:
    templates as `Value`, everything else as plain JSON (see `docs/plan.md`). `input_schema` and
    `output_schema` are checked at run time where `check_input` / `check_output` say that the
    compiler could not decide (and outputs of tools, models and code always).
    """

    path: str
    kind: str
    action: str
    effects: Effects
    after: tuple[ControlEdge, ...] = ()
    join: Join = Join()
    needs: tuple[str, ...] = ()
    awaits: tuple[str, ...] = ()
    when: Expression | None = None
    arguments: Value | None = None
    body: Mapping[str, JsonValue] = field(default_factory=dict)
    templates: Mapping[str, Value] = field(default_factory=dict)
    expressions: Mapping[str, Expression] = field(default_factory=dict)
    branches: tuple[BranchPlan, ...] = ()
    block: tuple[PlanStep, ...] = ()
    child: Plan | None = None
    compensate: PlanStep | None = None
    input_schema: Schema = True
    output_schema: Schema = True
    check_input: bool = False
    check_output: bool = False
    retry: RetryPolicy = RetryPolicy()
    timeout: float | None = None
    deadline: float | None = None
    on_error: tuple[ErrorHandler, ...] = ()
    cache_ttl: float | None = None
    limits: Limits = Limits()
    priority: int = 5
    queue: str = "default"
    description: str = ""
    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a step is drawn: its layer (from the left) and its row in it."""

    layer: int
    row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    """What the run may use; None is no bound."""

    tokens: int | None = None
    tool_calls: int | None = None
    items: int | None = None
    cost: float | None = None


Reaches: TypeAlias = Literal["decides", "asks", "acts"]
"""What text does where it ends: it decides what is done (a program, a system message, a header,
what a request changes) · a model is asked with it, and what that writes changes something
outside · it changes something outside itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedText:
    """Where text that is given to a workflow as an input comes to matter inside of it.

    `input` is "*" where it is any of very many. `step` is the static path of the step, `call/step`
    inside another workflow; `message` says
    what text that decides would be there.
    """

    input: str
    how: Reaches
    step: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenText:
    """Whose text an output may hold: labels of what the workflow reads itself, and its inputs."""

    output: str
    labels: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What whoever calls a workflow must know of the text that goes in and comes out."""

    reached: tuple[ReachedText, ...] = ()
    given: tuple[GivenText, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Plan:
    """A whole workflow, proven. Times are in seconds.

    `tools` holds, under each operation's id, the pinned operation as `tools.compile` made it
    (plain JSON, with its servers, security and reference closure); `models` each model route;
    `inputs_schema` is a closed object whose defaults are filled in at submission. `fused` are
    chains of steps (static paths) that a worker may do one after another and report together.
    `texts` is None where no text from outside goes through the workflow.
    """

    name: str
    version: str
    description: str = ""
    plan_version: int = PLAN_VERSION
    inputs_schema: Schema = True
    outputs: tuple[tuple[str, Value], ...] = ()
    outputs_schema: Schema = True
    steps: tuple[PlanStep, ...] = ()
    finally_: tuple[PlanStep, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    deadline: float | None = None
    budget: BudgetLimits = BudgetLimits()
    on_failure: Literal["continue", "stop"] = "continue"
    cleanup_deadline: float = CLEANUP_SECONDS
    tools: Mapping[str, JsonObject] = field(default_factory=dict)
    models: Mapping[str, JsonObject] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    triggers: JsonValue = None
    concurrency: Value | None = None
    concurrency_limit: int | None = None
    layout: Mapping[str, Place] = field(default_factory=dict)
    source_name: str = ""
    fused: tuple[tuple[str, ...], ...] = field(default=(), metadata={"optional": True})
    texts: Texts | None = field(default=None, metadata={"optional": True})
    _digest: str = field(
        default="", init=False, repr=False, compare=False, metadata={"json": "digest"}
    )

    @property
    def digest(self) -> str:
        """Return "sha256:…" of the rest of the plan; worked out when it is first asked for."""
        if not self._digest:
            from dagflow.core.codec import given

            object.__setattr__(self, "_digest", digest(given(self)))
        return self._digest


def steps_of(plan: Plan) -> Iterator[PlanStep]:
    """Yield every step of a plan in the order of the file: each before what is inside of it, and
    before its compensation. Called workflows are plans of their own.
    """
    yield from _whole(plan.steps)
    yield from _whole(plan.finally_)


def _whole(steps: Iterable[PlanStep]) -> Iterator[PlanStep]:
    for step in steps:
        yield step
        yield from _whole(step.block)
        if step.compensate is not None:
            yield from _whole((step.compensate,))
