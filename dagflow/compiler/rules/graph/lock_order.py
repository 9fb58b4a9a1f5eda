"""DF309: runs that wait for a concurrency group which runs above them hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity
from dagflow.core.plan import Literal_, Plan, Value, steps_of
from dagflow.core.source import Span

Held: TypeAlias = tuple[str, ...]
"""Groups in the order in which a run and the runs above it take them."""


@rule("DF309", "lock-order", Severity.WARNING, "typed")
def lock_order(checks: Checks) -> Iterator[Violation]:
    """Concurrency groups are taken inside each other so that runs can wait for ever.

    A run holds its place in its group until it is over, and that includes its child runs. A
    child of the same group then waits for a place that its own parent holds; two workflows that
    take two groups in opposite orders can each hold what the other waits for. Only groups whose
    name is fixed text can be compared.

    Bad:

        # file: child.yaml
        dagflow: 1
        name: child
        concurrency: {group: deploys, limit: 1}
        steps:
          note: {transform: 1}
        outputs: {n: "${{ steps.note.output }}"}
        # file: main.yaml
        dagflow: 1
        name: parent
        concurrency: {group: deploys, limit: 1}
        steps:
          inner:
            workflow: {file: ./child.yaml}  # DF309: the run holds a place in group 'deploys' while…
        outputs: {n: "${{ steps.inner.output.n }}"}

    Good:

        # file: child.yaml
        dagflow: 1
        name: child
        steps:
          note: {transform: 1}
        outputs: {n: "${{ steps.note.output }}"}
        # file: main.yaml
        dagflow: 1
        name: parent
        concurrency: {group: deploys, limit: 1}
        steps:
          inner:
            workflow: {file: ./child.yaml}
        outputs: {n: "${{ steps.inner.output.n }}"}
    """
    if checks.model is None:
        return
    own = _fixed(checks.model.concurrency.value if checks.model.concurrency else None)
    held: Held = (own,) if own else ()
    orders: dict[tuple[str, str], StepFacts] = {}
    for facts in _calling(checks.model):
        assert facts.child is not None
        for chain in _chains(facts.child, held):
            yield from _told(facts, chain, orders)


def _calling(model: Model) -> Iterator[StepFacts]:
    for facts in model.steps():
        if facts.child is not None and not facts.broken:
            yield facts


def _fixed(group: Value | None) -> str:
    return str(group.literal) if isinstance(group, Literal_) else ""


def _chains(plan: Plan, held: Held) -> Iterator[Held]:
    """Yield what is held, in order, whenever a run of the plan or below it takes a group."""
    group = _fixed(plan.concurrency)
    chain = (*held, group) if group else held
    if group:
        yield chain
    for step in steps_of(plan):
        if step.child is not None:
            yield from _chains(step.child, chain)


def _called(facts: StepFacts) -> Span:
    """Return the place where the called workflow is named."""
    body = facts.step.body
    return next(each.span for each in (body.file, body.name, facts.step.name) if each is not None)


def _told(
    facts: StepFacts, chain: Held, orders: dict[tuple[str, str], StepFacts]
) -> Iterator[Violation]:
    *above, last = chain
    span = _called(facts)
    if last in above:
        yield Violation(
            span=span,
            message=f"the run holds a place in group {last!r} while a child run waits for one",
            step=facts.path,
            help="leave the child's `concurrency` out, or give it a group of its own",
        )
        return
    for group in above:
        inverse = orders.get((last, group))
        orders.setdefault((group, last), facts)
        if inverse is not None:
            yield Violation(
                span=span,
                message=f"group {group!r} is held while {last!r} is waited for, "
                f"and {inverse.name!r} does it the other way round",
                step=facts.path,
                related=(Related(f"{last!r} first, then {group!r}", _called(inverse)),),
                help="take the two groups in one order everywhere",
            )
