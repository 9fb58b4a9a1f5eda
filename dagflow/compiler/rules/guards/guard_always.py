"""DF402: guards and branches that are always true."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.proofs.claims import is_always
from dagflow.compiler.proofs.guards import constant
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.source import At
from dagflow.core.steps.switch import Switch


@rule("DF402", "guard-always", Severity.WARNING, "graph")
def guard_always(checks: Checks) -> Iterator[Violation]:
    """A guard, or the condition of a switch's last branch, is true for every input.

    It guards nothing. Often `||` stands where `&&` was meant. A last branch that is always taken
    is written `else`.

    Bad:

        dagflow: 1
        name: alarm
        inputs: {load: integer}
        steps:
          shout:
            when: inputs.load > 3 || inputs.load < 5  # DF402: the guard of 'shout' is always true
            transform: '"too much"'
        outputs:
          text: ${{ steps.?shout.output.orValue("") }}

    Good:

        dagflow: 1
        name: alarm
        inputs: {load: integer}
        steps:
          shout:
            when: inputs.load > 3 && inputs.load < 5
            transform: '"too much"'
        outputs:
          text: ${{ steps.?shout.output.orValue("") }}
    """
    if checks.model is None:
        return
    for facts in checks.model.steps():
        if facts.step.when is not None and _is_always(checks.model, facts, "when"):
            help_ = "take the guard out, or correct it"
            what = f"the guard of {facts.name!r}"
            yield _violation(facts, facts.step.when, what, help_)
        body = facts.step.body
        if isinstance(body, Switch):
            last = len(body.branches) - 1
            when = body.branches[last].when
            if when is not None and _is_always(checks.model, facts, f"branches.{last}"):
                what = f"the last branch of {facts.name!r}"
                yield _violation(facts, when, what, "write `else` for it")


def _is_always(model: Model, facts: StepFacts, name: str) -> bool:
    return constant(facts, name) is True or is_always(model, facts, name)


def _violation(facts: StepFacts, text: At[str], what: str, help_: str) -> Violation:
    return Violation(
        span=text.span,
        message=f"{what} is always true",
        step=facts.path,
        help=help_,
    )
