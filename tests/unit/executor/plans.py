"""Plans built by hand, an evaluator of Python expressions, and a driver for `decide`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from dagflow.core.errors import StepError
from dagflow.core.plan import (
    BranchPlan,
    Constraint,
    ControlEdge,
    ErrorHandler,
    Evaluated,
    Expression,
    Join,
    Keyed,
    Literal_,
    Plan,
    PlanStep,
    RetryPolicy,
    Value,
    steps_of,
)
from dagflow.core.run import (
    MOVES,
    Begin,
    Cancel,
    Change,
    Claim,
    Command,
    Decide,
    Decision,
    Dispatch,
    Event,
    Fail,
    Run,
    RunState,
    Signal,
    StepFailure,
    Succeed,
    Tick,
)
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.executor.decide import decide_all, next_wake, view

START = datetime(2026, 1, 1, tzinfo=UTC)


# ── plans ─────────────────────────────────────────────────────────────────────────────────────


def cel(text: str) -> Expression:
    """Return an expression; the evaluator below reads it as Python."""
    steps = re.findall(r"steps\.\??(\w+)", text)
    names = re.findall(r"(?<![\w.\"])([a-z_]+)\b", text)
    reads: list[tuple[str, ...]] = [("steps", name) for name in steps]
    reads += [("secrets", name) for name in re.findall(r"secrets\.(\w+)", text)]
    reads += [(name,) for name in names if name not in {"steps", "secrets", "and", "or", "not"}]
    return Expression(text=text, ast={}, reads=tuple(dict.fromkeys(reads)))


def template(value: Any) -> Value:
    """Return a value; a string `=expr` is an expression."""
    if isinstance(value, str) and value.startswith("="):
        return Evaluated(cel(value[1:]))
    if isinstance(value, dict):
        return Keyed(tuple((name, template(entry)) for name, entry in value.items()))
    return Literal_(value)


def edge(text: str) -> ControlEdge:
    """Read `a`, `a:failure`, `a:success,goto` or `a:#0,#2` (branches of a switch)."""
    step, _, ways = text.partition(":")
    words = ways.split(",") if ways else ["success"]
    on = tuple(word for word in words if not word.startswith("#"))
    branches = tuple(int(word[1:]) for word in words if word.startswith("#"))
    return ControlEdge(step=step, on=on, branches=branches)  # type: ignore[arg-type]


def join(text: str) -> Join:
    """Read `all`, `any`, `first` or a number (at least that many)."""
    if text in {"all", "any"}:
        return Join(text)  # type: ignore[arg-type]
    return Join("at_least", 1 if text == "first" else int(text))


def step(
    path: str,
    kind: str = "python",
    *,
    after: str = "",
    joined: str = "all",
    needs: str = "",
    awaits: str = "",
    when: str | None = None,
    given: Any = None,
    on_error: Iterable[tuple[str, Any]] = (),
    undo: PlanStep | None = None,
    **options: Any,
) -> PlanStep:
    """Return a step. `on_error`: pairs of classes (`"timeout user"`) and `{"continue": …}` or a
    step to go to; edges, needs and awaits are words."""
    return PlanStep(
        path=path,
        kind=kind,
        action="act",
        effects=options.pop("effects", "idempotent"),
        after=tuple(edge(word) for word in after.split()),
        join=join(joined),
        needs=tuple(needs.split()),
        awaits=tuple(awaits.split()),
        when=None if when is None else cel(when),
        arguments=None if given is None else template(given),
        on_error=tuple(_handler(classes, action) for classes, action in on_error),
        compensate=undo,
        **options,
    )


def _handler(classes: str, action: Any) -> ErrorHandler:
    on: Any = tuple(classes.split())
    if isinstance(action, dict):
        return ErrorHandler(on=on, continue_=template(action["continue"]))
    return ErrorHandler(on=on, goto=action)


def switch(path: str, *branches: tuple[str | None, str], **options: Any) -> PlanStep:
    """Return a switch; each branch is (condition or None for else, targets as words)."""
    made = tuple(
        BranchPlan(when=None if when is None else cel(when), targets=tuple(targets.split()))
        for when, targets in branches
    )
    return step(path, "switch", branches=made, **options)


def foreach(path: str, items: str, *inner: PlanStep, collect: str = "", **options: Any) -> PlanStep:
    """Return a foreach over inner steps; without `collect` the last of them is the sink."""
    body = {
        "as": options.pop("as_", "item"),
        "index": options.pop("index", "index"),
        "concurrency": options.pop("concurrency", 1),
        "max_items": options.pop("max_items", 1_000_000),
        "tolerate": options.pop("tolerate", 0),
        "collect_step": None if collect else inner[-1].path,
    }
    expressions = {"items": cel(items)} | ({"collect": cel(collect)} if collect else {})
    return step(path, "foreach", body=body, expressions=expressions, block=inner, **options)


def repeat(path: str, until: str, *inner: PlanStep, max_: int, **options: Any) -> PlanStep:
    """Return a repeat over inner steps, the last of which is the sink."""
    body = {
        "max": max_,
        "on_max": options.pop("on_max", "fail"),
        "collect_step": inner[-1].path,
    }
    return step(
        path, "repeat", body=body, expressions={"until": cel(until)}, block=inner, **options
    )


def approve(path: str, message: str = "sure?", **options: Any) -> PlanStep:
    """Return an approval."""
    body = {
        name: options.pop(name, None) for name in ("expires", "on_expiry", "goto", "pause_clock")
    }
    return step(path, "approve", body=body, templates={"message": template(message)}, **options)


def wait(path: str, **options: Any) -> PlanStep:
    """Return a wait; `for_`, `signal` or `until`."""
    body = {name: options.pop(name, None) for name in ("signal", "expires", "pause_clock")}
    body["for"] = options.pop("for_", None)
    until = options.pop("until", None)
    templates = {} if until is None else {"until": template(until)}
    return step(path, "wait", body=body, templates=templates, **options)


def fail(path: str, message: str, **options: Any) -> PlanStep:
    """Return a step that fails."""
    return step(path, "fail", templates={"message": template(message)}, **options)


def retry(attempts: int, *, backoff: float = 0.0, **options: Any) -> RetryPolicy:
    """Return a retry policy without jitter that retries the usual classes and `user`."""
    on = ("timeout", "network", "http_5xx", "rate_limited", "lost", "user")
    return RetryPolicy(
        **{"attempts": attempts, "backoff": backoff, "jitter": 0.0, "on": on, **options}
    )


def plan(
    *steps: PlanStep,
    finally_: Iterable[PlanStep] = (),
    outputs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Plan:
    """Return a plan that lists every move of the language for each of its steps."""
    made = Plan(
        name="test",
        version="1",
        steps=steps,
        finally_=tuple(finally_),
        outputs=tuple((name, template(value)) for name, value in (outputs or {}).items()),
        **options,
    )
    moves = (Constraint(s.path, *move) for s in steps_of(made) for move in sorted(MOVES))
    return replace(made, constraints=tuple(moves))


def without(made: Plan, path: str, before: str, after: str) -> Plan:
    """Return the plan with one move deleted."""
    gone = (path, before, after)
    kept = tuple(c for c in made.constraints if (c.step, c.before, c.after) != gone)
    assert len(kept) == len(made.constraints) - 1
    return replace(made, constraints=kept)


# ── an evaluator of Python expressions ────────────────────────────────────────────────────────


class Views(dict[str, Any]):
    """A dict whose entries are attributes, so that `steps.a.output` is Python."""

    def __getattr__(self, name: str) -> Any:
        try:
            return views(self[name])
        except KeyError:
            raise StepError("expression", f"no such key: {name}") from None


def views(value: Any) -> Any:
    """Wrap objects."""
    return Views(value) if isinstance(value, dict) else value


_WORDS = {"true": True, "false": False, "null": None, "has": lambda *_: True, "str": str}


class Evaluator:
    """Reads expressions as Python; a missing name or key is an error of class `expression`."""

    def evaluate(self, expression: Expression, activation: JsonObject) -> JsonValue:
        names = {name: views(value) for name, value in activation.items()}
        try:
            found = eval(  # the tests' own text
                expression.text, {"__builtins__": {}}, {**_WORDS, **names}
            )
        except StepError:
            raise
        except Exception as error:  # whatever Python says of it
            raise StepError("expression", f"{expression.text}: {error}") from error
        return dict(found) if isinstance(found, Views) else found

    def render(
        self, value: Value, activation: JsonObject, *, references: bool = False
    ) -> JsonValue:
        match value:
            case Literal_():
                return value.literal
            case Evaluated():
                return self.evaluate(value.expression, activation)
            case Keyed():
                return {name: self.render(entry, activation) for name, entry in value.entries}
        raise AssertionError(value)

    def fill(self, schema: Schema, value: JsonValue) -> JsonValue:
        return value

    def conform(self, schema: Schema, value: JsonValue) -> JsonValue:
        """Knows `{"type": "integer" | "string" | …}` only."""
        kinds = {"integer": int, "string": str, "object": dict, "array": list, "null": type(None)}
        expected = schema.get("type") if isinstance(schema, dict) else None
        if isinstance(expected, str) and not isinstance(value, kinds[expected]):
            raise StepError("schema", f"{value!r} is not of type {expected}")
        return value


# ── driving a run ─────────────────────────────────────────────────────────────────────────────


class Driver:
    """One run of a plan, moved by hand."""

    def __init__(self, made: Plan, inputs: JsonValue = None, *, run: Run | None = None) -> None:
        self.plan = made
        self.run = run or Run(id="r1", plan="", inputs=inputs or {}, created_at=START)
        self.now = START
        self.log: list[Change] = []
        self.commands: list[Command] = []
        self.refused = ""

    def send(self, *events: Event) -> Decision:
        """Decide, and take over the changes."""
        decision = decide_all(self.plan, self.run, events, self.now, evaluator=Evaluator())
        for change in decision.changes:
            self.run.apply(change)
        self.log.extend(decision.changes)
        self.commands.extend(decision.commands)
        self.refused = decision.refused
        return decision

    def begin(self) -> Driver:
        self.send(Begin())
        return self

    def claim(self, path: str) -> Decision:
        until = self.now + timedelta(seconds=30)
        return self.send(Claim(path=path, worker="w", until=until))

    def token(self, path: str) -> int:
        return view(self.run, path).token

    def ok(self, path: str, output: JsonValue = None) -> Decision:
        """Claim a step, if it is only ready, and report its success."""
        if self.state(path) == "ready":
            self.claim(path)
        return self.send(Succeed(path=path, token=self.token(path), output=output))

    def bad(
        self, path: str, error_class: Any = "user", *, unsent: bool = False, **options: Any
    ) -> Decision:
        """Claim a step, if it is only ready, and report a failure."""
        if self.state(path) == "ready":
            self.claim(path)
        error = StepFailure(error_class=error_class, message="it broke", **options)
        return self.send(Fail(path=path, token=self.token(path), error=error, unsent=unsent))

    def answer(self, path: str, *, yes: bool = True, by: str = "ann") -> Decision:
        hashed = str(view(self.run, path).data["hash"])
        return self.send(Decide(path=path, approve=yes, by=by, arguments=hashed))

    def signal(self, name: str, payload: JsonValue = None) -> Decision:
        return self.send(Signal(name=name, payload=payload))

    def later(self, seconds: float) -> Decision:
        """Let time pass, and tick."""
        self.now += timedelta(seconds=seconds)
        return self.send(Tick())

    def cancel(self) -> Decision:
        return self.send(Cancel())

    def state(self, path: str) -> str:
        return view(self.run, path).state

    def states(self, *paths: str) -> dict[str, str]:
        return {path: self.state(path) for path in paths}

    def error(self, path: str) -> str:
        """Return the class of a step's failure."""
        found = view(self.run, path).error
        return "" if found is None else found.error_class

    def output(self, path: str) -> JsonValue:
        return view(self.run, path).output

    def ready(self) -> list[str]:
        return [p for p, record in self.run.steps.items() if record.state == "ready"]

    def dispatched(self) -> list[str]:
        return [c.path for c in self.commands if isinstance(c, Dispatch)]

    def drain(self, outputs: Mapping[str, JsonValue] | None = None, *, most: int = 10_000) -> None:
        """Let every step succeed that gets ready, with the output given for its path, or null."""
        for _ in range(most):
            ready = self.ready()
            if not ready:
                return
            self.ok(ready[0], (outputs or {}).get(ready[0]))
        raise AssertionError("the run does not come to an end")

    def wake(self) -> datetime | None:
        return next_wake(self.plan, self.run)

    @property
    def ended(self) -> RunState:
        """Return the state of a run that must be over."""
        assert self.run.state.is_final, (self.run.state, self.run.active)
        return self.run.state
