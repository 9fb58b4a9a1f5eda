from __future__ import annotations

import pytest

from dagflow.core.errors import StepError
from dagflow.core.plan import Expression
from dagflow.core.values import JsonObject
from dagflow.expr import Scope, ast, syntax
from dagflow.expr.evaluate import ExpressionError, evaluate, evaluate_guard
from tests.unit.expr.scopes import INT, NUMBER, VALUES, expression, record, value_of


def raw(text: str) -> Expression:
    """Return an expression that was parsed and not checked."""
    return Expression(text, ast.to_json(syntax.parse(text)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("inputs.x > 3 && inputs.flag", True),
        ("steps.fetch.output.price * 2", 5.0),
        ("steps.fetch.output.count + 1.5", 4.5),
        ("steps.fetch.output.items.map(i, i.price * 2)", [2.0, 5.0]),
        ("steps.fetch.output.items.filter(i, i.price > 1).map(i, i.name)", ["b"]),
        ("steps.fetch.output.items.exists_one(i, i.name == 'a')", True),
        ("steps.?fetch.output.?extra.orValue('d')", "d"),
        ("steps.?`my-step`.output.orValue(7)", 7),
        ("steps.?fetch.output.?note.orValue('d')", None),
        ("steps.?fetch.optMap(f, f.status).orValue('')", "succeeded"),
        ("has(steps.fetch.output.extra)", False),
        (
            "{'a': inputs.x, ?'b': inputs.?text, ?'c': steps.fetch.output.?extra}",
            {"a": 5, "b": "abc"},
        ),
        ("[inputs.x, ?steps.fetch.output.?extra]", [5]),
        ("steps.fetch.output.free == {'deep': [1]}", True),
        ("inputs.x == 5.0", True),
        ("steps.fetch.output.count < steps.fetch.output.price", False),
        ("1 / (inputs.x - 5) > 1 || true", True),
        ("steps.`my-step`.output > 1 && false", False),
        ("timestamp('2026-01-01T00:00:00Z') + duration('90m')", "2026-01-01T01:30:00Z"),
        ("timestamp('2026-01-01T00:00:00.25+02:00')", "2025-12-31T22:00:00.25Z"),
        ("duration('-1500ms')", "-1.5s"),
        ("duration('1h')", "3600s"),
        ("string(steps.fetch.output.price)", "2.5"),
        ("math.greatest(inputs.x, 7)", 7),
        ("2u + 3u", 5),
        ("'é'.size()", 1),
    ],
)
def test_the_value_of_an_expression(text: str, value: object) -> None:
    found = value_of(text)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "part", "reason"),
    [
        ("1 + 10 / (inputs.x - 5)", "10 / (inputs.x - 5)", "division by zero"),
        (
            "steps.`my-step`.output > 1",
            "steps.`my-step`.output",
            "there is no 'output' in the object",
        ),
        (
            "steps.fetch.output.items[7].name",
            "steps.fetch.output.items[7]",
            "the list has no index 7, it has 2 elements",
        ),
        (
            "size(steps.fetch.output.extra) > 1",
            "steps.fetch.output.extra",
            "there is no 'extra' in the object",
        ),
        (
            "steps.fetch.output.items.map(i, 10 / int(i.price - 1.0))",
            "10 / int(i.price - 1.0)",
            "division by zero",
        ),
        ("inputs.flag ? 1 / (inputs.x - 5) : 2", "1 / (inputs.x - 5)", "division by zero"),
        (
            "steps.?fetch.optMap(f, 1 / (f.output.count - 3)).orValue(0)",
            "1 / (f.output.count - 3)",
            "division by zero",
        ),
        (
            "steps.fetch.output.free.deep + 1",
            "steps.fetch.output.free.deep + 1",
            "`+` can't take a list and an integer",
        ),
        (
            "inputs.x + 9223372036854775807",
            "inputs.x + 9223372036854775807",
            "the result is an integer outside the 64-bit range",
        ),
        (
            "1.0 / (steps.fetch.output.price - 2.5)",
            "1.0 / (steps.fetch.output.price - 2.5)",
            "inf is not a finite number",
        ),
        ("int(inputs.text) + 1", "int(inputs.text)", "cannot convert string to int"),
        (
            "max(steps.loop.errors.map(e, e.index))",
            "max(steps.loop.errors.map(e, e.index))",
            "max of an empty list",
        ),
        (
            "steps.fetch.output.free.deep.map(d, d.x)",
            "d.x",
            "a field was read of what is no object",
        ),
    ],
)
def test_a_failure_names_the_smallest_part_that_fails(text: str, part: str, reason: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        value_of(text)

    error = caught.value
    assert text[error.offset : error.offset + error.length] == part
    assert error.reason == reason
    assert str(error) == f"`{part}`: {reason}"
    assert isinstance(error, StepError)
    assert error.error_class == "expression"


@pytest.mark.parametrize(
    ("text", "part", "reason"),
    [
        ("inputs.y", "inputs.y", "there is no 'y' in it"),
        ("inputs.y.z", "inputs.y", "there is no 'y' in it"),
        ("inputs.x.y", "inputs.x.y", "an integer has no field 'y'"),
        ("nope.x", "nope", "'nope' has no value here"),
        ('inputs["y"]', 'inputs["y"]', "there is no 'y' in it"),
    ],
)
def test_a_path_that_leads_nowhere_fails_at_its_last_name(
    text: str, part: str, reason: str
) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(raw(text), VALUES)

    error = caught.value
    assert (text[error.offset : error.offset + error.length], error.reason) == (part, reason)


@pytest.mark.parametrize(
    "text",
    [
        "1 / 0",  # a value of type ERROR
        "[1, 2].map(x, [1, 2].map(y, 1 / 0))",  # an element that is one
        "steps.?fetch",  # an optional left unopened
        '{"a": 1, inputs.text: 2, inputs.text: 3}',  # the library gives up
        "b'abc'",
        "type(1)",
        "{1: 2}",
        "[optional.of(1)]",
        "nope(1)",
        "missing + 1",
    ],
)
def test_every_way_to_fail_is_one_error(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(raw(text), VALUES)


@pytest.mark.parametrize("text", ["1 / 0 > 1", "inputs.x", "null", "missing", "inputs.x > 'a'"])
def test_a_guard_that_fails_is_never_false(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate_guard(raw(text), VALUES)


def test_a_guard_that_is_no_boolean_says_what_it_is() -> None:
    with pytest.raises(ExpressionError, match="the guard is an integer, not true or false"):
        evaluate_guard(raw("inputs.x"), VALUES)


@pytest.mark.parametrize("value", [7615917337495251231, 123456789012, 1e22, 5.0, -0.0, "x", None])
def test_a_path_copies_its_value_digit_for_digit(value: object) -> None:
    scope = Scope({"inputs": record(v=True)})

    found = value_of("inputs.v", {"inputs": {"v": value}}, scope)  # type: ignore[dict-item]

    assert repr(found) == repr(value)


def test_an_integer_survives_a_computation() -> None:
    scope = Scope({"inputs": record(v=INT)})
    values: JsonObject = {"inputs": {"v": 7615917337495251230}}

    assert value_of("[{'a': inputs.v + 1}]", values, scope) == [{"a": 7615917337495251231}]


@pytest.mark.parametrize("value", [6, 6.0])
def test_a_number_is_computed_with_as_a_double_however_it_came(value: float) -> None:
    scope = Scope({"inputs": record(price=NUMBER, count=INT)})
    values: JsonObject = {"inputs": {"price": value, "count": 2}}

    assert value_of("inputs.price / 4", values, scope) == 1.5
    assert value_of("inputs.price * inputs.count + 1", values, scope) == 13.0
    assert value_of("-inputs.price", values, scope) == -6.0
    assert value_of("inputs.price > inputs.count", values, scope) is True
    assert value_of("[inputs.price].exists(p, p + 1 == 7)", values, scope) is True


def test_what_is_not_read_is_not_looked_at() -> None:
    class Unreadable(dict):  # type: ignore[type-arg]
        def __getitem__(self, key: object) -> object:
            raise AssertionError(key)

    values: JsonObject = {"inputs": {"x": 5, "other": Unreadable(a=1)}, "steps": Unreadable(a=1)}

    assert evaluate(expression("inputs.x + 1"), values) == 6


def test_evaluation_leaves_its_values_as_they_are() -> None:
    values: JsonObject = {"inputs": {"x": 5, "text": "a", "flag": True, "divisor": 1}}

    value_of("[inputs, inputs].map(i, {'n': i})", values)

    assert values == {"inputs": {"x": 5, "text": "a", "flag": True, "divisor": 1}}


def test_an_equal_ast_from_another_plan_is_planned_once() -> None:
    first, second = expression("inputs.x + 41"), expression("inputs.x + 41")

    assert first.ast is not second.ast
    assert evaluate(first, VALUES) == evaluate(second, VALUES) == 46


def test_two_asts_that_differ_in_a_zeros_sign_are_two_programs() -> None:
    assert str(evaluate(raw("[0.0][0]"), {})) == "0.0"
    assert str(evaluate(raw("[-0.0][0]"), {})) == "-0.0"


@pytest.mark.parametrize(
    ("text", "value"),
    [("[0, 1].exists(x, 1 / x == 1)", True), ("[0, 1].all(x, 1 / x == 5)", False)],
)
def test_a_loop_that_is_decided_absorbs_an_earlier_error(text: str, value: bool) -> None:
    assert evaluate_guard(raw(text), {}) is value


@pytest.mark.parametrize(
    "text",
    ["[0, 1].exists(x, 1 / x > 5)", "[0, 1].all(x, 1 / x < 5)", "[0].exists_one(x, 1 / x > 1)"],
)
def test_a_loop_that_is_not_decided_keeps_its_error(text: str) -> None:
    with pytest.raises(ExpressionError, match="division by zero"):
        evaluate_guard(raw(text), {})
