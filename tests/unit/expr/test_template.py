from __future__ import annotations

import pytest

from dagflow.core.plan import Evaluated, Expression, Joined, Keyed, Listed, Literal_
from dagflow.expr import (
    CheckedTemplate,
    ExpressionError,
    Problem,
    Segment,
    check_template,
    parse_template,
    render,
)
from tests.unit.expr.scopes import SCOPE, VALUES, expression


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


def checked(text: str) -> CheckedTemplate:
    found = check_template(text, SCOPE)
    assert isinstance(found, CheckedTemplate), found
    return found


def test_one_expression_keeps_its_type() -> None:
    assert checked("${{ inputs.x }}").result == {"type": "integer"}
    assert checked("${{ inputs.x }}").whole


@pytest.mark.parametrize(
    "text", ["${{ inputs.x }} ", "a ${{ inputs.x }}", "${{ inputs.x }}${{ inputs.x }}"]
)
def test_several_parts_are_text(text: str) -> None:
    assert checked(text).result == {"type": "string"}
    assert not checked(text).whole


def test_text_alone_is_a_constant() -> None:
    assert checked("$${{ x }}").result == {"const": "${{ x }}"}


def test_problems_have_their_places_in_the_template() -> None:
    text = "a ${{ inputs.flga }} b ${{ steps.my-step }}"

    problems = check_template(text, SCOPE)

    assert isinstance(problems, tuple)
    assert [text[p.offset : p.offset + p.length] for p in problems] == ["flga", "my-step"]
    assert [p.fix and text[p.fix[0] : p.fix[0] + p.fix[1]] for p in problems] == ["flga", "my-step"]


def test_warnings_have_their_places_in_the_template() -> None:
    text = "a ${{ 1 / inputs.x }}"

    (warning,) = checked(text).warnings

    assert text[warning.offset :] == "1 / inputs.x }}"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a ${{ steps.fetch.output.items }}", "expression-type"),
        ("a ${{ null }}", "expression-type"),
        ("a ${{ {'a': 1} }}", "expression-type"),
        ("a ${{ steps.fetch.output.note }}", "maybe-null"),
    ],
)
def test_what_is_no_text_is_a_problem_in_text(text: str, kind: str) -> None:
    (problem,) = check_template(text, SCOPE)  # type: ignore[misc]

    assert problem.kind == kind
    assert problem.offset == text.index("{{") + 3


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


def test_a_checked_template_becomes_what_a_plan_stores() -> None:
    text = "é ${{ inputs.x }}"

    value = checked(text).value(lambda offset: (7, 3 + offset))

    assert isinstance(value, Joined)
    (before, stored) = value.parts
    assert before == "é "
    assert isinstance(stored, Expression)
    assert (stored.line, stored.column, stored.reads) == (7, 9, (("inputs", "x"),))
    assert isinstance(checked("${{ inputs.x }}").value(), Evaluated)
    assert checked("$${{").value() == Literal_("${{")
    assert render(value, VALUES) == "é 5"
