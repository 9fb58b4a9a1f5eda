"""DF402: guards and branches that are always true."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.model import StepFacts
from dagflow.compiler.proofs.claims import Claims
from dagflow.compiler.proofs.guards import constant
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity
from dagflow.core.source import At
from dagflow.core.steps.switch import Switch


@rule("DF402", "guard-always", Severity.WARNING, "graph")
def guard_always(checks: Checks) -> Iterator[Violation]:
    """A guard, or the condition of a switch's last branch, is true for every input.

    It guards nothing. Often `||` stands where `&&` was meant. A last branch that is always taken
    is written `else`. What the guards above the step say on every path to it counts, too.

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
    if checks.model is None or checks.claims is None:
        return
    for facts in checks.model.steps():
        if facts.step.when is not None:
            what, help_ = f"the guard of {facts.name!r}", "take the guard out, or correct it"
            yield from _judged(checks.claims, facts, "when", facts.step.when, (what, help_))
        body = facts.step.body
        if isinstance(body, Switch):
            last = len(body.branches) - 1
            when = body.branches[last].when
            if when is not None:
                said = (f"the last branch of {facts.name!r}", "write `else` for it")
                yield from _judged(checks.claims, facts, f"branches.{last}", when, said)


def _judged(
    claims: Claims, facts: StepFacts, name: str, text: At[str], said: tuple[str, str]
) -> Iterator[Violation]:
    what, help_ = said
    flow: tuple[Related, ...] = ()
    where = ""
    if constant(facts, name) is not True and not claims.is_always_by_itself(facts, name):
        if not claims.is_always(facts, name) or claims.repeats(facts, name):
            return  # what is said again word by word is said for the reader
        where = f" where {facts.name!r} is reached"
        here = Related("so this is true, too", text.span)
        flow = (*claims.reasons(facts, name, wanted=False), here)
    yield Violation(
        span=text.span,
        message=f"{what} is always true{where}",
        step=facts.path,
        flow=flow,
        help=help_,
    )
