"""Laws of expressions, over random well-typed expressions and random values."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import pytest

from dagflow.core.plan import Expression
from dagflow.core.values import JsonObject, JsonValue
from dagflow.expr import Checked, Problem, Scope, check, validate
from dagflow.expr.activation import restrict as restricted
from dagflow.expr.evaluate import ExpressionError, _lookup, evaluate, evaluate_guard
from dagflow.expr.sizes import Symbol, measured

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
        "ns.size()",
        "(ns == null ? ns.size() : {int})",
        "size(ln.map(q, q + 1))",
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
        "{'a': {int}, 't': {text}}",
        "{'a': {int}, 't': {text}, ?'c': o.?c}",
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
        "lo.map(q, {'k': q.a, 'v': [q.t, {any}]})",
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


def written(chosen: random.Random, kind: str, depth: int = 3) -> str:
    """Return a random expression of a kind; every hole of a form is filled by its kind."""
    if depth == 0 or chosen.random() < 0.15:
        return chosen.choice(LEAVES[kind])
    form = chosen.choice(FORMS[kind])
    for name in FORMS:
        while (hole := "{" + name + "}") in form:
            form = form.replace(hole, _wrapped(written(chosen, name, depth - 1)), 1)
    return form


def _wrapped(text: str) -> str:
    return text if text.replace(".", "").isalnum() else f"({text})"


def values(chosen: random.Random) -> JsonObject:
    """Return random values of the scope's variables, small ones so that they meet."""

    def number() -> int:
        return chosen.randint(-3, 4)

    def text() -> str:
        return "".join(chosen.choice("abé 1") for _ in range(chosen.randint(0, 3)))

    def some(make: Callable[[], JsonValue]) -> list[JsonValue]:
        return [make() for _ in range(chosen.randint(0, 3))]

    def item() -> JsonValue:
        found: JsonObject = {"a": number(), "t": text()}
        return found | ({"c": number()} if chosen.random() < 0.5 else {})

    free: list[JsonValue] = [None, True, number(), text(), {"a": number()}, [number()], {}]
    return {
        "i": number(),
        "j": number(),
        "n": chosen.choice([0.5, 1.0, 2.5, -3.0, 2, 0]),
        "s": text(),
        "b": chosen.random() < 0.5,
        "li": some(number),
        "ls": some(text),
        "lo": some(item),
        "o": item(),
        "ns": None if chosen.random() < 0.5 else text(),
        "m": {name: number() for name in "xyz" if chosen.random() < 0.5},
        "ln": some(lambda: None if chosen.random() < 0.4 else number()),
        "free": chosen.choice(free),
    }


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


@dataclass(frozen=True)
class Case:
    """One random expression that has no problem, over random values, with what came of it."""

    text: str
    found: Checked
    data: JsonObject
    kind: str
    value: object


COUNT = 2_500


@cache
def every() -> tuple[tuple[str, Checked | tuple[Problem, ...], JsonObject], ...]:
    made = []
    for seed in range(COUNT):
        chosen = random.Random(seed)
        text = written(chosen, chosen.choice(sorted(FORMS)))
        made.append((text, check(text, SCOPE), values(chosen)))
    return tuple(made)


@cache
def cases() -> tuple[Case, ...]:
    """Return the cases without a problem; most have none."""
    good = [(text, found, data) for text, found, data in every() if isinstance(found, Checked)]
    assert len(good) > COUNT * 0.7
    return tuple(Case(text, found, data, *outcome(found, data)) for text, found, data in good)


OURS = ("json(", "sum(", "min(", "max(", "sort(", "distinct(", "flatten(", "join(")


def plain_cel(text: str) -> bool:
    """Tell whether the library runs the text as we do: none of our functions, order or doubles."""
    return not any(name in text for name in OURS) and ".map(" not in text and ".filter(" not in text


def test_the_cases_are_of_all_sorts() -> None:
    kinds = [case.kind for case in cases()]

    assert kinds.count("value") > COUNT * 0.4
    assert kinds.count("error") > COUNT * 0.05
    assert sum(bool(case.found.warnings) for case in cases()) > COUNT * 0.1
    assert sum(repr(case.found.constant) != "MISSING" for case in cases()) > COUNT * 0.01


