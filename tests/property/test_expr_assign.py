"""`fits` is sound: a yes holds for every instance of the public test suite, a no has a witness."""

from __future__ import annotations

import json
import os
import random
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from dagflow.core.errors import UsageError, ValueRefusedError
from dagflow.core.values import JsonValue, Schema, check_value
from dagflow.expr import explain, fits, unusable, validate, witness
from dagflow.expr.schema import _best, _has_pattern
from dagflow.expr.validators import FORMATS

CASES = Path(
    os.environ.get("DAGFLOW_CASES", Path(__file__).resolve().parents[2] / ".." / "shared" / "cases")
)
SUITE = CASES / "json-schema-test-suite" / "tests" / "draft2020-12"

# The suite is somebody else's and is read in place, never copied here.
pytestmark = pytest.mark.skipif(
    not SUITE.is_dir(), reason=f"the JSON Schema test suite is not at {SUITE}"
)


@cache
def groups() -> list[tuple[Schema, list[JsonValue], list[bool]]]:
    """Return each usable schema of the suite with its instances and what they should be."""
    found = []
    for path in sorted(SUITE.glob("*.json")):
        for group in json.loads(path.read_text()):
            schema = group["schema"]
            kept = [test for test in group["tests"] if carried(test["data"])]
            # every schema is read as 2020-12, whatever dialect it says it is in
            foreign = isinstance(schema, dict) and "localhost" in str(schema.get("$schema"))
            if unusable(schema) is None and kept and not foreign:
                found.append(
                    (schema, [t["data"] for t in kept], [t["valid"] for t in kept]),
                )
    return found


def carried(value: object) -> bool:
    try:
        check_value(value)
    except ValueRefusedError:
        return False
    return True


def valid(schema: Schema, value: JsonValue) -> bool:
    return validate(schema, value) is None


def pair_is_sound(seed: int) -> str:
    """Judge one random pair on all the instances around it; return the verdict."""
    chosen = random.Random(seed)
    (a, of_a, _), (b, of_b, _), (_, others, _) = (chosen.choice(groups()) for _ in range(3))
    if chosen.random() < 0.5:  # pairs that have much in common
        a, b = related(chosen, a, b)
    try:
        verdict = fits(a, b)
    except UsageError:
        return "unknown"
    if verdict == "yes":
        wrong = [v for v in (*of_a, *of_b, *others) if valid(a, v) and not valid(b, v)]
        assert wrong == [], (a, b)
    if verdict == "no":
        shown = witness(a, b)
        assert shown is not None
        assert valid(a, shown.value), (a, b, shown)
        assert not valid(b, shown.value), (a, b, shown)
    return verdict


def related(chosen: random.Random, a: Schema, b: Schema) -> tuple[Schema, Schema]:
    """Return two schemas made of the two, one of which often admits what the other does."""
    free = [schema for schema in (a, b) if "$" not in json.dumps(schema)]
    if len(free) < 2:
        return a, a
    forms: list[tuple[Schema, Schema]] = [
        ({"allOf": [a, b]}, a),
        (a, {"anyOf": [a, b]}),
        ({"type": "array", "items": a}, {"type": "array", "items": {"anyOf": [b, a]}}),
        (
            {"type": "object", "properties": {"p": a}, "required": ["p"]},
            {"type": "object", "properties": {"p": b}},
        ),
        ({"not": {"anyOf": [a, b]}}, {"not": a}),
    ]
    return chosen.choice(forms)


def test_no_yes_is_wrong_and_every_no_has_a_witness() -> None:
    verdicts = [pair_is_sound(seed) for seed in range(2_000)]

    assert verdicts.count("yes") > 200
    assert verdicts.count("no") > 200


@pytest.mark.slow
def test_no_yes_is_wrong_over_many_pairs() -> None:
    verdicts = [pair_is_sound(seed) for seed in range(2_000, 62_000)]

    assert verdicts.count("yes") > 6_000


@pytest.mark.slow
def test_no_yes_is_wrong_on_the_cross_product() -> None:
    """Each schema of the suite against each, judged by every instance that the suite has."""
    instances = [value for _, values, _ in groups() for value in values]
    admitted = [
        {place for place, value in enumerate(instances) if valid(schema, value)}
        for schema, _, _ in groups()
    ]
    every = list(zip((schema for schema, _, _ in groups()), admitted, strict=True))
    verdicts, wrong = [], []
    for (a, of_a), (b, of_b) in product(every, every):
        verdict = fits(a, b)
        verdicts.append(verdict)
        if verdict == "yes" and not of_a <= of_b:
            wrong.append((a, b, instances[min(of_a - of_b)]))

    assert wrong == []
    assert len(verdicts) >= 60_000
    assert verdicts.count("unknown") < len(verdicts) / 10


def test_validate_agrees_with_the_suite() -> None:
    wrong = [
        (schema, value)
        for schema, instances, verdicts in groups()
        for value, expected in zip(instances, verdicts, strict=True)
        if valid(schema, value) is not expected and not asks_for_a_format(schema)
    ]

    assert wrong == []
    assert len(groups()) > 250


def asks_for_a_format(schema: Schema) -> bool:
    """Tell whether a schema's format is checked here, where the suite takes it for a remark."""
    return isinstance(schema, dict) and schema.get("format") in FORMATS


def test_the_words_come_from_a_judge_that_agrees() -> None:
    """`jsonschema`, which explains, and jsonschema-rs, which decides, say the same."""
    differing = []
    for schema, instances, _ in groups():
        for value in instances:
            if (explain(schema, value) is None) is not valid(schema, value):
                differing.append((schema, value))
            readable = not _has_pattern(schema)  # those are left to jsonschema-rs
            if not valid(schema, value) and readable and _best(schema, value) is None:
                differing.append((schema, value))

    assert differing == []
