"""A case of `dagflow test` ends as the interpreter of the language's description says."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, assume, event, given, settings

from dagflow.service.testing.running import FileResult, run_file
from dagflow.service.testing.subject import load
from dagflow.service.testing.text import file_text
from tests.property.flows import flows, to_yaml
from tests.property.reference import Flow, Reference, Step

FULL = os.environ.get("DAGFLOW_FULL") == "1"
COUNT = settings(
    max_examples=1000 if FULL else 30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def interpreted(flow: Flow) -> tuple[Mapping[str, str], str]:
    """Return the states of the steps and the outcome, by the reference."""
    reference = Reference(flow)
    reference.start()
    while ready := sorted(reference.ready()):
        reference.deliver(ready[0])
    states = reference.states()
    return states, reference.finish()


def answers(step: Step) -> list[dict[str, Any]]:
    """Return the script of a step; its last answer is given as often as need be."""
    given: list[dict[str, Any]] = [
        {"output": {"v": number}} if ending == "ok" else {"error": ending}
        for number, ending in enumerate(step.script, start=1)
    ]
    given += [{**given[-1], "output": {"v": n}} for n in (2, 3) if step.script[-1] == "ok"]
    return [*given[:-1], {**given[-1], "times": 9}]


def expected(state: str) -> dict[str, str]:
    status, _, reason = state.rstrip(")").partition("(")
    return {"status": status, **({"reason": reason} if reason else {})}


def played(flow: Flow, folder: Path) -> FileResult | None:
    """Run a flow's script as a case that expects what the reference says; None where refused."""
    (folder / "generated.yaml").write_text(to_yaml(flow))
    subject, _ = load(str(folder / "generated.yaml"))
    if subject is None:
        return None
    states, outcome = interpreted(flow)
    case = {
        "name": "as the reference",
        "expect": {
            "status": outcome,
            "steps": {
                name: expected(state) for name, state in states.items() if name in subject.steps
            },
        },
    }
    work = [step for step in flow.steps if not step.is_switch and step.name in subject.steps]
    scripts = {step.name: answers(step) for step in work}
    text = {
        "dagflow_test": 1,
        "defaults": {"inputs": {"n": flow.n}, "steps": scripts},
        "cases": [case],
    }
    (folder / "generated.test.yaml").write_text(json.dumps(text))
    return run_file(str(folder / "generated.test.yaml"))


@COUNT
@given(flow=flows())
def test_a_case_ends_as_the_reference_says(flow: Flow) -> None:
    # a join of at least n doesn't wait, so what it sees depends on who is first
    assume(all(isinstance(step.join, str) for step in flow.steps))
    with tempfile.TemporaryDirectory() as folder:
        found = played(flow, Path(folder))

    assume(found is not None)
    assert found is not None
    assert found.passed, file_text(found)
    event(found.cases[0].ended.partition(" ")[0])
