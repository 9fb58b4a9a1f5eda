"""No text from outside reaches a value that has no label: a marked text is looked for in it."""

from __future__ import annotations

import os
import random

from dagflow.compiler.proofs.labels.carrying import carries
from dagflow.compiler.proofs.labels.expressions import labels_of
from dagflow.compiler.proofs.labels.trails import CLEAN, Trail, Trails
from dagflow.core.findings import Related
from dagflow.core.plan import Expression
from dagflow.core.source import NOWHERE
from dagflow.core.values import JsonObject
from dagflow.expr.ast import Path, to_json
from dagflow.expr.check import Checked, check
from dagflow.expr.evaluate import ExpressionError, evaluate
from dagflow.expr.reads import paths_of
from dagflow.expr.scope import Scope
from tests.property.expressions import FIELDS, INPUTS, Maker, value

CASES = 10_000 if os.environ.get("DAGFLOW_FULL") else 1_000
MARK = "ⓧ"
OUTSIDE: Trails = {"untrusted": Trail(Related("outside", NOWHERE))}


def read(path: Path) -> Trails:
    schema = FIELDS.get(path[1], True) if len(path) > 1 else True
    return OUTSIDE if not isinstance(schema, dict | bool) or carries(schema) else CLEAN


def marked(seed: int) -> JsonObject:
    inputs = value(random.Random(seed))
    assert isinstance(inputs, dict)
    return {**inputs, "s": MARK, "t": MARK, "u": MARK, "any": MARK, "long": [MARK], "l": [1, 2]}


def test_value_without_a_label_never_holds_text_from_outside() -> None:
    held = 0
    for seed in range(CASES):
        found = check(Maker(seed).of("string", 3), Scope({"inputs": INPUTS}))
        if not isinstance(found, Checked) or found.node is None:
            continue
        expression = Expression("", to_json(found.node), tuple(paths_of(found.node)))
        try:
            got = evaluate(expression, {"inputs": marked(seed)})
        except ExpressionError:
            continue
        if MARK in str(got):
            held += 1
            assert labels_of(found.node, read), found.text

    assert held > CASES / 20
