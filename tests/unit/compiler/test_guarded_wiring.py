"""What a guard excludes is not given: bounds, choices and null that are tested first."""

from __future__ import annotations

import pytest

from dagflow.core.findings import Severity
from tests.rules.compiling import compiled

CHILD = """\
# file: child.yaml
dagflow: 1
name: child
inputs:
  days: {type: integer, minimum: 1, maximum: 7, default: 1}
  kind: {enum: [low, high], default: low}
  name: {type: string, minLength: 1, maxLength: 20, default: x}
  share: {type: number, exclusiveMinimum: 0, default: 1}
steps:
  a: {transform: 'string(inputs.days) + inputs.kind + inputs.name + string(inputs.share)'}
outputs: {x: "${{ steps.a.output }}"}
# file: parent.yaml
dagflow: 1
name: parent
inputs:
  n: integer
  word: string
  text: {type: string, maxLength: 40}
  maybe: [string, "null"]
  amount: number
steps:
"""
INPUTS = CHILD.replace('[string, "null"]', '{type: [string, "null"]}')


def told(steps: str) -> list[tuple[Severity, str]]:
    found = compiled(INPUTS + steps).report.findings
    return [(f.severity, f.message) for f in found if f.name == "wiring-type"]


def call(given: str, guard: str = "") -> str:
    when = f"\n    when: {guard}" if guard else ""
    return f"  call:{when}\n    workflow: ./child.yaml\n    with: {{{given}}}\n"


@pytest.mark.parametrize(
    ("given", "guard"),
    [
        ('days: "${{ inputs.n }}"', "inputs.n > 0 && inputs.n < 8"),
        ('days: "${{ inputs.n + 1 }}"', "inputs.n in [0, 3, 6]"),
        ('kind: "${{ inputs.word }}"', "inputs.word == 'low' || inputs.word == 'high'"),
        ('name: "${{ inputs.text }}"', "inputs.text.size() in [1, 2, 20]"),
        ('share: "${{ inputs.amount }}"', "inputs.amount > 0.5"),
    ],
)
def test_value_that_its_guard_bounds_fits(given: str, guard: str) -> None:
    assert told(call(given)) != []
    assert told(call(given, guard)) == []


def test_guard_that_leaves_some_of_them_is_not_enough() -> None:
    ((severity, message),) = told(call('days: "${{ inputs.n }}"', "inputs.n >= 0 && inputs.n < 8"))

    assert severity is Severity.WARNING
    assert message == "days: expected integer at least 1 at most 7, got integer"


def test_branch_of_a_switch_bounds_what_its_steps_are_given() -> None:
    route = """\
  route:
    switch:
      - {when: inputs.word == "low" || inputs.word == "high", then: call}
      - {else: end}
"""

    assert told(route + call('kind: "${{ inputs.word }}"')) == []


def test_size_of_which_nothing_is_said_is_checked_when_it_runs() -> None:
    ((severity, message),) = told(call('name: "x${{ inputs.word }}"'))

    assert severity is Severity.NOTE
    assert "checked at run time" in message


def test_null_that_a_guard_excludes_is_not_given_though_nothing_is_said_of_the_size() -> None:
    given = 'name: "${{ inputs.maybe }}"'

    assert told(call(given)) != []
    assert told(call(given, "inputs.maybe != null && inputs.maybe != ''")) == []
