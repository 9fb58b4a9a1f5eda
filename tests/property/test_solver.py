"""The solver and the CEL engine agree: on what is possible, on what is not, and on the witness."""

from __future__ import annotations

import os
import random

from dagflow.compiler.proofs.solver.query import Claim, Outcome, outcome, solve
from dagflow.expr import validate
from dagflow.expr.check import Checked, check
from dagflow.expr.scope import Scope
from dagflow.expr.types import Type, of_schema
from tests.property.expressions import INPUTS, Maker, value

CASES = 10_000 if os.environ.get("DAGFLOW_FULL") else 500
"""How many questions are asked: three of each expression, one for each way to come out."""
OUTCOMES: tuple[Outcome, ...] = (True, False, "error")
SCOPE = Scope({"inputs": INPUTS})


def root(name: str) -> Type | None:
    return of_schema(INPUTS) if name == "inputs" else None


def checked(seed: int) -> Checked | None:
    found = check(Maker(seed).boolean(3), SCOPE)
    return found if isinstance(found, Checked) else None


def judged(seed: int) -> list[str]:
    """Ask for each outcome of one random expression, and hold the answers against CEL."""
    found = checked(seed)
    if found is None or found.node is None:
        return []
    verdicts = []
    chosen = random.Random(seed)
    seen = {outcome(found.node, {"inputs": value(chosen)}) for _ in range(40)}
    for wanted in OUTCOMES:
        answer = solve([Claim(found.node, wanted)], root)
        if answer.verdict == "never":
            assert wanted not in seen, (found.text, wanted)
        if answer.verdict == "sometimes" and answer.exact:
            assert answer.values is not None, (found.text, wanted)
            values = {"inputs": {}, **answer.values}
            assert outcome(found.node, values) == wanted, (found.text, wanted, answer.values)
            if "inputs" in answer.values:
                assert validate(INPUTS, answer.values["inputs"]) is None, (found.text, values)
        verdicts.append(answer.verdict if answer.exact else f"inexact {answer.verdict}")
    return verdicts


def test_the_solver_never_contradicts_the_engine() -> None:
    verdicts = [verdict for seed in range(CASES // 2) for verdict in judged(seed)]

    assert len(verdicts) > CASES
    assert verdicts.count("sometimes") > len(verdicts) / 3
    assert sum("never" in verdict for verdict in verdicts) > len(verdicts) / 10
    assert sum("unknown" in verdict for verdict in verdicts) < len(verdicts) / 50
