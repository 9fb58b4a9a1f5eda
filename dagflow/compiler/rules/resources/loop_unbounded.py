"""DF701: loops whose bound is no bound."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.proofs.guards import constant
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF701", "loop-unbounded", Severity.WARNING, "typed")
def loop_unbounded(checks: Checks) -> Iterator[Violation]:
    """Nothing in a loop can change its condition, so only `max` ends it.

    `until` is the same in every turn when it reads no step of the turn, nor `turn`, nor
    `previous`: the loop ends after the first turn, or after the last that `max` allows.

    Bad:

        dagflow: 1
        name: poll
        inputs: {ready: boolean}
        steps:
          ask:
            repeat:
              steps:
                pause: {wait: {for: 1s}}
              until: inputs.ready  # DF701: `until` is the same in every turn: it reads nothing of…
              max: 10

    Good:

        dagflow: 1
        name: poll
        inputs: {turns: integer}
        steps:
          ask:
            repeat:
              steps:
                pause: {wait: {for: 1s}}
              until: turn + 1 >= inputs.turns
              max: 10
    """
    model = checks.model
    if model is None:
        return
    for facts in model.steps():
        checked = facts.expressions.get("until")
        if checked is None or constant(facts, "until") is not None or _may_change(model, facts):
            continue
        until = facts.step.body.until
        yield Violation(
            span=until.span,
            message="`until` is the same in every turn: it reads nothing of the turn",
            step=facts.path,
        )


def _may_change(model: Model, facts: StepFacts) -> bool:
    inner = {other.name for other in model.blocks[facts.path].steps}
    for read in facts.expressions["until"].reads:
        if read.path[0] in {"turn", "previous"}:
            return True
        if read.path[0] == "steps" and len(read.path) > 1 and read.path[1] in inner:
            return True
    return False
