"""DF307: handlers and retries of failures that never get to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from dagflow.compiler.model import StepFacts
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.errors import ERROR_CLASSES
from dagflow.core.findings import Related, Severity
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
    """A handler or retry is for a failure that the step can't have, or that is handled before.

    Handlers are tried in order, so a class that an earlier one takes never gets to a later one.

    Bad:

        dagflow: 1
        name: total
        inputs: {parts: {type: integer, minimum: 1}}
        steps:
          share:
            transform: 100 / inputs.parts
            on_error:
              - {on: [expression, schema], continue: 0}
              - {on: expression, continue: 1}  # DF307: this handler never gets its turn: …
        outputs:
          share: ${{ steps.share.output }}

    Good:

        dagflow: 1
        name: total
        inputs: {parts: {type: integer, minimum: 1}}
        steps:
          share:
            transform: 100 / inputs.parts
            on_error:
              - {on: expression, continue: 1}
              - continue: 0
        outputs:
          share: ${{ steps.share.output }}

    Bad:

        dagflow: 1
        name: careful
        inputs: {whole: integer}
        steps:
          count:
            transform: inputs.whole * 2
            on_error: {on: http_5xx, continue: 0}  # DF307: a transform step never fails with class…
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
    raised = _RAISED.get(facts.kind, ERROR_CLASSES)
    retried = facts.step.retry.on if facts.step.retry is not None else ()
    handled = tuple(name for handler in facts.step.on_error for name in handler.on)
    for name in (*retried, *handled):
        if name.value not in raised:
            article = "an" if facts.kind[0] in "aeioul" else "a"
            yield Violation(
                span=name.span,
                message=f"{article} {facts.kind} step never fails with class {name.value!r}",
                step=facts.path,
            )


def _shadowed(facts: StepFacts) -> Iterator[Violation]:
    handled: dict[str, Handler] = {}
    for handler in facts.step.on_error:
        classes = _classes(handler)
        if classes <= handled.keys():
            named = f"class {min(classes)!r} is" if len(classes) == 1 else "its classes are"
            yield Violation(
                span=handler.span,
                message=f"this handler never gets its turn: {named} taken before it",
                step=facts.path,
                related=(Related("taken here", handled[min(classes)].span),),
                help="put handlers for single classes before the one for all",
            )
        handled = {**dict.fromkeys(classes, handler), **handled}


def _classes(handler: Handler) -> frozenset[str]:
    return frozenset(name.value for name in handler.on) or ERROR_CLASSES
