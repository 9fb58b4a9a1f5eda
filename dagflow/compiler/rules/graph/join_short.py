"""DF304: joins that ask for more edges than there are."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.proofs.reach import Reach
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF304", "join-short", Severity.ERROR, "graph")
def join_short(checks: Checks) -> Iterator[Violation]:
    """`join: {at_least: n}` asks for more control edges than the step has that can be taken.

    Only control edges count: those of `after`, of a switch and of a `goto`, each step once. What
    the step reads does not.

    Bad:

        dagflow: 1
        name: vote
        steps:
          one: {transform: 'true'}
          two: {transform: 'true'}
          decide:
            after: [one, two]
            join: {at_least: 3}  # DF304: the join of 'decide' asks for 3 edges, but only 2 …
            transform: '"decided"'

    Good:

        dagflow: 1
        name: vote
        steps:
          one: {transform: 'true'}
          two: {transform: 'true'}
          decide:
            after: [one, two]
            join: {at_least: 2}
            transform: steps.one.output && steps.two.output
        outputs:
          decided: ${{ steps.decide.output }}
    """
    if checks.graphs is None or checks.reach is None:
        return
    for block in checks.graphs.blocks.values():
        for step in block.order:
            asked, live = block.join(step).n, _live(block, step, checks.reach)
            if block.join(step).mode != "at_least" or live >= asked:
                continue
            facts = checks.graphs.facts[step]
            join = facts.step.join
            span = join.span if join is not None else facts.step.name.span
            yield Violation(
                span=span,
                message=f"the join of {facts.name!r} asks for {_edges(asked)}, but {_left(live)}",
                step=step,
                help=f"ask for at most {live}, or wait for more steps"
                if live
                else "name the steps to wait for under `after`",
            )


def _edges(count: int) -> str:
    return f"{count} edge" if count == 1 else f"{count} edges"


def _left(live: int) -> str:
    return f"only {live} can be taken" if live else "no edge leads to it that can be taken"


def _live(block: BlockGraph, step: str, reach: Reach) -> int:
    """Count the edges that can be taken, or can't only for what is said elsewhere already."""
    cause = reach.cause(step)
    edges = len(block.incoming.get(step, ()))
    dead = len(cause.by) if cause is not None and cause.kind == "short" else 0
    return edges - dead