def test_a_value_satisfies_the_type_that_was_inferred() -> None:
    for case in cases():
        if case.kind == "value":
            broken = validate(case.found.result, case.value)  # type: ignore[arg-type]
            assert broken is None, (case, broken)


def test_what_has_no_warning_does_not_fail() -> None:
    for case in cases():
        if not case.found.warnings and "free" not in case.text:
            excused = "64-bit" in str(case.value) or "out of int64" in str(case.value)
            assert case.kind == "value" or excused, case


def test_a_well_typed_expression_has_no_type_problem() -> None:
    for text, found, _ in every():
        problems = () if isinstance(found, Checked) else found
        for problem in problems:
            # what can be seen to be impossible: a zero divisor, two kinds that are never equal
            seen = any(
                word in problem.message for word in ("divides by", "is not an", "never", "null")
            )
            assert problem.kind in {"maybe-null", "expression-cost"} or seen, (text, problem)
        for said in (*problems, *(found.warnings if isinstance(found, Checked) else ())):
            assert 0 <= said.offset <= said.offset + said.length <= len(text)


def test_the_stored_ast_runs_as_the_library_runs_the_text() -> None:
    compared = 0
    for case in cases():
        if not plain_cel(case.text):
            continue
        kind, value = direct()(case.text, case.data)
        if '"double"' in json.dumps(case.found.ast):
            # an integer beside a number is computed with as a double, which only we do
            assert case.kind == "value" or kind == "error" or "finite" in str(case.value), case
            continue
        compared += 1
        assert case.kind == kind or "finite" in str(case.value), (case, value)
        assert kind == "error" or case.kind == "error" or case.value == value, (case, value)
    assert compared > COUNT * 0.3


def test_evaluation_reads_what_it_says_and_nothing_more() -> None:
    for case in cases():
        kept = restricted(case.found.paths, case.data)
        kind, value = outcome(case.found, kept)
        assert (kind, repr(value)) == (case.kind, repr(case.value)), case


def test_what_is_read_is_what_matters() -> None:
    """Values outside the paths read may be anything at all."""
    for case in cases()[:500]:
        roots = {path[0] for path in case.found.paths}
        others = {name: object() for name in SCHEMAS if name not in roots}
        kind, value = outcome(case.found, {**case.data, **others})  # type: ignore[dict-item]
        assert (kind, repr(value)) == (case.kind, repr(case.value)), case


def test_a_result_is_no_larger_than_its_bound() -> None:
    for case in cases():
        if case.kind == "value":
            check_bound(case)


def check_bound(case: Case) -> None:
    sizes: dict[Symbol, int] = {}
    for path in {*case.found.cost.paths, *case.found.paths}:
        sizes |= measured(path, _lookup(path, case.data))
    read = sum(size for (name, _), size in sizes.items() if name == "W")
    bound = sum(term(monomial, factor, sizes) for monomial, factor in case.found.cost.made.items())
    literal = 32 + len(case.text.encode())
    assert measured((), case.value)["W", ()] <= bound + read + literal, case  # type: ignore[arg-type]


def term(monomial: tuple[Symbol, ...], factor: int, sizes: dict[Symbol, int]) -> int:
    for symbol in monomial:
        factor *= sizes[symbol]
    return factor


def test_a_constant_is_what_evaluation_gives() -> None:
    for case in cases():
        if repr(case.found.constant) != "MISSING":
            assert (case.kind, case.value) == ("value", case.found.constant), case


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


def test_a_guard_that_fails_is_an_error_and_never_false() -> None:
    failed = 0
    for case in cases():
        if case.kind == "error":
            failed += 1
            with pytest.raises(ExpressionError) as caught:
                evaluate_guard(stored(case.found), case.data)
            assert case.text[caught.value.offset :][: caught.value.length], case
    assert failed > COUNT * 0.05
