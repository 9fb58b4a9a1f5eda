"""DF401: guards and branches that are never true."""

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


@rule("DF401", "guard-never", Severity.ERROR, "graph")
def guard_never(checks: Checks) -> Iterator[Violation]:
    """A guard, or the condition of a switch's branch, is false for every input.

    What it guards can never run. The values that the types allow are taken into account (a text
    can't equal two texts, and one of an `enum` is none of the others), and the guards above it on
    every path to the step.

    Bad:

        dagflow: 1
        name: alarm
        inputs: {load: integer}
        steps:
          shout:
            when: inputs.load > 5 && inputs.load < 3  # DF401: the guard of 'shout' is never true
            transform: '"too much"'
        outputs:
          text: ${{ steps.?shout.output.orValue("") }}

    Good:

        dagflow: 1
        name: alarm
        inputs: {load: integer}
        steps:
          shout:
            when: inputs.load > 5 || inputs.load < 3
            transform: '"too much"'
        outputs:
          text: ${{ steps.?shout.output.orValue("") }}

    Bad:

        dagflow: 1
        name: alarm
        inputs: {load: integer}
        steps:
          look:
            when: inputs.load > 5
            transform: inputs.load * 2
          shout:
            when: steps.look.output < 8  # DF401: the guard of 'shout' is never true where 'shout'…
            transform: '"too much"'
            after: look
        outputs:
          text: ${{ steps.?shout.output.orValue("") }}

    Good:

        dagflow: 1
        name: alarm
        inputs: {load: integer}
        steps:
          look:
            when: inputs.load > 5
            transform: inputs.load * 2
          shout:
            when: steps.look.output > 18
            transform: '"too much"'
            after: look
        outputs:
          text: ${{ steps.?shout.output.orValue("") }}
    """
    if checks.model is None or checks.claims is None:
        return
    for facts in checks.model.steps():
        if facts.step.when is not None:
            what = f"the guard of {facts.name!r}"
            yield from _judged(checks.claims, facts, "when", facts.step.when, what)
        body = facts.step.body
        if isinstance(body, Switch):
            for index, branch in enumerate(body.branches):
                if branch.when is not None:
                    what = f"branch {index} of {facts.name!r}"
                    yield from _judged(checks.claims, facts, f"branches.{index}", branch.when, what)


def _judged(
    claims: Claims, facts: StepFacts, name: str, text: At[str], what: str
) -> Iterator[Violation]:
    if constant(facts, name) is False or claims.is_never_by_itself(facts, name):
        yield _violation(facts, text, f"{what} is never true")
    elif claims.is_never(facts, name):
        reasons = claims.reasons(facts, name, wanted=True)
        here = Related("and never when this is true, too", text.span)
        message = f"{what} is never true where {facts.name!r} is reached"
        yield _violation(facts, text, message, (*reasons, here))


def _violation(
    facts: StepFacts, text: At[str], message: str, flow: tuple[Related, ...] = ()
) -> Violation:
    return Violation(
        span=text.span,
        message=message,
        step=facts.path,
        flow=flow,
        help=f"no value of what it reads makes `{text.value.strip()}` true; "
        "correct it, or take out what it guards",
    )
