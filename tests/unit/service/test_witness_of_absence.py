"""The values that a maybe-absent finding shows are played: the step is then absent indeed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.rules.compiling import told
from tests.unit.service.desk import failures
from tests.unit.service.test_stage import play

HEAD = """\
dagflow: 1
name: it
inputs: {n: {type: integer, minimum: 0, maximum: 9}, level: {enum: [low, high]}, loud: boolean}
steps:
"""

GUARD = """\
  a: {when: "inputs.n > 3 && inputs.level == 'high'", transform: "1"}
outputs: {x: "${{ %s }}"}
"""
BRANCH = """\
  route:
    switch:
      - {when: inputs.n > 5, then: a}
      - {when: inputs.loud, then: b}
      - {else: end}
  a: {transform: "1"}
  b: {transform: "2"}
outputs: {x: "${{ %s }}", y: "${{ steps.?b.output.orValue(0) }}"}
"""
ELSE = """\
  route:
    switch:
      - {when: inputs.level == 'high', then: b}
      - {else: a}
  a: {transform: "1"}
  b: {transform: "2"}
outputs: {x: "${{ %s }}", y: "${{ steps.?b.output.orValue(0) }}"}
"""
BEHIND = """\
  first: {when: inputs.n > 3, transform: inputs.n}
  a: {transform: "1", after: first}
outputs: {x: "${{ %s }}", y: "${{ steps.?first.output.orValue(0) }}"}
"""


@pytest.mark.parametrize("steps", [GUARD, BRANCH, ELSE, BEHIND])
def test_witness_makes_the_step_absent(tmp_path: Path, steps: str) -> None:
    (found,) = [f for f in told(HEAD + steps % "steps.a.output") if f.name == "maybe-absent"]
    witness: Any = found.witness
    inputs = {"n": 9, "level": "low", "loud": False, **witness["inputs"]}
    case = {"name": "it", "inputs": inputs, "expect": {"steps": {"a": "skipped"}}}

    mended = HEAD + steps % "steps.?a.output.orValue(0)"

    assert failures(play(tmp_path, mended, f"cases: [{json.dumps(case)}]\n")) == []
