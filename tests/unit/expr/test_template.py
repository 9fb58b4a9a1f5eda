from __future__ import annotations

import pytest

from dagflow.core.plan import Evaluated, Expression, Joined, Keyed, Listed, Literal_
from dagflow.expr import Problem, Segment, parse_template
from dagflow.expr.evaluate import ExpressionError
from dagflow.expr.render import render
from tests.unit.expr.scopes import VALUES, expression


def split(text: str) -> list[str | tuple[str]]:
    """Return the parts of a template, an expression as a tuple of its text."""
    found = parse_template(text)
    assert isinstance(found, tuple)
    return [(part.text,) if isinstance(part, Segment) else part for part in found]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("plain", ["plain"]),
        ("${{ a }}", [("a",)]),
        ("${{a}}", [("a",)]),
        ("x ${{ a }} y ${{ b }}", ["x ", ("a",), " y ", ("b",)]),
        ("${{ a }}${{ b }}", [("a",), ("b",)]),
        ("$${{ a }}", ["${{ a }}"]),
        ("$$${{ a }}", ["$${{ a }}"]),
        ("$${{ ${{ a }}", ["${{ ", ("a",)]),
        ("cost: $5 {a} }} {{", ["cost: $5 {a} }} {{"]),
        ('${{ "}}" + a }}', [('"}}" + a',)]),
        ("${{ '}}' }}!", [("'}}'",), "!"]),
        ('${{ {"a": {"b": 1}} }}', [('{"a": {"b": 1}}',)]),
        ('${{ {"a": {"b": 1}}}}', [('{"a": {"b": 1}}',)]),
        ('${{ r"\\" }}', [('r"\\"',)]),
        ('${{ "\\"}}" }}', [('"\\"}}"',)]),
        ("${{ '''}}''' }}", [("'''}}'''",)]),
        ("${{ a // note }}", [("a // note",)]),
        ("${{ a\n  + b }}", [("a\n  + b",)]),
        ("${{ 'é' }} ü", [("'é'",), " ü"]),
    ],
)
def test_a_template_is_split_into_text_and_expressions(text: str, parts: list[object]) -> None:
    assert split(text) == parts


@pytest.mark.parametrize("text", ["${{ a", "x ${{ 'a }}", "${{ {a }}", "${{", "${{ a } }"])
def test_an_expression_that_is_never_closed_is_a_problem(text: str) -> None:
    problem = parse_template(text)

    assert isinstance(problem, Problem)
    assert problem.message == "`${{` is never closed by `}}`"
    assert text[problem.offset :].startswith("${{")


def test_a_segment_knows_its_places() -> None:
    text = "é ${{  a.b }}!"

    (_, segment, _) = parse_template(text)  # type: ignore[misc]

    assert isinstance(segment, Segment)
    assert text[segment.offset : segment.offset + 3] == "a.b"
    assert text[segment.start : segment.end] == "${{  a.b }}"


def test_render_keeps_types_and_joins_text() -> None:
    x, price = expression("inputs.x"), expression("steps.fetch.output.price")
    value = Keyed(
        (
            ("whole", Evaluated(x)),
            ("text", Joined(("x=", x, ", price=", price, ", flag=", expression("inputs.flag")))),
            ("list", Listed((Literal_(None), Evaluated(expression("inputs"))))),
        )
    )

    assert render(value, VALUES) == {
        "whole": 5,
        "text": "x=5, price=2.5, flag=true",
        "list": [None, VALUES["inputs"]],
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (12, "12"),
        (0.1, "0.1"),
        (2.5, "2.5"),
        (123456789012, "123456789012"),
        (7615917337495251231, "7615917337495251231"),
        ('a"b', 'a"b'),
        ("", ""),
    ],
)
def test_a_scalar_in_text_is_written_as_json_writes_it(value: object, text: str) -> None:
    free = Expression("inputs.v", {"select": "v", "of": {"var": "inputs"}, "at": [0, 8]})

    assert render(Joined((free, "")), {"inputs": {"v": value}}) == text  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("value", "word"), [(None, "null"), ([1], "a list"), ({"a": 1}, "an object")]
)
def test_null_lists_and_objects_in_text_are_errors(value: object, word: str) -> None:
    free = Expression("inputs.v", {"select": "v", "of": {"var": "inputs"}, "at": [0, 8]})

    with pytest.raises(ExpressionError, match=f"{word} can't be written as text"):
        render(Joined(("a", free)), {"inputs": {"v": value}})  # type: ignore[dict-item]


def test_json_writes_anything_into_text() -> None:
    text = expression("json(steps.fetch.output.maybe)")

    assert render(Joined(("a ", text)), VALUES) == "a [1,null]"
