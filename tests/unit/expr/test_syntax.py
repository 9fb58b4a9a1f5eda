from __future__ import annotations

import json

import pytest

from dagflow.core.errors import BugError
from dagflow.expr import ast, plain, syntax
from dagflow.expr.problem import Problem, Refused

TEXTS = [
    'steps.a.status == "succeeded" && inputs.x > 3',
    "xs.map(x, x > 1, x * 2)",
    "xs.filter(x, x > 1)",
    "xs.exists_one(x, x > 1)",
    "xs.all(x, xs.exists(y, y == x))",
    "steps.?b.output.?y.orValue(-3)",
    "a.optMap(v, v + 1)",
    "a.optFlatMap(v, v.?b)",
    '{"a": 1, ?"b": c.?d}',
    "[1, ?c.?d]",
    "has(a.b.c)",
    'a[0].b["c d"].`e-f`',
    '[null, true, 1, 2u, 0.5, "é", b"\\x00\\xff", -9223372036854775808]',
    "math.greatest(1, 2) + math.abs(-1)",
    "a ? b : c",
]


@pytest.mark.parametrize("text", TEXTS)
def test_an_ast_is_the_same_after_json(text: str) -> None:
    node = syntax.parse(text)

    stored = json.loads(json.dumps(ast.to_json(node)))

    assert ast.to_json(ast.from_json(stored)) == stored


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_text_gives_the_same_bytes(text: str) -> None:
    found = set()
    for _ in range(3):
        syntax.parse.cache_clear()
        found.add(json.dumps(ast.to_json(syntax.parse(text))))

    assert len(found) == 1


@pytest.mark.parametrize("text", ["a.in.b", "a..b", "1a", "é", "a.map(x, x)", "--a"])
def test_what_is_not_plain_is_left_to_the_library(text: str) -> None:
    assert plain.parse(text) is None


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "(a + b) * size(c.d)",
            ["(a + b) * size(c.d)", "a + b", "a", "b", "size(c.d)", "c.d", "c"],
        ),
        ("xs.map(x, f[x])", ["xs.map(x, f[x])", "xs", "f[x]", "f", "x"]),
        ("has(a.b)", ["has(a.b)", "a"]),
        ('"é" + a', ['"é" + a', '"é"', "a"]),
        ('a["]"] + 1', ['a["]"] + 1', 'a["]"]', "a", '"]"', "1"]),
        ("a.?b.c", ["a.?b.c", "a.?b", "a", "a"]),
        ("a // b\n + c", ["a // b\n + c", "a", "c"]),
        ("math.greatest(a, 2)", ["math.greatest(a, 2)", "a", "2"]),
        ("!(a && b)", ["!(a && b)", "a && b", "a", "b"]),
    ],
)
def test_every_node_knows_its_text(text: str, parts: list[str]) -> None:
    nodes = ast.walk(syntax.parse(text))

    assert [text[slice(*node.at)] for node in nodes] == parts


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("(1", "the expression ends too early, ')' is missing", (2, 0)),
        ("1 +", "the expression ends too early", (3, 0)),
        ("a = 1", "unexpected '='", (2, 1)),
        ('"abc', "the string '\"abc' is not closed, or has an escape that CEL lacks", (0, 4)),
        ("a and b", "unexpected 'and'", (2, 3)),
        ("\n a.b +\n  ) c", "unexpected ')'", (10, 1)),
        ("'é' + ) c", "unexpected ')'", (6, 1)),
        ("if", "'if' is a reserved word and can't name a variable", (0, 2)),
        ("w.Out{a: 1}", "messages such as 'w.Out' can't be made here", (0, 1)),
        (
            "google.protobuf.Value{}",
            "messages such as 'google.protobuf.Value' can't be made here",
            (0, 6),
        ),
        ("99999999999999999999", "invalid int literal", (0, 20)),
        ("  ", "the expression is empty", (0, 2)),
        ("a\0b", "the expression holds a character CEL can't", (0, 3)),
        ("'\ud800'", "the expression holds a character CEL can't", (0, 3)),
    ],
)
def test_a_syntax_mistake_is_said_with_its_place(
    text: str, message: str, place: tuple[int, int]
) -> None:
    with pytest.raises(Refused) as caught:
        syntax.parse(text)

    problem = caught.value.problem
    assert (problem.message, (problem.offset, problem.length)) == (message, place)


@pytest.mark.parametrize(
    "text",
    [
        "+".join(["1"] * 40),
        "(" * 40 + "1" + ")" * 40,
        "[" * 40 + "]" * 40,
        "a" + ".b" * 60,
        "a" + "[0]" * 60,
        "a ? 1 : " * 40 + "2",
        "!" * 500 + "a",
        "-" * 500 + "a",
        "'" + "x" * 5000 + "'",
    ],
)
def test_deep_and_long_expressions_are_a_cost(text: str) -> None:
    found = problem_or_node(text)

    if isinstance(found, Problem):
        assert found.kind == "expression-cost"
    else:  # repeated signs fold in the parser: what is left is shallow
        assert ast.nesting(found) < 64


def problem_or_node(text: str) -> Problem | ast.Node:
    try:
        return syntax.parse(text)
    except Refused as refused:
        return refused.problem


def test_chains_of_and_and_or_are_free() -> None:
    node = syntax.parse(" && ".join(["a"] * 300))

    assert isinstance(node, ast.Call)


@pytest.mark.parametrize("stored", [{}, {"call": 1, "args": []}, {"var": None}, [], {"list": [3]}])
def test_a_damaged_ast_is_our_error(stored: object) -> None:
    with pytest.raises(BugError, match="not an expression's AST"):
        ast.from_json(stored)  # type: ignore[arg-type]
