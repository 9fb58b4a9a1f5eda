"""DF401: guards and branches that are never true."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.proofs.claims import is_never
from dagflow.compiler.proofs.guards import constant
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.source import At
from dagflow.core.steps.switch import Switch


@rule("DF401", "guard-never", Severity.ERROR, "graph")
def guard_never(checks: Checks) -> Iterator[Violation]:
    """A guard, or the condition of a switch's branch, is false for every input.

    What it guards can never run. The values that the types allow are taken into account: a text
    can't equal two texts, and one of an `enum` is none of the others.

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
    """
    if checks.model is None:
        return
    for facts in checks.model.steps():
        if facts.step.when is not None and _is_never(checks.model, facts, "when"):
            yield _violation(facts, facts.step.when, f"the guard of {facts.name!r}")
        body = facts.step.body
        if isinstance(body, Switch):
            for index, branch in enumerate(body.branches):
                if branch.when is not None and _is_never(checks.model, facts, f"branches.{index}"):
                    what = f"branch {index} of {facts.name!r}"
                    yield _violation(facts, branch.when, what)


def _is_never(model: Model, facts: StepFacts, name: str) -> bool:
    return constant(facts, name) is False or is_never(model, facts, name)


def _violation(facts: StepFacts, text: At[str], what: str) -> Violation:
    return Violation(
        span=text.span,
        message=f"{what} is never true",
        step=facts.path,
        help=f"no value of what it reads makes `{text.value.strip()}` true; "
        "correct it, or take out what it guards",
    )
