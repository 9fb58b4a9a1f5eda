"""What is certain about one expression of one step, given the types of what it reads."""

from __future__ import annotations

from collections.abc import Sequence

from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.proofs import guards
from dagflow.compiler.proofs.numbers import Lookup
from dagflow.compiler.proofs.schemas import schema_at
from dagflow.core.steps.switch import Switch
from dagflow.core.values import JsonValue, Schema
from dagflow.expr.ast import Node


def lookup(model: Model, facts: StepFacts) -> Lookup:
    """Return how the expressions of a step find the schema of what a path reads."""

    def schema(path: tuple[str, ...]) -> Schema:
        found = schema_at(path, model, facts)
        return True if found is None else found

    return schema


def is_never(model: Model, facts: StepFacts, name: str) -> bool:
    """Tell whether an expression of a step ("when", "until", "branches.0") is surely not true."""
    node = guards.ast_of(facts, name)
    return node is not None and guards.never([(node, True)], lookup(model, facts))


def is_always(model: Model, facts: StepFacts, name: str) -> bool:
    """Tell whether an expression of a step is surely not false."""
    node = guards.ast_of(facts, name)
    return node is not None and guards.always(node, lookup(model, facts))


def conditions(facts: StepFacts) -> tuple[Node | None, ...] | None:
    """Return the conditions of a switch, None for `else`; None when one of them is not known."""
    body = facts.step.body
    if not isinstance(body, Switch):
        return None
    found = [
        None if branch.when is None else guards.ast_of(facts, f"branches.{index}")
        for index, branch in enumerate(body.branches)
    ]
    known = all(
        node is not None or branch.when is None
        for node, branch in zip(found, body.branches, strict=True)
    )
    return tuple(found) if known else None


def excludes(model: Model, facts: StepFacts, earlier: Sequence[Node], node: Node | None) -> bool:
    """Tell whether a condition (None: `else`) surely isn't true once the earlier ones are false."""
    asked = [(other, False) for other in earlier]
    wanted = asked if node is None else [*asked, (node, True)]
    return guards.never(wanted, lookup(model, facts))


def falls_through(
    model: Model, facts: StepFacts, nodes: Sequence[Node]
) -> dict[str, JsonValue] | None:
    """Return values of what is read for which none of the conditions is true, if simple."""
    return guards.witness([(node, False) for node in nodes], lookup(model, facts))
