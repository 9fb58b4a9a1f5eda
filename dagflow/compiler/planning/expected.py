"""What a run uses on average: what was recorded of each of its steps, added up.

The mean of a sum is the sum of the means, however the steps hang together. So nothing is assumed of
branches, loops and retries: how often they happen is in what was recorded. What was not recorded
is not guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from math import inf, nan

from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.planning.deadlines import WINDOWS
from dagflow.compiler.planning.prices import (
    called_at,
    model_of,
    planned_call_price,
    prices_for,
    route_of,
    token_price,
)
from dagflow.compiler.planning.prune import Pruned
from dagflow.core.findings import Expected
from dagflow.core.money import UNIT, Price, PriceList, rounded
from dagflow.core.plan import Plan, PlanStep, steps_of
from dagflow.core.records import dataclass
from dagflow.core.site import Site, Used, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A step as far as it uses anything; `price` is None where nobody knows what tokens cost."""

    key: str
    kind: str
    price: Price | None = None
    call: int = 0
    child: Plan | None = None


@dataclass(slots=True)
class _Means:
    """What the steps use on average, added up; the cost in picos, no number where unknown."""

    steps: float = 0.0
    tokens: float = 0.0
    tool_calls: float = 0.0
    items: float = 0.0
    cost: float = 0.0
    runs: float = inf


def expected(model: Model, pruned: Pruned, site: Site) -> Expected | None:
    """Return what a run uses on average, None where no use is recorded at all."""
    if not any(window.used for window in site.history):
        return None
    known = _summed(site.history[-WINDOWS:])
    name, listed = model.workflow.name.value, site.prices
    steps = pruned.graphs.facts.values()
    lines = [line for facts in steps for line in _lines(facts, name, model, listed)]
    missing = tuple(dict.fromkeys(_missing(lines, known, listed)))
    if missing or not lines:
        return Expected(missing=tuple(key.removeprefix(f"{name}.") for key in missing))
    means = _means(lines, known, listed)
    is_priced = prices_for(model, listed) is not None and means.cost == means.cost
    return Expected(
        runs=int(means.runs),
        steps=rounded(means.steps),
        tokens=rounded(means.tokens),
        tool_calls=rounded(means.tool_calls),
        items=rounded(means.items),
        cost=rounded(means.cost / UNIT) if is_priced else None,
    )


def _summed(history: Sequence[Window]) -> dict[str, Used]:
    """Return what each step used in all windows together."""
    names = [field.name for field in fields(Used)]
    found: dict[str, list[Used]] = {}
    for window in history:
        for key, used in window.used.items():
            found.setdefault(key, []).append(used)
    return {
        key: Used(**{name: sum(getattr(each, name) for each in all_) for name in names})
        for key, all_ in found.items()
    }


def _lines(facts: StepFacts, workflow: str, model: Model, listed: PriceList) -> Iterator[_Line]:
    """Yield a step, and what undoes it."""
    price = None
    if facts.kind == "llm":
        name = model_of(facts)
        price = token_price(listed, name, route_of(model.workflow, name))
    call = called_at(facts, listed)
    key = f"{workflow}.{facts.path}"
    yield _Line(key=key, kind=facts.kind, price=price, call=call, child=facts.child)
    if facts.compensate is not None:
        yield from _lines(facts.compensate, workflow, model, listed)


def _planned(plan: Plan, listed: PriceList) -> list[_Line]:
    return [_of_plan(step, plan, listed) for step in steps_of(plan)]


def _of_plan(step: PlanStep, plan: Plan, listed: PriceList) -> _Line:
    name = str(step.body.get("model"))
    price = token_price(listed, name, plan.models.get(name, {})) if step.kind == "llm" else None
    call = planned_call_price(listed, step) if step.kind == "tool" else 0
    key = f"{plan.name}.{step.path}"
    return _Line(key=key, kind=step.kind, price=price, call=call, child=step.child)


def _missing(lines: Sequence[_Line], known: Mapping[str, Used], listed: PriceList) -> Iterator[str]:
    """Yield the steps of which no use is recorded, of called workflows too."""
    for line in lines:
        if line.key not in known:
            yield line.key
        elif line.child is not None and known[line.key].calls:
            yield from _missing(_planned(line.child, listed), known, listed)


def _means(lines: Sequence[_Line], known: Mapping[str, Used], listed: PriceList) -> _Means:
    total = _Means()
    for line in lines:
        _add(total, line, known[line.key])
        calls = known[line.key].calls / known[line.key].runs
        if line.child is not None and calls:
            inside = _means(_planned(line.child, listed), known, listed)
            _add_times(total, inside, calls)
    return total


def _add(total: _Means, line: _Line, used: Used) -> None:
    """Add what a step uses on average in a run."""
    total.runs = min(total.runs, used.runs)
    total.steps += used.ran / used.runs
    total.tokens += used.tokens / used.runs
    total.items += used.items / used.runs
    if line.kind == "tool":
        total.tool_calls += used.calls / used.runs
        total.cost += used.calls * line.call / used.runs
    if used.tokens:
        answers = used.tokens - used.prompt_tokens
        cost = nan if line.price is None else line.price.of(used.prompt_tokens, answers)
        total.cost += cost / used.runs


def _add_times(total: _Means, inside: _Means, times: float) -> None:
    total.runs = min(total.runs, inside.runs)
    for name in ("steps", "tokens", "tool_calls", "items", "cost"):
        setattr(total, name, getattr(total, name) + times * getattr(inside, name))
