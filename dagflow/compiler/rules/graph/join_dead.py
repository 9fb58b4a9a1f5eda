"""DF303: joins that can't fire."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity

_ONE = frozenset({"conflict"})
"""What is a join's fault where there is only one edge to wait for."""


@rule("DF303", "join-dead", Severity.ERROR, "graph")
def join_dead(checks: Checks) -> Iterator[Violation]:
    """A step waits for things of which never enough happen in one run.

    Two branches of one switch are never both taken, and a step does not both succeed and fail. A
    step that waits for both (`join: all` is the default) never runs. Where the ways come together
    again, say `join: any`.

    Bad:

        dagflow: 1
        name: sort
        inputs: {big: boolean}
        steps:
          route:
            switch:
              - {when: inputs.big, then: truck}
              - {else: bike}
          truck: {transform: '"truck"'}
          bike: {transform: '"bike"'}
          send:  # DF303: the join of 'send' can't fire: it waits for 'truck' to succeed and for …
            after: [truck, bike]
            transform: '"sent"'

    Good:

        dagflow: 1
        name: sort
        inputs: {big: boolean}
        steps:
          route:
            switch:
              - {when: inputs.big, then: truck}
              - {else: bike}
          truck: {transform: '"truck"'}
          bike: {transform: '"bike"'}
          send:
            after: [truck, bike]
            join: any
            transform: '"sent"'
        outputs:
          sent: ${{ steps.send.output }}
          by: ${{ steps.?truck.output.orValue("bike") }}
          or: ${{ steps.?bike.output.orValue("truck") }}
    """
    if checks.graphs is None or checks.reach is None:
        return
    for block in checks.graphs.blocks.values():
        for step in block.order:
            cause = checks.reach.cause(step)
            several = len(block.incoming.get(step, ())) > 1
            if cause is None or cause.kind not in ({"conflict", "edge"} if several else _ONE):
                continue
            facts = checks.graphs.facts[step]
            others = (checks.graphs.facts[other] for other in dict.fromkeys(cause.by))
            yield Violation(
                span=facts.step.name.span,
                message=f"the join of {facts.name!r} can't fire: {cause.text}",
                step=step,
                related=tuple(Related(f"{o.name!r} is here", o.step.name.span) for o in others),
                help="say `join: any` where the ways come together again, or wait for less"
                if block.join(step).mode == "all" and several
                else "change what the step waits for or reads",
            )
