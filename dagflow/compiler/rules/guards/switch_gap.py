"""DF403: switches that may take no branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dagflow.compiler.proofs.claims import conditions, shown
from dagflow.compiler.proofs.prover import Verdict
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.expr.ast import Node


@rule("DF403", "switch-gap", Severity.WARNING, "graph")
def switch_gap(checks: Checks) -> Iterator[Violation]:
    """A switch has no `else`, and its branches do not surely cover every value.

    Where none is true, the switch takes no branch: its output is `{branch: null}`, and the steps
    that it leads to are skipped. Say `else: end` where that is meant.

    Bad:

        dagflow: 1
        name: sort
        inputs: {size: {enum: [small, medium, large]}}
        steps:
          route:
            switch:  # DF403: no branch of 'route' is taken when `inputs.size` is "medium"
              - {when: 'inputs.size == "small"', then: bike}
              - {when: 'inputs.size == "large"', then: truck}
          bike: {transform: '"bike"'}
          truck: {transform: '"truck"'}
        outputs:
          bike: ${{ steps.?bike.output.orValue("") }}
          truck: ${{ steps.?truck.output.orValue("") }}

    Good:

        dagflow: 1
        name: sort
        inputs: {size: {enum: [small, medium, large]}}
        steps:
          route:
            switch:
              - {when: 'inputs.size == "small"', then: bike}
              - {when: 'inputs.size == "large"', then: truck}
              - {else: end}
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
        nodes = [node for node in found or () if node is not None]
        if found is None or len(nodes) < len(found):
            continue
        if checks.claims.excludes(facts, nodes, None):
            continue
        gap = checks.claims.taken(facts, [(node, False) for node in nodes])
        yield Violation(
            span=facts.step.kind.span,
            message=f"no branch of {facts.name!r} is taken {_when(gap, nodes)}",
            step=facts.path,
            witness=checks.claims.prover.witness(facts, gap),
            help="add a last `{else: …}`; `{else: end}` says that nothing is to be done",
        )


def _when(gap: Verdict, nodes: Sequence[Node]) -> str:
    found = shown(gap.values, nodes) if gap.values else ""
    if not found:
        return "when none of its conditions is true, and it has no `else`"
    return f"when {found}"
