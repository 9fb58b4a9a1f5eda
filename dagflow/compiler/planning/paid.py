"""What is said of the money that a run costs at most: the sum, and what it does not know."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from dagflow.compiler.graph.build import Graphs
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.planning.prices import Charge, charge_of, planned_charge
from dagflow.core.findings import CostBound
from dagflow.core.money import PriceList, units
from dagflow.core.plan import Plan, steps_of


def paid(model: Model, graphs: Graphs, total: float, prices: PriceList) -> CostBound:
    """Return what a run costs at most, of which `total` is the sum in picos."""
    charges = [
        charge for facts in graphs.facts.values() for charge in _charges(facts, model, prices)
    ]
    return CostBound(
        most=None if total == inf else units(total),
        currency=prices.currency,
        estimated=any(charge.estimated for charge in charges),
        unknown=tuple(dict.fromkeys(charge.unknown for charge in charges if charge.unknown)),
    )


def _charges(facts: StepFacts, model: Model, prices: PriceList) -> Iterator[Charge]:
    yield charge_of(facts, model.workflow, prices)
    if facts.child is not None:
        yield from _inside(facts.child, prices)
    if facts.compensate is not None:
        yield from _charges(facts.compensate, model, prices)


def _inside(plan: Plan, prices: PriceList) -> Iterator[Charge]:
    for step in steps_of(plan):
        yield planned_charge(step, plan, prices)
        if step.child is not None:
            yield from _inside(step.child, prices)
