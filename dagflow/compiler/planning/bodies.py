"""What a step's kind needs at run time, as the table in `docs/plan.md` lists it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Final

from dagflow.compiler.defaults import MAX_TOKENS, TEMPERATURE, seconds
from dagflow.compiler.graph.edges import sibling
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.names.scopes import item_names
from dagflow.compiler.types.composites import collected
from dagflow.compiler.types.credentials import rendered
from dagflow.core.plan import Expression, Keyed, Listed, Literal_, Value
from dagflow.core.records import dataclass
from dagflow.core.source import At
from dagflow.core.steps.approve import Approve, Goto
from dagflow.core.values import JsonObject, JsonValue

DEFAULT_MODEL: Final = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """The parts of a plan step that depend on its kind."""

    body: JsonObject = field(default_factory=dict)
    templates: Mapping[str, Value] = field(default_factory=dict)
    expressions: Mapping[str, Expression] = field(default_factory=dict)


def lowered_body(model: Model, facts: StepFacts) -> Lowered:
    """Return the step's body, templates and expressions."""
    return _KINDS[facts.kind](model, facts)


def _value(at: At[Any] | None, default: JsonValue = None) -> JsonValue:
    return default if at is None else at.value


def _tool(model: Model, facts: StepFacts) -> Lowered:
    name, _, _ = facts.step.body.operation.value.partition(".")
    reference = model.workflow.tools.get(name)
    auth = rendered(reference.auth) if reference is not None and reference.auth else {}
    responses = reference.responses if reference is not None else None
    assert facts.operation is not None
    return Lowered(
        body={
            "operation": facts.operation.id,
            "tool": name,
            "auth": auth,
            "responses": responses.value if responses else "strict",
        }
    )


def _llm(model: Model, facts: StepFacts) -> Lowered:
    del model
    body = facts.step.body
    messages = tuple(_message(role, facts.templates[key].value) for role, key in _chat(facts))
    return Lowered(
        body={
            "model": _value(body.model, DEFAULT_MODEL),
            "max_tokens": _value(body.max_tokens, MAX_TOKENS),
            "temperature": _value(body.temperature, TEMPERATURE),
            "top_p": _value(body.top_p),
            "seed": _value(body.seed),
            "stop": [text.value for text in body.stop],
            "structured": facts.step.output is not None,
        },
        templates={"messages": Listed(messages)},
    )


def _chat(facts: StepFacts) -> tuple[tuple[str, str], ...]:
    body = facts.step.body
    if body.messages:
        return tuple((m.role.value, f"messages.{index}") for index, m in enumerate(body.messages))
    pairs = (("system", "system"), ("user", "prompt"))
    return tuple((role, key) for role, key in pairs if key in facts.templates)


def _message(role: str, content: Value) -> Value:
    return Keyed((("role", Literal_(role)), ("content", content)))


def _python(model: Model, facts: StepFacts) -> Lowered:
    del model
    body = facts.step.body
    return Lowered(body={"code": body.code.value, "network": _value(body.network, default=False)})


def _shell(model: Model, facts: StepFacts) -> Lowered:
    del model
    body = facts.step.body
    argv = Listed(tuple(facts.templates[f"argv.{n}"].value for n in range(len(body.argv))))
    stdin = {"stdin": facts.templates["stdin"].value} if "stdin" in facts.templates else {}
    return Lowered(
        body={"parse": _value(body.parse), "network": _value(body.network, default=False)},
        templates={"argv": argv, **stdin},
    )


def _transform(model: Model, facts: StepFacts) -> Lowered:
    del model
    return Lowered(expressions={"expression": facts.lowered["expression"]})


def _nothing(model: Model, facts: StepFacts) -> Lowered:
    del model, facts
    return Lowered()


def _foreach(model: Model, facts: StepFacts) -> Lowered:
    body = facts.step.body
    item, index = item_names(body)
    return Lowered(
        body={
            "as": item,
            "index": index,
            "concurrency": _value(body.concurrency, 1),
            "max_items": body.max_items.value,
            "tolerate": _value(body.tolerate, 0),
            "collect_step": collected(facts, model.blocks[facts.path].steps),
        },
        expressions=_named(facts, "items", "collect"),
    )


def _repeat(model: Model, facts: StepFacts) -> Lowered:
    body = facts.step.body
    return Lowered(
        body={
            "max": body.max.value,
            "on_max": _value(body.on_max, "fail"),
            "collect_step": collected(facts, model.blocks[facts.path].steps),
        },
        expressions=_named(facts, "until", "collect"),
    )


def _named(facts: StepFacts, *names: str) -> Mapping[str, Expression]:
    return {name: facts.lowered[name] for name in names if name in facts.lowered}


def _workflow(model: Model, facts: StepFacts) -> Lowered:
    del model
    assert facts.child is not None
    return Lowered(body={"name": facts.child.name, "plan": facts.child.digest})


def _approve(model: Model, facts: StepFacts) -> Lowered:
    del model
    body: Approve = facts.step.body
    word, goto = _on_expiry(facts, body)
    return Lowered(
        body={
            "expires": seconds(body.expires),
            "on_expiry": word,
            "goto": goto,
            "pause_clock": _value(body.pause_clock, default=False),
        },
        templates={"message": facts.templates["message"].value},
    )


def _on_expiry(facts: StepFacts, body: Approve) -> tuple[str, str | None]:
    if isinstance(body.on_expiry, Goto):
        return "goto", sibling(facts.block, body.on_expiry.goto.value)
    return "reject" if body.on_expiry is None else body.on_expiry.value, None


def _wait(model: Model, facts: StepFacts) -> Lowered:
    del model
    body = facts.step.body
    until = {"until": facts.templates["until"].value} if "until" in facts.templates else {}
    return Lowered(
        body={
            "for": seconds(body.for_),
            "signal": _value(body.signal),
            "expires": seconds(body.expires),
            "pause_clock": _value(body.pause_clock, default=False),
        },
        templates=until,
    )


def _fail(model: Model, facts: StepFacts) -> Lowered:
    del model
    return Lowered(templates={"message": facts.templates["message"].value})


_KINDS: Final[Mapping[str, Callable[[Model, StepFacts], Lowered]]] = {
    "tool": _tool,
    "llm": _llm,
    "python": _python,
    "shell": _shell,
    "transform": _transform,
    "switch": _nothing,
    "foreach": _foreach,
    "repeat": _repeat,
    "workflow": _workflow,
    "approve": _approve,
    "wait": _wait,
    "fail": _fail,
}
