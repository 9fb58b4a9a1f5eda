"""Laws of expressions, over random well-typed expressions and random values."""

from __future__ import annotations

from functools import cache
from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagflow.core.plan import Expression
from dagflow.core.values import JsonObject, JsonValue
from dagflow.expr import Checked, ExpressionError, Scope, check, evaluate, evaluate_guard, validate
from dagflow.expr import restrict as restricted
from dagflow.expr.cost import Symbol, measured
from dagflow.expr.evaluate import _lookup

INT: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string"}
ITEM: JsonObject = {
    "type": "object",
    "properties": {"a": INT, "t": TEXT, "c": INT},
    "required": ["a", "t"],
    "additionalProperties": False,
}
SCHEMAS: JsonObject = {
    "i": INT,
    "j": INT,
    "n": {"type": "number"},
    "s": TEXT,
    "b": {"type": "boolean"},
    "li": {"type": "array", "items": INT},
    "ls": {"type": "array", "items": TEXT},
    "lo": {"type": "array", "items": ITEM},
    "o": ITEM,
    "ns": {"type": ["string", "null"]},
    "m": {"type": "object", "additionalProperties": INT},
    "ln": {"type": "array", "items": {"type": ["integer", "null"]}},
    "free": True,
}
SCOPE = Scope(SCHEMAS)

small = st.integers(-5, 5)
texts = st.text("abé ", max_size=4)
floats = st.sampled_from([0.5, 1.0, 2.5, -3.0]) | small
items = st.fixed_dictionaries({"a": small, "t": texts}, optional={"c": small})
free = st.recursive(
    st.none() | st.booleans() | small | texts,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from("ab"), below),
    max_leaves=4,
)
values = st.fixed_dictionaries(
    {
        "i": small,
        "j": small,
        "n": floats,
        "s": texts,
        "b": st.booleans(),
        "li": st.lists(small, max_size=4),
        "ls": st.lists(texts, max_size=3),
        "lo": st.lists(items, max_size=3),
        "o": items,
        "ns": st.none() | texts,
        "m": st.dictionaries(st.sampled_from("xyz"), small),
        "ln": st.lists(st.none() | small, max_size=3),
        "free": free,
    }
)

FORMS = {
    "int": [
        "{int} + {int}",
        "{int} - {int}",
        "{int} * {int}",
        "{int} / {int}",
        "{int} % {int}",
        "-{int}",
        "({bool} ? {int} : {int})",
        "size({text})",
        "size({ints})",
        "sum({ints})",
        "max({ints})",
        "{ints}[{int}]",
        "o.a",
        "o.c",
        "o.?c.orValue({int})",
        "m.x",
        "m.?y.orValue({int})",
        "int({text})",
        "{item}.a",
        "(has(o.c) ? o.c : {int})",
        "lo[0].a",
        "lo[?0].?c.orValue({int})",
        "math.abs({int})",
        "(ns == null ? {int} : ns.size())",
        "o.?c.optMap(v, v + {int}).orValue({int})",
        "ln.filter(q, q != null).map(q, q + 1).size()",
        "int({num})",
    ],
    "num": [
        "{num} + {int}",
        "{num} * {num}",
        "{int} - {num}",
        "{num} / 2",
        "({bool} ? {int} : {num})",
        "sum([{num}, {num}])",
        "math.greatest({int}, {num})",
        "-{num}",
    ],
    "text": [
        "{text} + {text}",
        "({bool} ? {text} : {text})",
        "json({any})",
        "join({texts}, {text})",
        "o.t",
        "string({int})",
        "{text}.replace({text}, {text})",
        "({bool} && ns != null ? ns : {text})",
        "{text}.lowerAscii()",
        "{item}.t",
        "{texts}[0]",
    ],
    "bool": [
        "{int} < {int}",
        "{int} == {num}",
        "{num} >= {int}",
        "{text} == {text}",
        "{bool} && {bool}",
        "{bool} || {bool}",
        "!{bool}",
        "{ints}.exists(q, q > {int})",
        "{ints}.all(q, q != {int})",
        "lo.exists_one(q, q.a == {int})",
        "{int} in {ints}",
        "has(o.c)",
        "has(o.c) && o.c > {int}",
        "ns != null && ns.size() > {int}",
        "ns == null || ns == {text}",
        "{text}.contains({text})",
        "{any} == {any}",
        "'x' in m",
        "{text} in {texts}",
        "free == {any}",
    ],
    "ints": [
        "[{int}, {int}]",
        "{ints} + {ints}",
        "{ints}.map(q, q + {int})",
        "{ints}.filter(q, q > {int})",
        "lo.map(q, q.a)",
        "sort({ints})",
        "distinct({ints})",
        "flatten([{ints}, {ints}])",
        "{ints}.map(q, {bool}, q * 2)",
        "[{int}, ?o.?c]",
        "({bool} ? {ints} : {ints})",
        "ln.filter(q, q != null)",
    ],
    "texts": [
        "[{text}]",
        "{texts}.map(q, q + {text})",
        "m.map(q, q)",
        "lo.map(q, q.t)",
        "{text}.split('a')",
    ],
    "item": [
        "{{'a': {int}, 't': {text}}}",
        "{{'a': {int}, 't': {text}, ?'c': o.?c}}",
        "({bool} ? {item} : o)",
    ],
    "any": [
        "{int}",
        "{num}",
        "{text}",
        "{bool}",
        "{ints}",
        "{texts}",
        "{item}",
        "free",
        "null",
        "lo",
        "lo.map(q, {{'k': q.a, 'v': [q.t, {any}]}})",
        "lo.filter(q, q.a > {int})",
        "free.a",
        "ln",
    ],
}
LEAVES = {
    "int": ["i", "j", "0", "1", "3"],
    "num": ["n", "0.5", "2.0"],
    "text": ["s", "'a'", "''"],
    "bool": ["b", "true"],
    "ints": ["li", "[]", "[1, 2]"],
    "texts": ["ls"],
    "item": ["o"],
    "any": ["i", "n", "s", "ns", "lo", "m", "o", "free"],
}


