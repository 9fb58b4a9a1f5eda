"""DF405: branches that are never the first true one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dagflow.compiler.model import StepFacts
from dagflow.compiler.proofs.branches import recovered
from dagflow.compiler.proofs.claims import Claims, conditions
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity
from dagflow.core.steps.switch import Branch, Switch
from dagflow.expr.ast import Node


@rule("DF405", "branch-shadowed", Severity.ERROR, "graph")
def branch_shadowed(checks: Checks) -> Iterator[Violation]:
    """Whenever a branch of a switch would be true, one before it is.

    The first true branch is taken, so this one never is. Put the narrower condition first. An
    `else` after branches that cover every value is only a warning. A branch that `on_error` goes on
    with (`continue: {branch: 1}`) may be taken all the same.

    Bad:

        dagflow: 1
        name: alarm
        inputs: {load: integer}
        steps:
          route:
            switch:
              - {when: inputs.load > 3, then: warn}
              - {when: inputs.load > 5, then: shout}  # DF405: branch 1 of 'route' is never taken: …
              - {else: end}
          warn: {transform: '"much"'}
          shout: {transform: '"too much"'}
        outputs:
          warn: ${{ steps.?warn.output.orValue("") }}
          shout: ${{ steps.?shout.output.orValue("") }}

    Good:

        dagflow: 1
        name: alarm
        inputs: {load: integer}
        steps:
          route:
            switch:
              - {when: inputs.load > 5, then: shout}
              - {when: inputs.load > 3, then: warn}
              - {else: end}
          warn: {transform: '"much"'}
          shout: {transform: '"too much"'}
        outputs:
          warn: ${{ steps.?warn.output.orValue("") }}
          shout: ${{ steps.?shout.output.orValue("") }}
    """
    if checks.model is None or checks.claims is None:
        return
    for facts in checks.model.steps():
        found = conditions(facts)
        if found is not None and isinstance(facts.step.body, Switch):
            yield from _shadowed(checks.claims, facts, found, facts.step.body.branches)


def _shadowed(
    claims: Claims, facts: StepFacts, nodes: Sequence[Node | None], branches: Sequence[Branch]
) -> Iterator[Violation]:
    earlier: list[Node] = []
    also = recovered(facts)
    for index, node in enumerate(nodes):
        covered = claims.excludes(facts, earlier, None)
        hidden = index not in also and (covered or claims.excludes(facts, earlier, node))
        if hidden and not (node is not None and claims.excludes(facts, (), node)):
            by = next((n for n in range(index) if claims.excludes(facts, [earlier[n]], node)), None)
            yield _violation(facts, branches, index, by)
        if node is None or (covered and hidden):
            return  # all after it is shadowed in the same way
        earlier.append(node)


def _violation(
    facts: StepFacts, branches: Sequence[Branch], index: int, by: int | None
) -> Violation:
    when = branches[index].when
    first = None if by is None else branches[by].when
    taker = "the branches before it take" if by is None else f"branch {by} takes"
    what = "the `else`" if when is None else f"branch {index}"
    return Violation(
        span=branches[index].span if when is None else when.span,
        message=f"{what} of {facts.name!r} is never taken: {taker} everything that it would",
        step=facts.path,
        related=(Related("taken here", first.span),) if first is not None else (),
        help="take the `else` out, or widen what the branches leave to it"
        if when is None
        else "put the narrower condition first, or correct it",
        severity=Severity.WARNING if when is None else None,
    )
