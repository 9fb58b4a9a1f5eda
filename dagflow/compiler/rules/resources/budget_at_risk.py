"""DF706: budgets that loops and retries within their own bounds can exceed."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Final

from dagflow.compiler.defaults import retry_of
from dagflow.compiler.graph.build import Graphs
from dagflow.compiler.model import Model
from dagflow.compiler.planning.bounds import Costs, costs
from dagflow.compiler.planning.cheapest import certain_answers, least, least_calls
from dagflow.compiler.planning.prices import called_at, prices_for
from dagflow.compiler.planning.prune import Pruned
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity
from dagflow.core.money import PriceList, picos, units, written
from dagflow.core.records import dataclass
from dagflow.core.source import At

_WORDS: Final = {"tokens": "tokens", "tool_calls": "tool calls", "items": "items", "cost": "cost"}


@rule("DF706", "budget-at-risk", Severity.WARNING, "plan")
def budget_at_risk(checks: Checks) -> Iterator[Violation]:
    """A run that stays within the bounds of its loops and retries may use up its budget.

    Of branches that exclude each other the dearest counts, every loop goes round as often as it
    may, and no more is retried than one step, in one turn, as often as its `retry` allows: one
    service that is away for a moment should not end the run for want of budget. That all steps
    need all their attempts at once is what a budget is there to stop; where only that exceeds it,
    it is a note. So is a `cost` that nothing counts for, since nothing has a price. A run that uses
    more than its budget on average, as recorded, is told in any case.

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

    Bad:

        dagflow: 1
        name: poems
        inputs: {topics: {type: array, maxItems: 50, items: {type: string, maxLength: 40}}}
        budget: {cost: 0.1}  # DF706: a run may cost 0.1507 without any retry, and the budget has…
        models:
          default: {route: local, price: {prompt: 1, answer: 10}}
        steps:
          each:
            foreach:
              items: inputs.topics
              max_items: 50
              concurrency: 4
              steps:
                write:
                  llm: {prompt: "A poem about ${{ item }}.", max_tokens: 300}
        outputs: {poems: "${{ steps.each.output }}"}

    Good:

        dagflow: 1
        name: poems
        inputs: {topics: {type: array, maxItems: 50, items: {type: string, maxLength: 40}}}
        budget: {cost: 0.2}
        models:
          default: {route: local, price: {prompt: 1, answer: 10}}
        steps:
          each:
            foreach:
              items: inputs.topics
              max_items: 50
              concurrency: 4
              steps:
                write:
                  llm: {prompt: "A poem about ${{ item }}.", max_tokens: 300}
        outputs: {poems: "${{ steps.each.output }}"}
    """
    model, pruned = checks.model, checks.pruned
    if model is None or pruned is None or model.workflow.budget is None:
        return
    budget = model.workflow.budget
    limits: dict[str, At[float]] = {
        name: limit for name in _WORDS if (limit := getattr(budget, name)) is not None
    }
    if not limits:
        return
    prices = prices_for(model, checks.site.prices)
    if "cost" in limits and prices is None:
        yield _priceless(limits.pop("cost"))
    known = _Known(
        model=model,
        pruned=pruned,
        plain=costs(model, pruned, retries=False, prices=prices),
        every=costs(model, pruned, prices=prices),
        currency=checks.site.prices.currency,
    )
    hopeless = _hopeless(pruned.graphs, checks.site.prices)
    for name, limit in limits.items():
        most = _limit(name, limit)
        if hopeless.get(name, 0) > most:
            continue  # `budget-impossible` says more
        if mean := _exceeding(checks, name, limit):
            yield mean
        elif most < known.every.total(name) and _is_known(name, known):
            yield _risk(known, name, limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is asked of every part of a budget."""

    model: Model
    pruned: Pruned
    plain: Costs
    every: Costs
    currency: str


def _limit(name: str, limit: At[float]) -> float:
    return picos(limit.value) if name == "cost" else limit.value


def _is_known(name: str, known: _Known) -> bool:
    """Tell whether an amount is one, and not the want of a price."""
    return name != "cost" or known.every.total(name) < inf


def _hopeless(graphs: Graphs, listed: PriceList) -> dict[str, float]:
    """Return what every success needs of a budget."""
    answers = max((tokens for _, tokens in certain_answers(graphs)), default=0)
    calls = least(graphs, lambda facts: called_at(facts, listed)) if listed.tools else 0
    return {"tool_calls": least_calls(graphs), "tokens": answers, "cost": calls}


def _priceless(limit: At[float]) -> Violation:
    return Violation(
        span=limit.span,
        message="nothing has a price here, so that no run comes to any cost",
        help="give the models a `price`, or the site file `prices`",
        severity=Severity.NOTE,
    )


def _exceeding(checks: Checks, name: str, limit: At[float]) -> Violation | None:
    """Say that an average run uses more than its budget."""
    found = checks.bounds.expected if checks.bounds is not None else None
    mean: float | None = getattr(found, name, None)
    if found is None or mean is None or mean <= limit.value:
        return None
    takes = _says(name, f"{mean:g}", written(mean, checks.site.prices.currency), mean, third="s")
    return Violation(
        span=limit.span,
        message=f"a run {takes} on average ({found.runs:,} recorded), and the budget has"
        f" {_amount_of(name, limit.value)}",
    )


def _risk(known: _Known, name: str, limit: At[float]) -> Violation:
    plain, worst = known.plain, known.every.total(name)
    once, most = plain.total(name), _limit(name, limit)
    step, more = _dearest(known.pruned, name, plain, known.model)
    has = f"and the budget has {_amount_of(name, limit.value)}"
    if once > most:
        said = f"a run may {_takes(once, name, known)} without any retry, {has}"
    elif once + more > most:
        extra = written(units(more)) if name == "cost" else f"{more:,.0f}"
        said = f"a run may {_takes(once, name, known)}, and {extra} more when {step!r}"
        said = f"{said} needs all its attempts, {has}"
    else:
        message = f"a run may {_takes(worst, name, known)} when every step needs all its attempts,"
        return Violation(span=limit.span, message=f"{message} {has}", severity=Severity.NOTE)
    return Violation(span=limit.span, message=said, related=tuple(_parts(known, name)))


def _takes(amount: float, name: str, known: _Known) -> str:
    if amount == inf:
        return f"{'make' if name == 'tool_calls' else 'take'} any number"
    money = written(units(amount), known.currency) if name == "cost" else ""
    return _says(name, f"{amount:,.0f}", money, amount)


def _says(name: str, number: str, money: str, amount: float, third: str = "") -> str:
    if name == "cost":
        return f"cost{third} {money}"
    verb = "make" if name == "tool_calls" else "take"
    word = _WORDS[name] if amount != 1 else _WORDS[name].removesuffix("s")
    return f"{verb}{third} {number} {word}"


def _amount_of(name: str, amount: float) -> str:
    return written(amount) if name == "cost" else f"{amount:,}"


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


def _parts(known: _Known, name: str) -> Iterator[Related]:
    """Yield the steps of the top that cost most, the dearest first."""
    graphs, plain = known.pruned.graphs, known.plain
    tops = [path for path in graphs.blocks[""].steps if getattr(plain.steps[path], name)]
    dear = sorted(tops, key=lambda path: -getattr(plain.steps[path], name))[:3]
    for path in dear:
        takes = _takes(getattr(plain.steps[path], name), name, known)
        yield Related(f"{path!r} may {takes}", graphs.facts[path].step.name.span)
