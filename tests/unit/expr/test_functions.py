from __future__ import annotations

import pytest

from dagflow.core.plan import Expression
from dagflow.expr import ast, library, syntax
from dagflow.expr.added import ADDED
from dagflow.expr.ast import Call
from dagflow.expr.encode import encode
from dagflow.expr.evaluate import ExpressionError, evaluate
from dagflow.expr.functions import FUNCTIONS, FunctionError
from dagflow.expr.signatures import TYPE_NAMES, signatures


def value_of(text: str, **values: object) -> object:
    return evaluate(Expression(text, ast.to_json(syntax.parse(text))), values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("json(null)", "null"),
        ("json('é\"')", '"é\\""'),
        ("json({'b': 1, 'a': [true, 0.5]})", '{"a":[true,0.5],"b":1}'),
        ("json(7615917337495251231)", "7615917337495251231"),
        ("json(timestamp('2026-01-01T00:00:00Z'))", '"2026-01-01T00:00:00Z"'),
        ("sum([])", 0),
        ("sum([1, 2])", 3),
        ("sum([1, 2.5])", 3.5),
        ("min([3, 1.5, 2])", 1.5),
        ("max(['a', 'b'])", "b"),
        ("sort([3, 1, 2])", [1, 2, 3]),
        ("sort(['b', 'a'])", ["a", "b"]),
        ("distinct([1, 1.0, '1', true, 1])", [1, "1", True]),
        ("distinct([{'a': 1, 'b': 2}, {'b': 2, 'a': 1}])", [{"a": 1, "b": 2}]),
        ("distinct([null, null, []])", [None, []]),
        ("flatten([[1], [2, [3]], 4])", [1, 2, [3], 4]),
        ("join([1, 'a', 2.5, true], ', ')", "1, a, 2.5, true"),
        ("join(['a', 'b'])", "ab"),
        ("join([], ',')", ""),
        ("['a', 'b'].join('-')", "a-b"),
    ],
)
def test_our_functions(text: str, value: object) -> None:
    found = value_of(text)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sum(['a'])", "sum takes numbers, not a string"),
        ("sum([true])", "sum takes numbers, not a boolean"),
        ("sum(x)", "sum takes a list, not an object"),
        ("sum([9223372036854775807, 1])", "the sum is an integer outside the 64-bit range"),
        ("min([])", "min of an empty list"),
        ("max([1, 'a'])", "max takes numbers, or strings, not a string and an integer"),
        ("sort([null])", "sort takes numbers, or strings, not null"),
        ("join([null])", "null can't be written as text; use json(…)"),
        ("join(['a'], 1)", "join takes a string between the items, not an integer"),
    ],
)
def test_a_function_says_what_it_cannot_take(text: str, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        value_of(text, x={})

    assert caught.value.reason == words


def test_every_function_of_the_table_is_checked_and_planned() -> None:
    assert set(ADDED) == {added.name for added in FUNCTIONS}
    for added in FUNCTIONS:
        assert issubclass(FunctionError, ValueError)
        with pytest.raises(ExpressionError):
            value_of(f"{added.name}(missing)")


SAMPLES = {
    "int": "1",
    "uint": "1u",
    "double": "1.5",
    "num": "2",
    "string": "'UTC'",
    "bytes": "b'a'",
    "bool": "true",
    "list": "['a']",
    "list(string)": "['a']",
    "map": "{'a': 1}",
    "timestamp": "timestamp('2026-01-01T00:00:00Z')",
    "duration": "duration('1s')",
    "x": "1",
}
TEXTS = {
    "timestamp": "'2026-01-01T00:00:00Z'",
    "duration": "'1s'",
    "bool": "'true'",
    "base64.decode": "'eA=='",
}
NUMERALS = frozenset({"int", "uint", "double"})
GIVEN = {
    "int": "INT",
    "uint": "UINT",
    "double": "DOUBLE",
    "string": "STRING",
    "bool": "BOOL",
    "bytes": "BYTES",
    "list": "LIST<DYN>",
    "list(string)": "LIST<DYN>",
    "timestamp": "TIMESTAMP",
    "duration": "DURATION",
    "type": "TYPE",
    "dyn": "INT",
}


def sample(name: str, param: str) -> str:
    if param == "string" and name in TEXTS:
        return TEXTS[name]
    if param == "string" and name in NUMERALS:
        return "'1'"
    return "'%s'" if (name, param) == (".format", "string") else SAMPLES[param]


@pytest.mark.parametrize("name", sorted(signatures()))
def test_the_library_has_every_overload_of_the_table(name: str) -> None:
    for overload in signatures()[name]:
        args = tuple(syntax.parse(sample(name, param)) for param in overload.params)
        on, rest = (args[0], args[1:]) if name.startswith(".") else (None, args)

        value = library.plan(encode(Call(name.lstrip("."), rest, on))).eval(data={})

        value.plain_value()
        assert value.type().name() == GIVEN[overload.gives], (overload, value.plain_value())


def test_type_names_are_names_of_types() -> None:
    for name in TYPE_NAMES:
        assert value_of(f"type(1) == {name}") is (name == "int")
