"""The workflow as written: every part with its place, nothing resolved yet."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypeAlias

from dagflow.core.errors import ERROR_CLASSES
from dagflow.core.node import Node
from dagflow.core.records import dataclass
from dagflow.core.shape import (
    AnyOf,
    Cel,
    Choice,
    Duration,
    FieldsOf,
    Int,
    ListOf,
    MapOf,
    Name,
    Number,
    Rate,
    Record,
    Size,
    Str,
    Table,
    Template,
    shaped,
)
from dagflow.core.source import NOWHERE, At, Source, Span
from dagflow.core.values import Schema

ErrorName = Choice(tuple(sorted(ERROR_CLASSES)))


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A JSON Schema as the author wrote it, made whole (`string?` → type string, optional).

    `optional` is set by a trailing `?` or by a `default`; the default itself stays in `schema`.
    """

    schema: Schema
    optional: bool
    node: Node
    span: Span


@dataclass(frozen=True, slots=True)
class FieldDecl:
    """One named field of `inputs`, `input` or `output`."""

    name: At[str]
    type: SchemaText


@dataclass(frozen=True, slots=True)
class Declared:
    """A declared type: named fields (a closed object), or one whole schema."""

    fields: tuple[FieldDecl, ...]
    whole: SchemaText | None
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """`{step: x, on: success}`: a control edge that the author wrote."""

    step: At[str] = shaped(Name(), "the step to wait for")
    on: At[str] | None = shaped(
        Choice(("success", "failure", "skipped", "done")),
        "how that step must have ended (default success)",
        default=None,
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLeast:
    """`{at_least: n}`: enough control edges taken."""

    at_least: At[int] = shaped(Int(minimum=1), "how many control edges must have been taken")
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """When and how often a failed attempt is made again."""

    attempts: At[int] | None = shaped(
        Int(minimum=1, maximum=100), "attempts in all, the first included", default=None
    )
    backoff: At[timedelta] | None = shaped(Duration(), "delay before attempt 2", default=None)
    factor: At[float] | None = shaped(
        Number(minimum=1, maximum=100), "growth of the delay", default=None
    )
    max: At[timedelta] | None = shaped(Duration(), "the longest delay", default=None)
    jitter: At[float] | None = shaped(
        Number(minimum=0, maximum=1), "share of the delay added at random", default=None
    )
    on: tuple[At[str], ...] = shaped(
        ListOf(ErrorName, single=True), "error classes that are retried", default=()
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """`{on: [classes], continue: value}` or `{on, goto: step}`: what a failure turns into."""

    on: tuple[At[str], ...] = shaped(
        ListOf(ErrorName, single=True), "error classes handled; none named means all", default=()
    )
    continue_: Node | None = shaped(Template(), "succeed with this output instead", default=None)
    goto: At[str] | None = shaped(Name(), "go on with this later step", default=None)
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """Reuse of an earlier output for equal inputs."""

    ttl: At[timedelta] = shaped(Duration(), "how long an output may be reused")
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Hard limits of one action."""

    memory: At[int] | None = shaped(Size(), "memory, a wall", default=None)
    cpu: At[float] | None = shaped(
        Number(minimum=0.01, maximum=1024), "cores, a wall", default=None
    )
    share: At[float] | None = shaped(
        Number(minimum=0.01, maximum=1024), "cores, guaranteed", default=None
    )
    pids: At[int] | None = shaped(Int(minimum=1, maximum=1_000_000), "processes", default=None)
    io: At[int] | None = shaped(Rate(), "disk bandwidth", default=None)
    time: At[timedelta] | None = shaped(Duration(), "processor time", default=None)
    output: At[int] | None = shaped(Size(), "bytes of stdout, stderr and result", default=None)
    workspace: At[int] | None = shaped(Size(), "size of the working folder", default=None)
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a whole run may use."""

    tokens: At[int] | None = shaped(Int(), "model tokens", default=None)
    tool_calls: At[int] | None = shaped(Int(), "tool calls", default=None)
    items: At[int] | None = shaped(Int(), "foreach items", default=None)
    cost: At[float] | None = shaped(Number(), "cost in the currency of the models", default=None)
    span: Span = NOWHERE


Body: TypeAlias = Any
"""An instance of the dataclass that the step's kind declares (`core/steps/<kind>.py`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step. `kind` is a key of `core.steps.KINDS`; `body` what stands under that key."""

    name: At[str]
    kind: At[str]
    body: Body
    after: tuple[After, ...] = shaped(
        ListOf(Record(After, shorthand="step"), single=True),
        "steps to wait for: `x` or `{step: x, on: success|failure|skipped|done}`",
        default=(),
    )
    when: At[str] | None = shaped(Cel(), "the guard; false skips the step", default=None)
    join: At[str] | AtLeast | None = shaped(
        AnyOf((Choice(("all", "any", "first")), Record(AtLeast))),
        "how many control edges must have been taken (default all)",
        default=None,
    )
    with_: Node | None = shaped(Template(), "arguments", default=None)
    input: Declared | None = shaped(FieldsOf(), "declared type of `with`", default=None)
    output: Declared | None = shaped(
        FieldsOf(whole=True), "declared type of the output", default=None
    )
    retry: Retry | None = shaped(Record(Retry, shorthand="attempts"), "retries", default=None)
    timeout: At[timedelta] | None = shaped(Duration(), "bound of one attempt", default=None)
    deadline: At[timedelta] | None = shaped(Duration(), "bound of all attempts", default=None)
    on_error: tuple[Handler, ...] = shaped(
        ListOf(Record(Handler), single=True), "what failures turn into, in order", default=()
    )
    compensate: Step | None = None  # read as a step body; named `<step>.compensate`
    cache: Cache | None = shaped(Record(Cache), "reuse of outputs", default=None)
    effects: At[str] | None = shaped(
        Choice(("pure", "idempotent", "once")), "what running it twice would do", default=None
    )
    quota: Quota | None = shaped(Record(Quota), "hard limits", default=None)
    placement: Node | None = shaped(Template(), "labels a worker must have", default=None)
    priority: At[int] | None = shaped(
        Int(minimum=0, maximum=9), "0 lowest, 9 highest", default=None
    )
    queue: At[str] | None = shaped(Name(), "the queue", default=None)
    trust: At[str] | None = shaped(
        Str(), "why what the step takes may be trusted, where it comes from outside", default=None
    )
    action: At[str] | None = shaped(
        Name(), "what the step is for (retrieval, validate, act, …)", default=None
    )
    description: At[str] | None = shaped(Str(), "for people", default=None)
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRef:
    """Where a tool's OpenAPI document is."""

    openapi: At[str] | None = shaped(Str(), "path of the document, from this file", default=None)
    registry: At[str] | None = shaped(Name(), "name of a registered tool", default=None)
    version: At[str] | None = shaped(Str(), "pinned version of the document", default=None)
    server: At[str] | None = shaped(Str(), "base URL, instead of the document's", default=None)
    auth: Node | None = shaped(Template(), "security scheme → `${{ secrets.NAME }}`", default=None)
    responses: At[str] | None = shaped(
        Choice(("strict", "warn", "off")),
        "what a response that breaks its schema does (default strict)",
        default=None,
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """What a model asks for a million tokens."""

    prompt: At[float] = shaped(Number(), "for a million tokens of prompts")
    answer: At[float] = shaped(Number(), "for a million tokens of answers")
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRef:
    """A model that llm steps may name."""

    route: At[str] | None = shaped(
        Name(), "`local` (dagflow llm) or a configured route", default=None
    )
    url: At[str] | None = shaped(Str(), "base URL of an OpenAI-compatible server", default=None)
    model: At[str] | None = shaped(Str(), "the model's name there", default=None)
    api_key: Node | None = shaped(Template(text=True), "`${{ secrets.NAME }}`", default=None)
    context: At[int] | None = shaped(
        Int(minimum=1), "how many tokens prompt and answer may have together", default=None
    )
    price: ModelPrice | None = shaped(
        Record(ModelPrice), "what a million tokens cost; counts for `budget.cost`", default=None
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Concurrency:
    """At most `limit` runs of one group at a time."""

    group: Node = shaped(Template(text=True), "the group's name")
    limit: At[int] = shaped(Int(minimum=1), "how many at a time")
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """Runs that a request starts."""

    inputs: Node | None = shaped(Template(), "inputs that the request need not give", default=None)
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Runs that the clock starts."""

    cron: At[str] = shaped(
        Str(max_length=200), "minute, hour, day, month and weekday, as in `0 7 * * 1-5`"
    )
    zone: At[str] | None = shaped(
        Str(max_length=64), "time zone, like Europe/Berlin (default UTC)", default=None
    )
    overlap: At[str] | None = shaped(
        Choice(("skip", "queue", "allow")),
        "when the last run isn't over: skip this one (default), let it wait, or start it too",
        default=None,
    )
    inputs: Node | None = shaped(Template(), "inputs of the run", default=None)
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """How runs are started, beside by people."""

    http: Called | None = shaped(Record(Called), "by a request", default=None)
    webhook: Called | None = shaped(Record(Called), "by another system", default=None)
    schedule: tuple[Schedule, ...] = shaped(
        ListOf(Record(Schedule, shorthand="cron"), single=True), "by the clock", default=()
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """Bounds of compensation and `finally`."""

    deadline: At[timedelta] | None = shaped(Duration(), "bound of all of it", default=None)
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What steps take when they say nothing."""

    timeout: At[timedelta] | None = shaped(Duration(), "bound of one attempt", default=None)
    retry: Retry | None = shaped(Record(Retry, shorthand="attempts"), "retries", default=None)
    quota: Quota | None = shaped(Record(Quota), "hard limits", default=None)
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A whole file. `steps` and `finally_` are in the order of the file."""

    source: Source
    root: Node
    dagflow: At[int] = shaped(Int(minimum=1, maximum=1), "version of the language: 1")
    name: At[str] = shaped(Name(), "the workflow's name")
    version: At[str] | None = shaped(Str(max_length=63), "the author's version", default=None)
    description: At[str] | None = shaped(Str(), "for people", default=None)
    inputs: Declared | None = shaped(FieldsOf(), "name → schema", default=None)
    outputs: Table[Node] = shaped(MapOf(Template()), "name → value", default=Table())
    tools: Table[ToolRef] = shaped(MapOf(Record(ToolRef)), "tools by name", default=Table())
    secrets: tuple[At[str], ...] = shaped(ListOf(Name()), "names of secrets", default=())
    models: Table[ModelRef] = shaped(MapOf(Record(ModelRef)), "models by name", default=Table())
    triggers: Triggers | None = shaped(Record(Triggers), "how runs are started", default=None)
    deadline: At[timedelta] | None = shaped(Duration(), "bound of the run", default=None)
    budget: Budget | None = shaped(Record(Budget), "bounds of use", default=None)
    concurrency: Concurrency | None = shaped(Record(Concurrency), "runs at a time", default=None)
    defaults: Defaults | None = shaped(Record(Defaults), "defaults of steps", default=None)
    steps: tuple[Step, ...] = ()
    finally_: tuple[Step, ...] = ()
    cleanup: Cleanup | None = shaped(Record(Cleanup), "bounds of clean-up", default=None)
    on_failure: At[str] | None = shaped(
        Choice(("continue", "stop")),
        "after an unhandled failure: go on with independent steps (default), or stop",
        default=None,
    )
    span: Span = NOWHERE
