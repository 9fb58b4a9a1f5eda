"""The author's reference is true: every example in it is checked and evaluated."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dagflow.core.values import JsonObject, Schema
from dagflow.expr import Scope, step_view
from dagflow.expr.cost import MAX_GROWTH, MAX_MADE, MAX_TURNS
from dagflow.expr.functions import FUNCTIONS
from dagflow.expr.signatures import SPECIAL_METHODS, signatures
from dagflow.expr.syntax import MAX_BYTES, MAX_NESTING
from tests.unit.expr.scopes import INT, NUMBER, TEXT, record, value_of

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "expressions.md").read_text()
VALUES: JsonObject = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
EXAMPLES = [
    [part.strip() for part in line.rsplit(" // ", 1)]
    for block in re.findall(r"```cel\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]

OUTPUT = record(
    text=TEXT,
    score=INT,
    owner={"type": ["string", "null"]},
    title_=TEXT,
    items={"type": "array", "items": record(name=TEXT, price=NUMBER)},
)
STEPS: Schema = {
    "type": "object",
    "properties": {
        "fetch": step_view(OUTPUT),
        "lookup": step_view(INT),
        "my-step": step_view(INT),
    },
    "additionalProperties": False,
}
SCOPE = Scope(
    {
        "inputs": record(
            ticket=TEXT, limit=INT, rate=NUMBER, tags={"type": "array", "items": TEXT}
        ),
        "steps": STEPS,
    }
)


@pytest.mark.parametrize(("text", "value"), EXAMPLES, ids=[text for text, _ in EXAMPLES])
def test_an_example_gives_what_the_page_says(text: str, value: str) -> None:
    expected = json.loads(value)

    found = value_of(text, VALUES, SCOPE)

    assert found == expected
    assert type(found) is type(expected)


def test_the_page_has_every_function() -> None:
    names = [name.rpartition(".")[2] for name in signatures() if name[0] not in "_-!"]
    missing = [
        name
        for name in (*names, *SPECIAL_METHODS, *(added.name for added in FUNCTIONS))
        if name not in PAGE and not name.startswith(("get", "bit"))
    ]

    assert missing == []


def test_the_page_has_the_limits() -> None:
    assert f"{MAX_BYTES:,} bytes" in PAGE
    assert f"| {MAX_NESTING} |" in PAGE
    assert f"| {MAX_TURNS:,} |" in PAGE
    assert f"| {MAX_MADE:,} |" in PAGE
    assert MAX_GROWTH == 2_000**2
    assert "2,000²" in PAGE
