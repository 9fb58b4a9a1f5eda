"""Macros over lists, turn by turn: exact for short lists, unknown beyond what is looked at."""

from __future__ import annotations

from typing import TypeAlias

from dagflow.compiler.proofs.solver.encoder import Encoder, text_of
from dagflow.compiler.proofs.solver.shapes import (
    Environment,
    Formula,
    Items,
    Shape,
    Sym,
    Term,
    listed,
)
from dagflow.expr.ast import Call, Loop, Node

Turns: TypeAlias = list[tuple[Formula, Sym]]
"""For each element that is looked at: whether the list has it, and what the body gives for it."""


def looped(encoder: Encoder, node: Loop, names: Environment) -> Sym:
    """Return what a macro gives; over an object, nothing is known of it."""
    over = node.over
    if isinstance(over, Call) and over.function == "@order":
        over = over.args[0]

    def take(shape: Shape) -> Sym | Shape | None:
        if not isinstance(shape, Items):
            return encoder.unknown(node)
        return _over(encoder, node, names, shape)

    return encoder.logic.product((encoder.encode(over, names),), take)


def _over(encoder: Encoder, node: Loop, names: Environment, items: Items) -> Sym:
    logic = encoder.logic
    turns = [
        (items.length > index, _turn(encoder, node, names, item, index))
        for index, item in enumerate(items.items)
    ]
    beyond = logic.false() if items.whole else items.length > items.count
    if node.kind in {"exists", "all"}:
        found = _quantified(encoder, node, turns)
        rest = encoder.unknown(node, ("bool",))
        return logic.either((logic.no(beyond), found), (beyond, rest))
    if node.kind in {"filter", "map"}:
        return _listed(encoder, node, items, turns, beyond)
    return encoder.unknown(node, ("bool",))


def _turn(encoder: Encoder, node: Loop, names: Environment, item: Sym, index: int) -> Sym:
    """Return what the body gives for one element."""
    body: Node | None = node.item if node.kind == "map" else node.test
    assert body is not None
    with encoder.inside(f"{node.var}={text_of(node.over)}[{index}]"):
        return encoder.encode(body, {**names, node.var: item})


def _quantified(encoder: Encoder, node: Loop, turns: Turns) -> Sym:
    """Return `exists` or `all`, which absorb errors as `||` and `&&` do."""
    logic, some = encoder.logic, 0 if node.kind == "exists" else 1
    truths = [(is_in, logic.truth(turn)) for is_in, turn in turns]
    one = logic.any(*(logic.all(is_in, truth[some]) for is_in, truth in truths))
    every = logic.all(*(logic.any(logic.no(is_in), truth[1 - some]) for is_in, truth in truths))
    return logic.bool(one, every) if node.kind == "exists" else logic.bool(every, one)


def _listed(encoder: Encoder, node: Loop, items: Items, turns: Turns, beyond: Formula) -> Sym:
    """Return the list that `map` or `filter` makes: its length, and for `map` its elements."""
    logic = encoder.logic
    if node.kind == "map" and node.test is not None:
        return encoder.unknown(node, ("list",))
    given = (logic.any(logic.no(is_in), _is_given(encoder, node, turn)) for is_in, turn in turns)
    known = logic.all(logic.no(beyond), *given)
    if node.kind == "map":
        made = listed(items.length, [turn for _, turn in turns], whole=items.whole)
    else:
        made = listed(_kept(encoder, turns), (), whole=False)
    rest = encoder.unknown(node, ("list",))
    return logic.either((known, logic.certain(made)), (beyond, rest))


def _kept(encoder: Encoder, turns: Turns) -> Term:
    """Return how many elements a filter keeps."""
    logic, z3 = encoder.logic, encoder.logic.z3
    ones = (
        z3.If(logic.all(is_in, logic.truth(turn)[0]), logic.int(1), logic.int(0))
        for is_in, turn in turns
    )
    return z3.Sum([logic.int(0), *ones])


def _is_given(encoder: Encoder, node: Loop, turn: Sym) -> Formula:
    if node.kind == "map":
        return encoder.logic.defined(turn)
    return encoder.logic.any(*encoder.logic.truth(turn))
