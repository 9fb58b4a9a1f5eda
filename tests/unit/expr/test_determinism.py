from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import json
from dagflow.core.plan import Expression
from dagflow.expr import Scope, check
from dagflow.expr.evaluate import evaluate

kinds = {"inputs": {"type": "object", "properties": {"m": {"type": "object"}, "free": True},
                    "required": ["m", "free"]}}
object_ = {c: i for i, c in enumerate("qwertyuiopasdfgh")}
for text in (
    "inputs.m.map(k, k)", "inputs.free.map(k, k)", "inputs.m.filter(k, k > 'f')",
    "{'b': 1, 'a': 2, 'd': 3, 'c': 4, 'e': 5}.map(k, k)",
    "{'b': 1, 'a': {'z': 1, 'y': 2, 'x': 3}, 'd': 3}", "json(inputs.m)", "[inputs.m]",
    "'%s'.format([inputs.m])", "distinct([inputs.m, {'b': 1, 'a': 2}])",
    "join(inputs.m.map(k, k))",
):
    found = check(text, Scope(kinds))
    value = evaluate(Expression(text, found.ast), {"inputs": {"m": object_, "free": object_}})
    print(json.dumps([found.ast, found.result, found.paths, value]))
"""


def printed(seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    return done.stdout


@pytest.fixture(scope="module")
def first() -> str:
    return printed("0")


@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_every_process_gives_the_same_ast_type_and_value(first: str, seed: str) -> None:
    assert first.count("\n") == 10
    assert printed(seed) == first
