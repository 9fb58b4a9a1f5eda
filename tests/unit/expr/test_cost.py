from __future__ import annotations

from math import prod

import pytest

from dagflow.core.plan import Expression
from dagflow.core.values import JsonObject
from dagflow.expr import ast, syntax
from dagflow.expr.cost import cost_of, exceeded
from dagflow.expr.evaluate import _lookup, evaluate
from dagflow.expr.sizes import Poly, Symbol, measured

TEXT = "w" * 50
DATA: JsonObject = {
    "xs": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    "ys": ["a" * 20, "é" * 30, ""],
    "zs": [{"tags": ["p", "q"], "text": TEXT}, {"tags": ["r"], "text": TEXT * 2}],
    "s": "word " * 40,
    "t": "é" * 25,
    "o": {"key_one": TEXT, "key_two": [1, 2, 3]},
}


def sizes_of(node: ast.Node) -> dict[Symbol, int]:
    sizes: dict[Symbol, int] = {}
    for path in cost_of(node).paths:
        sizes |= measured(path, _lookup(path, DATA))
    return sizes


def number(poly: Poly, sizes: dict[Symbol, int]) -> int:
    total = 0
    for monomial, factor in poly.items():
        total += factor * prod(sizes[symbol] for symbol in monomial)
    return total


@pytest.mark.parametrize(
    "text",
    [
        "xs.map(a, [a, a, a])",
        "ys.map(a, a + a)",
        "ys.map(a, ys.map(b, a + b))",
        "ys.map(a, ys.map(b, [a, b, s]))",
        "xs.map(a, s)",
        "xs.map(a, {'k': s, 'v': ys})",
        "zs.map(z, z.tags.map(t, t + z.text))",
        "zs.map(z, json(z))",
        "zs.filter(z, size(z.tags) > 0)",
        "zs.map(z, size(z.tags) > 1, z.text + z.text)",
        "o.map(k, k + k)",
        "o.map(k, o)",
        "[s, t, s].map(a, a.replace('', t))",
        "s.split(' ').map(w, w + t)",
        "s.split('')",
        "s.replace('w', t)",
        "t.replace('', s)",
        "join(ys, s)",
        "ys.join(t)",
        "json([zs, o, t])",
        "'%s %s'.format([s, t])",
        "s + t + s",
        "[xs, xs].map(l, l + l).map(l, l + l)",
        "flatten([xs, xs]) + xs",
        "sort(distinct(xs + xs))",
        "strings.quote(t)",
        "base64.encode(bytes(t))",
        "{'a': s, 'b': [t, t]}",
        "[1].map(i, s).map(a, a + a).map(a, a + a)",
        "xs.map(a, a > 5 ? s : t)",
        "string(xs[0]) + string(1.5)",
        "optional.of(s).optMap(v, v + v).orValue('')",
    ],
)
def test_a_bound_is_at_least_what_is_made(text: str) -> None:
    node = syntax.parse(text)

    value = evaluate(Expression(text, ast.to_json(node)), DATA)

    made = number(cost_of(node).made, sizes_of(node))
    weight = measured((), value)["W", ()]
    assert weight <= made


@pytest.mark.parametrize(
    ("text", "turns", "growth"),
    [
        ("xs.map(a, a)", 10, 100),
        ("xs.exists(a, a > 3)", 10, 0),
        ("xs.map(a, ys.exists(b, size(b) == a))", 10 + 30, 100),
        ("xs.map(a, ys.map(b, b))", 10 + 30, 100 + 90),
        ("xs.map(a, a).filter(a, a > 1)", 10 + 10, 100 + 100),
        ("xs.map(a, [a, a]).map(p, p.map(q, q))", 53, 299),  # 40 and 240: bounds, not counts
        ("size(xs) > 3 && s == t", 0, 0),
        ("xs.all(a, xs.all(b, xs.all(c, a + b > c)))", 10 + 100 + 1000, 0),
    ],
)
def test_turns_and_growth_are_counted(text: str, turns: int, growth: int) -> None:
    node = syntax.parse(text)
    cost, sizes = cost_of(node), sizes_of(node)

    assert (number(cost.turns, sizes), number(cost.growth, sizes)) == (turns, growth)


def test_turns_over_inner_lists_are_bounded_by_their_elements_not_their_bytes() -> None:
    node = syntax.parse("zs.map(z, z.tags.exists(t, t == 'q'))")

    turns = number(cost_of(node).turns, sizes_of(node))

    assert turns < 20


@pytest.mark.parametrize(
    "text", ["a.b > 1 && size(c) == 2", "a.b[0].c", "has(a.b)", "a.?b.orValue(1)"]
)
def test_what_only_reads_and_compares_is_free(text: str) -> None:
    assert cost_of(syntax.parse(text)).free


@pytest.mark.parametrize(
    ("text", "free"), [("a + 1 + b.c", True), ("a + size(b + c)", False), ("[1] + a", False)]
)
def test_a_sum_of_numbers_is_free_but_not_what_is_made_inside_it(text: str, free: bool) -> None:
    assert cost_of(syntax.parse(text), is_number=True).free is free
    assert not cost_of(syntax.parse(text)).free


def test_a_bound_too_long_to_write_down_is_over_the_limit() -> None:
    factor = "(" + " + ".join(f"a{n}" for n in range(24)) + ")"
    node = syntax.parse("a" + f".replace(b, {factor})" * 6)

    assert exceeded(cost_of(node), {}) is not None


def test_the_words_name_the_bound() -> None:
    node = syntax.parse("xs.map(a, a)")

    words = exceeded(cost_of(node), {("n", ("xs",)): 3000})

    assert (
        words
        == "up to 9,000,000 copies of elements by map and filter, at most 4,000,000 are allowed"
    )