@st.composite
def written(draw: st.DrawFn, kind: str, depth: int = 3) -> str:
    """Return a random expression of a kind; every hole of a form is filled by its kind."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from(LEAVES[kind]))
    form = draw(st.sampled_from(FORMS[kind]))
    names = [kind for kind in FORMS if "{" + kind + "}" in form]
    parts = {name: draw(written(name, depth - 1)) for name in names}
    return form.format(**{name: _wrapped(part) for name, part in parts.items()})


def _wrapped(text: str) -> str:
    return text if text.replace(".", "").isalnum() else f"({text})"


anything = st.sampled_from(sorted(FORMS)).flatmap(written)


class Direct(Protocol):
    def __call__(self, text: str, data: JsonObject) -> tuple[str, object]: ...


@cache
def direct() -> Direct:
    """Return the library itself: the text compiled as it is, and run over the plain dict."""
    from dagflow.expr import library

    def call(text: str, data: JsonObject) -> tuple[str, object]:
        try:
            value = library.plan(library.parse(text)).eval(data=data)
            plain = value.plain_value()
        except (RuntimeError, TypeError, SystemError) as error:
            return "error", str(error)
        failed = isinstance(plain, str) and value.type().name() == "ERROR"
        return ("error" if failed else "value"), plain

    return call


def stored(found: Checked) -> Expression:
    return Expression(found.text, found.ast, found.paths)


def outcome(found: Checked, data: JsonObject) -> tuple[str, object]:
    try:
        return "value", evaluate(stored(found), data)
    except ExpressionError as error:
        return "error", error.reason


laws = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
OURS = ("json(", "sum(", "min(", "max(", "sort(", "distinct(", "flatten(", "join(")


def plain_cel(text: str) -> bool:
    """Tell whether the library runs the text as we do: none of our functions, order or doubles."""
    return not any(name in text for name in OURS) and ".map(" not in text and ".filter(" not in text


@laws
@given(text=anything, data=values)
def test_a_value_satisfies_the_type_that_was_inferred(text: str, data: JsonObject) -> None:
    found = check(text, SCOPE)
    if isinstance(found, Checked):
        kind, value = outcome(found, data)
        if kind == "value":
            assert validate(found.result, value) is None, (text, found.result, value)  # type: ignore[arg-type]


@laws
@given(text=anything, data=values)
def test_what_has_no_warning_does_not_fail(text: str, data: JsonObject) -> None:
    found = check(text, SCOPE)
    if isinstance(found, Checked) and not found.warnings and "free" not in text:
        kind, value = outcome(found, data)
        expected = kind == "value" or "64-bit" in str(value) or "out of int64" in str(value)
        assert expected, (text, value)


@laws
@given(text=anything, data=values)
def test_a_well_typed_expression_has_no_type_problem(text: str, data: JsonObject) -> None:
    found = check(text, SCOPE)
    if not isinstance(found, Checked):
        kinds = {problem.kind for problem in found}
        excused = {"maybe-null", "expression-cost"}
        said = " ".join(problem.message for problem in found)
        # what can be seen to be impossible: a zero divisor, two kinds that are never equal
        assert kinds <= excused or "divides by" in said or "never" in said or "null" in said, found
    for problem in found if not isinstance(found, Checked) else found.warnings:
        assert 0 <= problem.offset <= problem.offset + problem.length <= len(text)


@laws
@given(text=anything, data=values)
def test_the_stored_ast_runs_as_the_library_runs_the_text(text: str, data: JsonObject) -> None:
    found = check(text, SCOPE)
    if not isinstance(found, Checked) or not plain_cel(text):
        return
    (kind, value), (their_kind, their_value) = outcome(found, data), direct()(text, data)
    if their_kind == "value":
        assert kind == "value" or "finite" in str(value), (text, value, their_value)
        if kind == "value":
            assert value == their_value, (text, value, their_value)
    elif kind == "value":  # arithmetic of an integer and a number, which only we have
        assert "overload" in str(their_value), (text, value, their_value)


@laws
@given(text=anything, data=values)
def test_evaluation_reads_what_it_says_and_nothing_more(text: str, data: JsonObject) -> None:
    found = check(text, SCOPE)
    if isinstance(found, Checked):
        assert outcome(found, restricted(found.paths, data)) == outcome(found, data)


@laws
@given(text=anything, data=values)
def test_a_result_is_no_larger_than_its_bound(text: str, data: JsonObject) -> None:
    found = check(text, SCOPE)
    if not isinstance(found, Checked):
        return
    kind, value = outcome(found, data)
    if kind == "error":
        return
    sizes: dict[Symbol, int] = {}
    for path in {*found.cost.paths, *found.paths}:
        sizes |= measured(path, _lookup(path, data))
    read = sum(size for (name, _), size in sizes.items() if name == "W")
    bound = sum(term(monomial, factor, sizes) for monomial, factor in found.cost.made.items())
    literal = 9 + 4 * len(text)
    assert measured((), value)["W", ()] <= bound + read + literal, (text, value)  # type: ignore[arg-type]


def term(monomial: tuple[Symbol, ...], factor: int, sizes: dict[Symbol, int]) -> int:
    for symbol in monomial:
        factor *= sizes[symbol]
    return factor


@laws
@given(text=anything, data=values)
def test_a_constant_is_what_evaluation_gives(text: str, data: JsonObject) -> None:
    found = check(text, SCOPE)
    if isinstance(found, Checked) and repr(found.constant) != "MISSING":
        assert outcome(found, data) == ("value", found.constant)


def scope_value(word: str) -> JsonValue:
    return {"true": True, "false": False}.get(word, 0)


@pytest.mark.parametrize("left", ["true", "false", "error"])
@pytest.mark.parametrize("right", ["true", "false", "error"])
@pytest.mark.parametrize(("operator", "absorbing"), [("&&", False), ("||", True)])
def test_and_and_or_absorb_errors_from_either_side(
    left: str, right: str, operator: str, absorbing: bool
) -> None:
    scope = Scope({"left": True, "right": True})
    found = check(f"left.v == true {operator} right.v == true", scope)
    assert isinstance(found, Checked)
    data: JsonObject = {
        name: {} if word == "error" else {"v": scope_value(word)}
        for name, word in (("left", left), ("right", right))
    }

    operands = [left, right]
    if str(absorbing).lower() in operands:
        assert evaluate_guard(stored(found), data) is absorbing
    elif "error" in operands:
        with pytest.raises(ExpressionError):
            evaluate_guard(stored(found), data)
    else:
        assert evaluate_guard(stored(found), data) is not absorbing


@laws
@given(text=written("bool"), data=values)
def test_a_guard_that_fails_is_an_error_and_never_false(text: str, data: JsonObject) -> None:
    found = check(text, SCOPE)
    if not isinstance(found, Checked):
        return
    kind, value = outcome(found, data)
    if kind == "error":
        with pytest.raises(ExpressionError) as caught:
            evaluate_guard(stored(found), data)
        place = slice(caught.value.offset, caught.value.offset + caught.value.length)
        assert text[place]
    else:
        assert evaluate_guard(stored(found), data) is value
