from __future__ import annotations

import hashlib
import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from dagflow.core.errors import UsageError
from dagflow.core.plan import Plan
from dagflow.core.plan_json import from_json, to_json
from tests.unit.compiler.sources import planned, whole


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned(whole())


def test_plan_comes_back_from_its_own_json(plan: Plan) -> None:
    again = from_json(json.loads(json.dumps(to_json(plan))))

    assert again == plan
    assert again.digest == plan.digest


def test_small_plan_comes_back_too() -> None:
    small = Plan(name="x", version="")

    assert from_json(to_json(small)) == small


def test_edited_plan_is_another_plan(plan: Plan) -> None:
    edited: Any = to_json(plan)
    edited["constraints"] = edited["constraints"][1:]

    found = from_json(edited)

    assert found.digest != plan.digest
    assert len(found.constraints) == len(plan.constraints) - 1


def test_a_changed_plan_has_a_digest_of_its_own(plan: Plan) -> None:
    assert replace(plan, description="x").digest != plan.digest
    assert replace(plan).digest == plan.digest


def test_digest_is_the_sha256_of_the_canonical_rest(plan: Plan) -> None:
    rest = {key: value for key, value in to_json(plan).items() if key != "digest"}
    written = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert plan.digest == f"sha256:{hashlib.sha256(written.encode()).hexdigest()}"


def test_digest_covers_everything_but_itself(plan: Plan) -> None:
    other: Any = to_json(plan)
    other["digest"] = "sha256:00"

    assert from_json(other).digest == plan.digest


def change(path: str, value: object) -> Any:
    def apply(document: Any) -> None:
        *way, last = [int(part) if part.isdigit() else part for part in path.split("/")]
        for part in way:
            document = document[part]
        document[last] = value

    return apply


def drop(key: str) -> Any:
    return lambda document: document.pop(key)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (change("extra", 1), "at /extra: the key is unknown"),
        (drop("steps"), "at /: the key 'steps' is missing"),
        (change("name", 3), "at /name: expected text, got 3"),
        (change("deadline", "5s"), "at /deadline: expected a number, or null, got '5s'"),
        (change("on_failure", "go"), "at /on_failure: expected one of continue, stop, got 'go'"),
        (change("steps", {}), "at /steps: expected a list, got an object with no keys"),
        (change("steps/0/priority", 1.5), "at /steps/0/priority: expected an integer, got 1.5"),
        (change("steps/0/priority", True), "at /steps/0/priority: expected an integer, got True"),
        (change("steps/0/body", []), "at /steps/0/body: expected an object, got a list of 0"),
        (change("outputs/0", ["x"]), "at /outputs/0: expected a list of 2, got 1 items"),
        (change("outputs/0/1", {"liter": 1}), "at /outputs/0/1: expected an object with literal"),
        (change("steps/0/retry/attempts", "x"), "at /steps/0/retry/attempts: expected an integer"),
        (change("steps/0/input_schema", 1), "at /steps/0/input_schema: expected a JSON Schema"),
        (change("triggers", float("nan")), "at /triggers: not a finite number"),
        (change("plan_version", 2), "the plan has version 2"),
    ],
)
def test_what_is_no_plan_is_refused_at_its_place(plan: Plan, edit: Any, said: str) -> None:
    document = deepcopy(to_json(plan))
    edit(document)

    with pytest.raises(UsageError) as refused:
        from_json(document)

    assert said in refused.value.message
    assert refused.value.remedy


@pytest.mark.parametrize("value", [None, [], "plan", 3, {}])
def test_other_json_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="not a plan"):
        from_json(value)
