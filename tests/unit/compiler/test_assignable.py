from __future__ import annotations

import pytest

from dagflow.compiler.outputs import closed, nullable
from dagflow.compiler.types.assignable import assignable
from dagflow.core.values import Schema

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
LOW_HIGH: Schema = {"enum": ["low", "high"]}


@pytest.mark.parametrize(
    ("given", "wanted", "verdict"),
    [
        (TEXT, TEXT, "fits"),
        (TEXT, True, "fits"),
        (INTEGER, NUMBER, "fits"),
        ({"const": "low"}, LOW_HIGH, "fits"),
        ({"type": "string", "maxLength": 3}, {"type": "string", "maxLength": 4}, "fits"),
        (closed({"a": TEXT}), closed({"a": TEXT, "b": TEXT}, ("a",)), "fits"),
        (True, TEXT, "open"),
        (NUMBER, INTEGER, "open"),
        ({"type": "object"}, closed({"a": TEXT}), "open"),
        (closed({"a": True}), closed({"a": TEXT}), "open"),
        (TEXT, {"type": "string", "maxLength": 4}, "bounds"),
        (INTEGER, {"type": "integer", "minimum": 0}, "bounds"),
        (closed({"a": TEXT}), closed({"a": {"type": "string", "minLength": 1}}), "bounds"),
        (TEXT, INTEGER, "clash"),
        (nullable(TEXT), TEXT, "clash"),
        (TEXT, LOW_HIGH, "clash"),
        ({"enum": ["low", "mid"]}, LOW_HIGH, "clash"),
        ({"const": 17}, TEXT, "clash"),
        (closed({"a": TEXT}), closed({"a": INTEGER}), "clash"),
        (closed({"a": TEXT}), closed({"a": TEXT, "b": TEXT}), "clash"),
        (closed({"a": TEXT, "b": TEXT}), closed({"a": TEXT}), "clash"),
        (closed({"a": TEXT}, ()), closed({"a": TEXT}), "clash"),
        ({"type": "array", "items": INTEGER}, {"type": "array", "items": TEXT}, "clash"),
        ({"anyOf": [TEXT, INTEGER]}, TEXT, "clash"),
        ({"anyOf": [TEXT, True]}, TEXT, "open"),
    ],
)
def test_verdict(given: Schema, wanted: Schema, verdict: str) -> None:
    assert assignable(given, wanted) == verdict
