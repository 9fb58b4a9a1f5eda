"""DF703: budgets that no successful run can keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dagflow.compiler.graph.build import Graphs
from dagflow.compiler.planning.cheapest import certain_answers, least, least_calls
from dagflow.compiler.planning.prices import called_at
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.money import picos, units, written
from dagflow.core.source import At

_COSTLY: Final = frozenset({"llm", "tool"})
"""Kinds that do not begin when the cost of a run is used up."""


@rule("DF703", "budget-impossible", Severity.ERROR, "plan")
def budget_impossible(checks: Checks) -> Iterator[Violation]:
    """The steps that every successful run makes need more than its budget has.

    An answer of a model is reserved in full before it is asked for. Of branches that exclude each
    other the one with the fewest tool calls counts, and of `cost` the one whose calls are cheapest
    by the prices of the site; what answers cost is not certain.

    Bad:

        dagflow: 1
        name: poem
        budget: {tokens: 100}
        steps:
          write:
            llm:
              prompt: Write a poem about rain.
              max_tokens: 400  # DF703: this answer may take 400 tokens, and the run has 100
        outputs:
          poem: ${{ steps.write.output.text }}

    Good:

        dagflow: 1
        name: poem
        budget: {tokens: 600}
        steps:
          write:
            llm:
              prompt: Write a poem about rain.
              max_tokens: 400
        outputs:
          poem: ${{ steps.write.output.text }}

    Bad:

        # file: site.yaml
        dagflow_site: 1
        prices: {currency: EUR, tools: {helpdesk.getTicket: 0.02}}
        # file: work.yaml
        dagflow: 1
        name: ticket
        budget: {cost: 0.01}  # DF703: the tool calls that every successful run makes cost 0.02…
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: t-1}}
        outputs:
          text: ${{ steps.fetch.output.body.text }}

    Good:

        # file: site.yaml
        dagflow_site: 1
        prices: {currency: EUR, tools: {helpdesk.getTicket: 0.02}}
        # file: work.yaml
        dagflow: 1
        name: ticket
        budget: {cost: 0.02}
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: t-1}}
        outputs:
          text: ${{ steps.fetch.output.body.text }}
    """
    if checks.model is None or checks.pruned is None or checks.model.workflow.budget is None:
        return
    budget, graphs = checks.model.workflow.budget, checks.pruned.graphs
    if budget.tokens is not None:
        yield from _tokens(graphs, budget.tokens.value)
    calls = least_calls(graphs)
    if budget.tool_calls is not None and calls > budget.tool_calls.value:
        yield Violation(
            span=budget.tool_calls.span,
            message=f"every successful run makes {calls:g} tool calls, and may make"
            f" {budget.tool_calls.value}",
        )
    if budget.cost is not None:
        yield from _cost(checks, graphs, budget.cost)


def _cost(checks: Checks, graphs: Graphs, limit: At[float]) -> Iterator[Violation]:
    """Compare what the calls of every success cost with the budget."""
    listed = checks.site.prices
    needed = least(graphs, lambda facts: called_at(facts, listed)) if listed.tools else 0
    if needed > picos(limit.value):
        cost, has = written(units(needed), listed.currency), written(limit.value)
        yield Violation(
            span=limit.span,
            message=f"the tool calls that every successful run makes cost {cost}, and the run"
            f" has {has}",
        )
    elif not limit.value and least(graphs, lambda facts: int(facts.kind in _COSTLY)):
        yield Violation(
            span=limit.span,
            message="every successful run asks a model or calls a tool, and none may begin with"
            " a cost of 0",
        )


def _tokens(graphs: Graphs, tokens: int) -> Iterator[Violation]:
    for facts, needed in certain_answers(graphs):
        if needed > tokens:
            bound = facts.step.body.max_tokens
            yield Violation(
                span=bound.span if bound is not None else facts.step.name.span,
                message=f"this answer may take {needed} tokens, and the run has {tokens}",
                step=facts.path,
            )
