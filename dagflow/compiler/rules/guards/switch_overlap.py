"""DF404: branches of a switch that some values both fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from dagflow.compiler.model import StepFacts
from dagflow.compiler.proofs.claims import Claims, conditions, shown
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity
from dagflow.core.steps.switch import Switch
from dagflow.expr.ast import Node
from dagflow.expr.reads import paths_of

COMPARED: Final = 32
"""Switches with more branches than this are compared neighbour with neighbour only."""


@rule("DF404", "switch-overlap", Severity.WARNING, "graph")
def switch_overlap(checks: Checks) -> Iterator[Violation]:
    """Two branches of a switch ask about the same values, and some values fit both.

    The first is taken, which is easily overlooked where the two look like alternatives. A ladder
    is fine, where all that the earlier branch takes the later one would take, too (`x > 10`, then
    `x > 5`), and so are branches about different things, in the order of their importance.

    Bad:

        dagflow: 1
        name: sort
        inputs: {size: {type: integer, minimum: 0}}
        steps:
          route:
            switch:
              - {when: inputs.size <= 10, then: bike}
              - {when: inputs.size >= 10, then: truck}  # DF404: branches 0 and 1 of 'route' are…
          bike: {transform: '"bike"'}
          truck: {transform: '"truck"'}
        outputs:
          bike: ${{ steps.?bike.output.orValue("") }}
          truck: ${{ steps.?truck.output.orValue("") }}

    Good:

        dagflow: 1
        name: sort
        inputs: {size: {type: integer, minimum: 0}}
        steps:
          route:
            switch:
              - {when: inputs.size <= 10, then: bike}
              - {when: inputs.size > 10, then: truck}
          bike: {transform: '"bike"'}
          truck: {transform: '"truck"'}
        outputs:
          bike: ${{ steps.?bike.output.orValue("") }}
          truck: ${{ steps.?truck.output.orValue("") }}
    """
    if checks.model is None or checks.claims is None:
        return
    for facts in checks.model.steps():
        found = conditions(facts)
        if found is not None:
            yield from _overlaps(checks.claims, facts, found)


def _overlaps(
    claims: Claims, facts: StepFacts, nodes: Sequence[Node | None]
) -> Iterator[Violation]:
    """Tell of the first earlier branch that a branch shares values with."""
    told: set[int] = set()
    for first, second in _pairs(len(nodes)):
        one, two = nodes[first], nodes[second]
        if one is None or two is None or second in told or set(paths_of(one)) != set(paths_of(two)):
            continue
        if claims.excludes(facts, [n for n in nodes[:second] if n is not None], two):
            continue  # it is never taken at all, which another rule says
        both = claims.taken(facts, [(one, True), (two, True)])
        if both.kind != "sometimes" or not _is_partial(claims, facts, one, two):
            continue
        told.add(second)
        branches = facts.step.body.branches if isinstance(facts.step.body, Switch) else ()
        other, own = branches[first].when, branches[second].when
        assert other is not None
        assert own is not None
        when = shown(both.values or {}, [one])
        yield Violation(
            span=own.span,
            message=f"branches {first} and {second} of {facts.name!r} are both true"
            + (f" when {when}" if when else " for some values"),
            step=facts.path,
            related=(Related("the first of the two is taken", other.span),),
            witness=claims.prover.witness(facts, both),
            help="let the conditions exclude each other",
        )


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    if count <= COMPARED:
        yield from sorted(combinations(range(count), 2), key=lambda pair: (pair[1], pair[0]))
    else:
        yield from ((index, index + 1) for index in range(count - 1))


def _is_partial(claims: Claims, facts: StepFacts, one: Node, two: Node) -> bool:
    """Tell whether each of two conditions surely takes values that the other doesn't."""
    ways = ([(one, True), (two, False)], [(one, False), (two, True)])
    return all(claims.taken(facts, way).kind == "sometimes" for way in ways)
