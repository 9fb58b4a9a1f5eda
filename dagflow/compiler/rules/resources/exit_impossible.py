"""DF702: loops whose condition is never true."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.proofs.guards import constant
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF702", "exit-impossible", Severity.ERROR, "graph")
def exit_impossible(checks: Checks) -> Iterator[Violation]:
    """The condition of a loop is never true, so the loop can only fail.

    It would run to its `max` and fail with class `exhausted`. A loop of a fixed number of turns
    says `on_max: succeed`.

    Bad:

        dagflow: 1
        name: poll
        steps:
          ask:
            repeat:
              steps:
                pause: {wait: {for: 1s}}
              until: 1 > 2  # DF702: `until` is never true: the loop always fails after 10 turns
              max: 10

    Good:

        dagflow: 1
        name: poll
        steps:
          ask:
            repeat:
              steps:
                pause: {wait: {for: 1s}}
              until: 1 > 2
              max: 10
              on_max: succeed
    """
    if checks.model is None or checks.claims is None:
        return
    for facts in checks.model.steps():
        if facts.kind != "repeat" or "until" not in facts.expressions:
            continue
        body = facts.step.body
        succeeds = body.on_max is not None and body.on_max.value == "succeed"
        if succeeds:
            continue
        if constant(facts, "until") is False or checks.claims.ends_never(facts):
            turns = body.max.value
            yield Violation(
                span=body.until.span,
                message=f"`until` is never true: the loop always fails after {turns} turns",
                step=facts.path,
            )
