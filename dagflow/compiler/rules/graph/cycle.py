"""DF301: steps that wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.graph.edges import Edge
from dagflow.compiler.graph.rings import Ring
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity


@rule("DF301", "cycle", Severity.ERROR, "graph")
def cycle(checks: Checks) -> Iterator[Violation]:
    """Steps wait for each other in a ring, or a step goes back to an earlier one.

    None of the steps of a ring could ever start. A step waits for those in its `after`, for a
    switch that leads to it, for a step that goes to it, and for every step that it reads. The
    finding stands on the step written first. A `goto` leads to a later step: going over
    something again is what `retry` and `repeat` are for.

    Bad:

        dagflow: 1
        name: draft
        steps:
          plan:  # DF301: steps wait for each other: plan -> act -> plan
            after: act
            transform: '"plan"'
          act:
            after: plan
            transform: '"act"'

    Good:

        dagflow: 1
        name: draft
        steps:
          plan:
            transform: '"plan"'
          act:
            after: plan
            transform: '"act"'
        outputs:
          plan: ${{ steps.plan.output }}
          act: ${{ steps.act.output }}
    """
    if checks.graphs is None:
        return
    for block in checks.graphs.blocks.values():
        for ring in block.rings:
            yield _ring(checks.graphs, ring)
        for edge in block.backward:
            yield _backward(checks.graphs, block, edge)


def _ring(graphs: Graphs, ring: Ring) -> Violation:
    facts = [graphs.facts[step] for step in ring.steps]
    names = [each.name for each in (*facts, facts[0])]
    first = facts[0]
    if len(facts) == 1:
        message = f"step {first.name!r} waits for itself"
    else:
        message = f"steps wait for each other: {' -> '.join(names)}"
    if ring.others:
        others = ", ".join(repr(graphs.facts[step].name) for step in ring.others)
        message += f" (and through them {others})"
    return Violation(
        span=first.step.name.span,
        message=message,
        step=first.path,
        related=tuple(
            Related(f"{each.name!r} is part of the ring", each.step.name.span) for each in facts[1:]
        ),
        witness={"ring": [each.name for each in facts]},
        help="take one of these edges or reads out",
    )


def _backward(graphs: Graphs, block: BlockGraph, edge: Edge) -> Violation:
    source, target = graphs.facts[edge.source], graphs.facts[edge.target]
    later = block.steps[block.steps.index(edge.source) + 1 :]
    hint = ", ".join(repr(graphs.facts[step].name) for step in later[:3])
    return Violation(
        span=edge.span,
        message=f"`goto` leads back from {source.name!r} to {target.name!r}, which comes before it",
        step=source.path,
        related=(Related(f"{target.name!r} is written here", target.step.name.span),),
        help=f"name a later step of the same block ({hint})"
        if hint
        else "move the step to go to below this one, or use `retry` or `repeat`",
    )
