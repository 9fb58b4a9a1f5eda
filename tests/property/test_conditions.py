"""Conditions put together as text mean what their parts mean, however those are written."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagflow.compiler.planning.conditions import denied, either, joined
from dagflow.core.values import JsonValue
from dagflow.expr.ast import to_json
from dagflow.expr.lexer import tidy
from dagflow.expr.syntax import by_library

ATOMS = st.sampled_from(
    [
        *("a", "b.c", "steps.?x.output.orValue(0) > 1", "[1, 2].exists(x, x > 1)", "b[?0]", "!a"),
        *("'p  q'", '"&& // ?"', "'''one\n  two // three'''", r"r'\d  //'", r'"\"  //"', "b'  '"),
        *("a.`x  y`", "{'k  k': 1}", "size( 'x' )", "'http://host' in a", "-1", "1.5"),
    ]
)
GAPS = st.sampled_from(["", " ", "  ", "\n", "\t\n ", " // said  so\n", "//'\n", ' // "&&\n  '])
FEW = settings(max_examples=1000 if os.environ.get("DAGFLOW_FULL") == "1" else 40, deadline=None)
MARKS = st.sampled_from(["&&", "||", "==", " in ", "+", "?"])


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> str:
    """Draw the text of an expression, with blanks and comments wherever they may stand."""
    before, after = draw(GAPS), draw(st.one_of(GAPS, st.just(" // to the end")))
    if depth == 0 or draw(st.booleans()):
        return before + draw(ATOMS) + after
    one, two, three = (draw(conditions(depth=depth - 1)) for _ in range(3))
    mark = draw(MARKS)
    left, right = f"{before}({one}\n)", f"({two}\n)"
    return f"{left}?{right}:({three}\n){after}" if mark == "?" else f"{left}{mark}{right}{after}"


def meaning(text: str) -> JsonValue:
    """Return the AST of a text without places."""
    return _bare(to_json(by_library(text)))


def _bare(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if key != "at"}
    return [_bare(item) for item in value] if isinstance(value, list) else value


@FEW
@given(conditions())
def test_a_tidy_expression_means_the_same(text: str) -> None:
    assert meaning(tidy(text)) == meaning(text)
    assert tidy(tidy(text)) == tidy(text)


@pytest.mark.parametrize(("join", "call"), [(joined, "_&&_"), (either, "_||_")])
@FEW
@given(texts=st.lists(conditions(), min_size=2, max_size=2, unique_by=tidy))
def test_joined_conditions_mean_their_parts_joined(
    join: Callable[[Iterable[str]], str], call: str, texts: list[str]
) -> None:
    one, two = texts

    assert meaning(join(map(tidy, texts))) == {"call": call, "args": [meaning(one), meaning(two)]}


@FEW
@given(st.lists(conditions(), min_size=1, max_size=6))
def test_any_number_of_conditions_can_be_joined_and_denied(texts: list[str]) -> None:
    parts = list(dict.fromkeys(map(tidy, texts)))
    names = [f"part{index}" for index in range(len(parts))]
    whole = functools.reduce(
        lambda found, pair: _replaced(found, {"var": pair[0]}, meaning(pair[1])),
        zip(names, parts, strict=True),
        meaning(" && ".join(names)),
    )

    assert meaning(joined(parts)) == whole
    assert meaning(denied(joined(parts))) == {"call": "!_", "args": [whole]}


def _replaced(value: JsonValue, old: JsonValue, new: JsonValue) -> JsonValue:
    if value == old:
        return new
    if isinstance(value, dict):
        return {key: _replaced(item, old, new) for key, item in value.items()}
    return [_replaced(item, old, new) for item in value] if isinstance(value, list) else value
