"""Our check and the CEL library's own, over every operator and function and every pair of kinds."""

from __future__ import annotations

from itertools import product

import pytest

from dagflow.core.values import JsonObject
from dagflow.expr import Checked, Scope, check
from dagflow.expr.signatures import SPECIAL_FUNCTIONS, TYPE_NAMES, signatures

SCHEMAS: JsonObject = {
    "x_int": {"type": "integer"},
    "x_double": {"type": "number"},
    "x_string": {"type": "string"},
    "x_bool": {"type": "boolean"},
    "x_list": {"type": "array", "items": {"type": "integer"}},
    "x_texts": {"type": "array", "items": {"type": "string"}},
    "x_map": {"type": "object", "additionalProperties": {"type": "integer"}},
}
LITERALS = ['b"a"', '[timestamp("2026-01-01T00:00:00Z")][0]', '[duration("1s")][0]']
OPERANDS = [*SCHEMAS, *LITERALS]
NUMERIC = {"x_int", "x_double"}
BINARY = ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "in", "&&", "||"]


@pytest.fixture(scope="module")
def accepts():  # type: ignore[no-untyped-def]
    """Return whether the library's checker accepts a text."""
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_encoders, ext_math, ext_optional, ext_strings

    kind = cel.Type
    variables = {
        "x_int": kind.INT,
        "x_double": kind.DOUBLE,
        "x_string": kind.STRING,
        "x_bool": kind.BOOL,
        "x_list": kind.List(kind.INT),
        "x_texts": kind.List(kind.STRING),
        "x_map": kind.Map(kind.STRING, kind.INT),
    }
    extensions = [
        ext_strings.ExtStrings(),
        ext_math.ExtMath(),
        ext_optional.ExtOptional(),
        ext_encoders.ExtEncoders(),
    ]
    env = cel.NewEnv(variables=variables, extensions=extensions)

    def accepted(text: str) -> bool:
        try:
            env.compile(text)
        except RuntimeError:
            return False
        return True

    return accepted


def ours(text: str) -> bool:
    """Tell whether our check accepts a text, whatever JSON can say of its value."""
    return isinstance(check(f"[{text}].size() == 1", Scope(SCHEMAS)), Checked)


@pytest.mark.parametrize("operator", BINARY)
def test_a_binary_operator_takes_what_the_library_takes(operator: str, accepts) -> None:  # type: ignore[no-untyped-def]
    differing = []
    for left, right in product(OPERANDS, OPERANDS):
        text = f"{left} {operator} {right}"
        # CEL has no arithmetic and no order of an integer beside a double; lowering makes it
        mixed = left != right and {left, right} <= NUMERIC and operator != "%"
        mixed = mixed or text == "x_double in x_list"
        if not mixed and ours(text) != accepts(text):
            differing.append(text)

    # CEL compares lists of different elements without a word; ours are JSON lists as well
    expected = {f"x_list {operator} x_texts", f"x_texts {operator} x_list"}
    if operator == "+":  # a list of both is an ordinary value here
        assert set(differing) == expected
    elif operator in {"==", "!="}:
        assert set(differing) <= expected
    else:
        assert differing == []


@pytest.mark.parametrize("name", sorted(signatures()))
def test_a_function_takes_what_the_library_takes(name: str, accepts) -> None:  # type: ignore[no-untyped-def]
    if name[0] in "_-!":
        return
    counts = {len(overload.params) for overload in signatures()[name]}
    differing = []
    for count in counts - {3, 4}:
        for operands in product(OPERANDS, repeat=count):
            text = called(name, operands)
            if ours(text) != accepts(text):
                differing.append(text)

    assert [text for text in differing if not excused(name, text)] == []


def called(name: str, operands: tuple[str, ...]) -> str:
    if name.startswith("."):
        return f"{operands[0]}{name}({', '.join(operands[1:])})"
    return f"{name}({', '.join(operands)})"


def excused(name: str, text: str) -> bool:
    """Tell whether the difference is one we want."""
    takes_double = any("double" in overload.params for overload in signatures()[name])
    if takes_double and "x_int" in text:  # an integer is written as a double for it
        return True
    if text == 'int([duration("1s")][0])':  # declared by the library, and not there when it runs
        return True
    return name in {"timestamp", "duration"} and "x_string" not in text


def test_every_name_of_the_table_is_known_to_the_library(accepts) -> None:  # type: ignore[no-untyped-def]
    assert all(accepts(f"type(x_int) == {name}") for name in TYPE_NAMES)
    assert "json" in SPECIAL_FUNCTIONS
