"""DF307: handlers for failures that can't be, or that others handle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from dagflow.compiler.model import StepFacts
from dagflow.compiler.rule import Checks, Violation, rule
from dagflow.core.findings import Severity
from dagflow.core.source import At
from dagflow.core.workflow import Handler

_ALWAYS: Final = ("timeout", "guard", "expression", "budget", "lost", "internal", "conflict")
_NETWORK: Final = ("network", "http_4xx", "rate_limited", "http_5xx", "schema")
_SANDBOX: Final = ("oom", "cpu", "pids", "output_limit", "sandbox", "schema", "user")
_RAISED: Final[Mapping[str, frozenset[str]]] = {
    "tool": frozenset((*_ALWAYS, *_NETWORK, "tool_removed", "output_limit")),
    "llm": frozenset((*_ALWAYS, *_NETWORK, "model", "output_limit")),
    "python": frozenset((*_ALWAYS, *_SANDBOX)),
    "shell": frozenset((*_ALWAYS, *_SANDBOX)),
    "transform": frozenset((*_ALWAYS, "schema", "output_limit")),
    "switch": frozenset(_ALWAYS),
    "approve": frozenset((*_ALWAYS, "rejected", "expired")),
    "wait": frozenset((*_ALWAYS, "expired", "schema")),
    "fail": frozenset((*_ALWAYS, "user")),
}
"""The classes that each kind can fail with; composites and children take those of their parts."""


@rule("DF307", "handler-dead", Severity.WARNING, "typed")
def handler_dead(checks: Checks) -> Iterator[Violation]:
    """A handler or retry names a failure that the step can't have, or that is handled already.

    `on_error` entries are tried in order, so what an earlier one handles never gets to a later
    one.

    Bad:

        dagflow: 1
        name: careful
        inputs: {whole: integer}
        steps:
          count:
            transform: inputs.whole * 2
            on_error: {on: http_5xx, continue: 0}  # DF307: a transform step never fails with…
        outputs:
          count: ${{ steps.count.output }}

    Good:

        dagflow: 1
        name: careful
        inputs: {whole: integer}
        steps:
          count:
            transform: inputs.whole * 2
            on_error: {on: expression, continue: 0}
        outputs:
          count: ${{ steps.count.output }}
    """
    for facts in checks.model.steps() if checks.model is not None else ():
        if not facts.broken:
            yield from _impossible(facts)
            yield from _shadowed(facts)


def _impossible(facts: StepFacts) -> Iterator[Violation]:
    raised = _RAISED.get(facts.kind)
    retried = facts.step.retry.on if facts.step.retry is not None else ()
    handled = tuple(name for handler in facts.step.on_error for name in handler.on)
    for name in (*retried, *handled):
        if raised is not None and name.value not in raised:
            article = "an" if facts.kind[0] in "aeiou" else "a"
            what = "llm" if facts.kind == "llm" else facts.kind
            message = f"{article} {what} step never fails with class {name.value!r}"
            yield _violation(facts, name, message)


def _shadowed(facts: StepFacts) -> Iterator[Violation]:
    seen: dict[str, Handler] = {}
    for handler in facts.step.on_error:
        for name in handler.on:
            if name.value in seen:
                message = f"class {name.value!r} is handled by an earlier entry"
                yield _violation(facts, name, message)
            seen.setdefault(name.value, handler)


def _violation(facts: StepFacts, name: At[str], message: str) -> Violation:
    return Violation(
        span=name.span, message=message, path=f"{facts.pointer}/on_error", step=facts.path
    )
