"""DF706: budgets that loops and retries within their own bounds can exceed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dagflow.compiler.defaults import retry_of
from dagflow.compiler.graph.build import Graphs
from dagflow.compiler.model import Model
from dagflow.compiler.planning.bounds import Costs, costs
from dagflow.compiler.planning.cheapest import certain_answers, least_calls
from dagflow.compiler.planning.prune import Pruned
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity
from dagflow.core.source import At

_WORDS: Final = {"tokens": "tokens", "tool_calls": "tool calls", "items": "items"}


@rule("DF706", "budget-at-risk", Severity.WARNING, "plan")
def budget_at_risk(checks: Checks) -> Iterator[Violation]:
    """A run that stays within the bounds of its loops and retries may use up its budget.

    Of branches that exclude each other the dearest counts, every loop goes round as often as it
    may, and no more is retried than one step, in one turn, as often as its `retry` allows: one
    service that is away for a moment should not end the run for want of budget. That all steps
    need all their attempts at once is what a budget is there to stop; where only that exceeds it,
    it is a note.

    Bad:

        dagflow: 1
        name: ticket
        budget: {tool_calls: 2}  # DF706: a run may make 1 tool call, and 2 more when 'fetch'…
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: t-1}}
            retry: {attempts: 3}
        outputs:
          text: ${{ steps.fetch.output.body.text }}

    Good:

        dagflow: 1
        name: ticket
        budget: {tool_calls: 3}
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: t-1}}
            retry: {attempts: 3}
        outputs:
          text: ${{ steps.fetch.output.body.text }}
    """
    model, pruned = checks.model, checks.pruned
    if model is None or pruned is None or model.workflow.budget is None:
        return
    budget = model.workflow.budget
    limits: dict[str, At[int] | None] = {name: getattr(budget, name) for name in _WORDS}
    if not any(limits.values()):
        return
    plain, every = costs(model, pruned, retries=False), costs(model, pruned)
    hopeless = _hopeless(pruned.graphs)
    for name, limit in limits.items():
        if limit is not None and hopeless.get(name, 0) > limit.value:
            continue  # `budget-impossible` says more
        if limit is not None and every.total(name) > limit.value:
            yield from _risk(model, pruned, name, limit, plain=plain, every=every)


def _hopeless(graphs: Graphs) -> dict[str, float]:
    """Return what every success needs of a budget."""
    answers = max((tokens for _, tokens in certain_answers(graphs)), default=0)
    return {"tool_calls": least_calls(graphs), "tokens": answers}


def _risk(
    model: Model, pruned: Pruned, name: str, limit: At[int], *, plain: Costs, every: Costs
) -> Iterator[Violation]:
    once, worst = plain.total(name), every.total(name)
    step, more = _dearest(pruned, name, plain, model)
    has = f"and the budget has {limit.value:,}"
    if once > limit.value:
        said = f"a run may {_takes(once, name)} without any retry, {has}"
    elif once + more > limit.value:
        said = f"a run may {_takes(once, name)}, and {more:,.0f} more when {step!r}"
        said = f"{said} needs all its attempts, {has}"
    else:
        yield Violation(
            span=limit.span,
            message=f"a run may {_takes(worst, name)} when every step needs all its attempts,"
            f" {has}",
            severity=Severity.NOTE,
        )
        return
    yield Violation(span=limit.span, message=said, related=tuple(_parts(pruned, name, plain)))


def _takes(amount: float, name: str) -> str:
    verb = "make" if name == "tool_calls" else "take"
    word = _WORDS[name] if amount != 1 else _WORDS[name].removesuffix("s")
    return f"{verb} {amount:,.0f} {word}" if amount != float("inf") else f"{verb} any number"


def _dearest(pruned: Pruned, name: str, plain: Costs, model: Model) -> tuple[str, float]:
    """Return the step whose retries in one turn cost most, and what they cost."""
    found = [
        ((retry_of(facts.step, model.workflow).attempts - 1) * _own(plain, path, name), path)
        for path, facts in pruned.graphs.facts.items()
    ]
    more, path = max(found, key=lambda each: each[0], default=(0.0, ""))
    return path, more


def _own(plain: Costs, path: str, name: str) -> float:
    """Return what one more attempt of a step costs; the items of a list are counted once."""
    cost = plain.steps[path]
    amount: float = getattr(cost, name)
    return 0.0 if name == "items" and path in plain.blocks else amount


def _parts(pruned: Pruned, name: str, plain: Costs) -> Iterator[Related]:
    """Yield the steps of the top that cost most, the dearest first."""
    tops = [path for path in pruned.graphs.blocks[""].steps if getattr(plain.steps[path], name)]
    dear = sorted(tops, key=lambda path: -getattr(plain.steps[path], name))[:3]
    for path in dear:
        facts = pruned.graphs.facts[path]
        amount = getattr(plain.steps[path], name)
        yield Related(f"{path!r} may {_takes(amount, name)}", facts.step.name.span)
