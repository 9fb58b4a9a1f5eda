"""A test file as written: what each case gives a run, and what it expects of it.

The names under `steps`, `approvals` and the like are run paths, as reports show them:
`loop.grade` is that step in every item or turn, `loop[3].grade` in one, and `call/fetch` the step
`fetch` of the child run that `call` starts.
"""

from __future__ import annotations

from datetime import timedelta

from dagflow.core.node import Node
from dagflow.core.records import dataclass
from dagflow.core.shape import (
    AnyOf,
    Choice,
    Duration,
    Int,
    ListOf,
    MapOf,
    Record,
    Str,
    Table,
    Template,
    shaped,
)
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.workflow import ErrorName

NAME = Str(pattern=r"[^\n]*\S[^\n]*", max_length=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """A failure, by its class."""

    class_: At[str] = shaped(ErrorName, "the class of the failure")
    message: At[str] | None = shaped(Str(), "its message", default=None)
    retry_after: At[timedelta] | None = shaped(
        Duration(), "how long the server asks to wait before the next attempt", default=None
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one attempt of a step comes to."""

    output: Node | None = shaped(Template(), "the step's output, of any kind", default=None)
    error: Failing | None = shaped(
        Record(Failing, shorthand="class_"), "the class of a failure", default=None
    )
    status: At[int] | None = shaped(
        Int(minimum=200, maximum=599), "of a tool: the status of the HTTP response", default=None
    )
    headers: Table[At[str]] | None = shaped(
        MapOf(Str(), free=True), "of a tool: the headers of the response", default=None
    )
    body: Node | None = shaped(Template(), "of a tool: the body of the response", default=None)
    text: At[str] | None = shaped(Str(), "of an llm: what the model writes", default=None)
    tokens: At[int] | None = shaped(
        Int(), "of an llm: tokens used (default: guessed from the lengths)", default=None
    )
    stdout: At[str] | None = shaped(Str(), "of a shell: what it prints", default=None)
    stderr: At[str] | None = shaped(Str(), "of a shell: what it complains", default=None)
    exit_code: At[int] | None = shaped(
        Int(maximum=255), "of a shell: its exit code (default 0)", default=None
    )
    takes: At[timedelta] | None = shaped(
        Duration(), "how long the attempt takes on the run's clock (default 0s)", default=None
    )
    times: At[int] | None = shaped(
        Int(minimum=1, maximum=100_000), "in a list: so many times (default 1)", default=None
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A person's answer to an approval; `never` is that nobody answers."""

    decision: At[str] = shaped(Choice(("approve", "reject", "never")), "what the person says")
    by: At[str] | None = shaped(Str(max_length=200), "who says it (default tester)", default=None)
    comment: At[str] | None = shaped(Str(), "the comment", default=None)
    after: At[timedelta] | None = shaped(
        Duration(), "how long after it was asked (default 0s)", default=None
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A signal; `after` and `at` exclude each other."""

    payload: Node | None = shaped(Template(), "the payload", default=None)
    after: At[timedelta] | None = shaped(
        Duration(), "how long after a step began to wait for it (default 0s)", default=None
    )
    at: At[timedelta] | None = shaped(
        Duration(), "how long after the start of the run, waited for or not", default=None
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A person's word on an outcome that nobody knows."""

    outcome: At[str] = shaped(Choice(("done", "not_done")), "whether the effect happened")
    output: Node | None = shaped(Template(), "the output of a step that was done", default=None)
    after: At[timedelta] | None = shaped(
        Duration(), "how long after it became unknown (default 0s)", default=None
    )
    span: Span = NOWHERE


Signals = AnyOf((Choice(("never",)), Record(Sent)))
Answers = ListOf(Record(Answer), minimum=1, single=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a run meets: what the cases of a file have in common, or one of them."""

    inputs: Node | None = shaped(Template(), "the run's inputs", default=None)
    clock: At[str] | None = shaped(
        Str(max_length=40), "the instant of the start (default 2026-01-01T00:00:00Z)", default=None
    )
    steps: Table[tuple[Answer, ...]] = shaped(
        MapOf(Answers, free=True), "what steps answer, by their path", default=Table()
    )
    tools: Table[tuple[Answer, ...]] = shaped(
        MapOf(Answers, free=True), "what tools answer, by their operation", default=Table()
    )
    models: Table[tuple[Answer, ...]] = shaped(
        MapOf(Answers), "what models answer, by their name in the workflow", default=Table()
    )
    approvals: Table[tuple[Decided, ...]] = shaped(
        MapOf(ListOf(Record(Decided, shorthand="decision"), minimum=1, single=True), free=True),
        "what people answer, by the path of the approve step",
        default=Table(),
    )
    signals: Table[tuple[At[str] | Sent, ...]] = shaped(
        MapOf(ListOf(Signals, minimum=1, single=True)),
        "the signals sent, by name; `never` is that none comes",
        default=Table(),
    )
    settle: Table[tuple[Settled, ...]] = shaped(
        MapOf(ListOf(Record(Settled, shorthand="outcome"), minimum=1, single=True), free=True),
        "what people say of unknown outcomes, by the path of the step",
        default=Table(),
    )
    cancel: At[timedelta] | None = shaped(
        Duration(), "cancel the run so long after its start", default=None
    )
    real: tuple[At[str], ...] = shaped(
        ListOf(Str(), single=True),
        "python and shell steps that run in the sandbox, by path, or `all`",
        default=(),
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedError:
    """How something failed."""

    class_: At[str] = shaped(ErrorName, "the class of the failure")
    message: At[str] | None = shaped(Str(), "a text that the message contains", default=None)
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedStep:
    """What becomes of a step; what is not said is not looked at."""

    status: At[str] | None = shaped(
        Choice(("succeeded", "failed", "timed_out", "skipped", "cancelled", "pending")),
        "how the step ended; `pending`: it never came to it",
        default=None,
    )
    reason: At[str] | None = shaped(
        Choice(("guard", "upstream", "recovered")), "why, as `dagflow runs show` says", default=None
    )
    attempts: At[int] | None = shaped(Int(), "how many attempts were made", default=None)
    output: Node | None = shaped(Template(), "its output", default=None)
    error: ExpectedError | None = shaped(
        Record(ExpectedError, shorthand="class_"), "how it failed", default=None
    )
    with_: Node | None = shaped(Template(), "the arguments that it was called with", default=None)
    asked: At[str] | None = shaped(
        Str(), "a text that the prompt, or the message of an approval, contains", default=None
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What becomes of the run; what is not said is not looked at, but for its success."""

    status: At[str] | None = shaped(
        Choice(("succeeded", "failed", "timed_out", "cancelled")),
        "how the run ended (default succeeded, or failed where `error` is there)",
        default=None,
    )
    outputs: Table[Node] = shaped(MapOf(Template()), "outputs of the run, by name", default=Table())
    error: ExpectedError | None = shaped(
        Record(ExpectedError, shorthand="class_"), "how the run failed", default=None
    )
    path: tuple[tuple[At[str], ...], ...] | None = shaped(
        ListOf(ListOf(Str(), single=True)),
        "the steps of the top that began, in order; a list in it is of any order",
        default=None,
    )
    steps: Table[ExpectedStep] = shaped(
        MapOf(Record(ExpectedStep, shorthand="status"), free=True),
        "what became of steps, by their path",
        default=Table(),
    )
    calls: Table[At[int]] = shaped(
        MapOf(Int(), free=True), "how often operations of tools were called", default=Table()
    )
    within: At[timedelta] | None = shaped(
        Duration(), "the longest time the run may take on its clock", default=None
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Given):
    """One run: what it meets, and what is expected of it."""

    name: At[str] = shaped(NAME, "what the case shows, on one line")
    expect: Expect = shaped(Record(Expect, shorthand="status"), "what becomes of the run")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFile:
    """A whole test file."""

    dagflow_test: At[int] = shaped(Int(minimum=1, maximum=1), "version of test files: 1")
    workflow: At[str] | None = shaped(
        Str(max_length=4096),
        "the workflow's file, from this one (default: NAME.yaml for NAME.test.yaml)",
        default=None,
    )
    defaults: Given | None = shaped(
        Record(Given), "what each case has unless it says otherwise", default=None
    )
    not_reached: tuple[At[str], ...] = shaped(
        ListOf(Str(), single=True),
        "parts of the workflow that no case comes to, as the note names them, on purpose",
        default=(),
    )
    cases: tuple[Case, ...] = shaped(ListOf(Record(Case), minimum=1), "the cases")
    span: Span = NOWHERE
