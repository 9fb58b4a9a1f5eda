"""Z3's memory is given back with each question, whether or not Python's collector runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from dagflow.compiler.proofs.solver.query import Claim, ask, is_never
from dagflow.core.values import Schema
from dagflow.expr.syntax import parse
from dagflow.expr.types import Type, of_schema

INPUTS: Schema = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "s": {"type": "string"}, "any": {}},
    "required": ["n", "s", "any"],
}


def root(name: str) -> Type:
    assert name == "inputs"
    return of_schema(INPUTS)


@pytest.fixture(autouse=True)
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def contexts() -> int:
    import z3

    # By `type`, not `isinstance`: that asks an object for its class, and objects of other
    # libraries answer with warnings.
    return sum(type(each) is z3.Context for each in gc.get_objects())


@pytest.mark.parametrize(
    "text",
    [
        "inputs.n % 9 == 3 && inputs.s.contains('x')",
        "inputs.n > 3 && inputs.n < 2",
        "inputs.any.size() > 2 && inputs.any != 'abc'",
        "inputs.s.matches('^a+b$')",
    ],
)
def test_question_leaves_nothing_to_the_collector(text: str) -> None:
    claims = [Claim(parse(text), True)]
    before = contexts()

    ask(claims, root)
    is_never(claims, root)

    assert contexts() <= max(before, 1)  # Z3's own main context may be made now
