from __future__ import annotations

import pytest

from dagflow.expr import Scope
from tests.unit.expr.scopes import INT, SCOPE, TEXT, checked, problems, record

MISTAKES = [
    ("stps.fetch", "unknown-name", "stps", "no variable is named 'stps'; did you mean 'steps'?"),
    ("fetch.output", "unknown-name", "fetch", "no variable is named 'fetch'"),
    (
        "steps.fecth.output.body",
        "unknown-name",
        "fecth",
        "no step is named 'fecth' here; did you mean 'fetch'?",
    ),
    ("inputs.flga", "unknown-name", "flga", "no input is named 'flga'; did you mean 'flag'?"),
    ("secrets.TOKN", "unknown-name", "TOKN", "no secret is declared 'TOKN'; did you mean 'TOKEN'?"),
    (
        "steps.fetch.output.bdy",
        "expression-type",
        "bdy",
        "`steps.fetch.output` has no field 'bdy'; did you mean 'body'?",
    ),
    ("steps.fetch.body", "expression-type", "body", "`steps.fetch` has no field 'body'"),
    (
        "inputs.text.size",
        "expression-type",
        "inputs.text.size",
        "`inputs.text` is a string and has no field 'size'",
    ),
    (
        "steps.my-step",
        "unknown-name",
        "my-step",
        "`steps.my` stops at the hyphen, which is a minus sign here",
    ),
    (
        "steps.my-step.output - 1 > 3",
        "unknown-name",
        "my-step",
        "`steps.my` stops at the hyphen, which is a minus sign here",
    ),
    (
        "steps.fetch.output.body + 1",
        "expression-type",
        "steps.fetch.output.body + 1",
        "`+` can't take a string and an integer",
    ),
    (
        "inputs.text == 1",
        "expression-type",
        "inputs.text == 1",
        "`inputs.text == 1` compares a string with an integer, never equal",
    ),
    (
        'steps.fetch.output.severity == "hgih"',
        "expression-type",
        'steps.fetch.output.severity == "hgih"',
        "`steps.fetch.output.severity` is never 'hgih'; did you mean 'high'?",
    ),
    (
        'steps.fetch.status == "success"',
        "expression-type",
        'steps.fetch.status == "success"',
        "`steps.fetch.status` is never 'success'; did you mean 'succeeded'?",
    ),
    (
        "steps.fetch.output.note.size() > 1",
        "maybe-null",
        "steps.fetch.output.note",
        "`steps.fetch.output.note` may be null here, and `size` can't take null",
    ),
    (
        "steps.fetch.output.items.map(i, i.pric)",
        "expression-type",
        "pric",
        "`i` has no field 'pric'; did you mean 'price'?",
    ),
    (
        "steps.fetch.output.items.all(i, i)",
        "expression-type",
        "i",
        "`i` is an object, not a boolean",
    ),
    (
        "inputs.x.map(i, i)",
        "expression-type",
        "inputs.x",
        "`inputs.x` is an integer, not a list",
    ),
    ("!inputs.x", "expression-type", "!inputs.x", "`!` can't take an integer"),
    ("inputs.x && true", "expression-type", "inputs.x", "`inputs.x` is an integer, not a boolean"),
    ("inputs.x ? 1 : 2", "expression-type", "inputs.x", "`inputs.x` is an integer, not a boolean"),
    (
        "len(inputs.text)",
        "unknown-name",
        "len(inputs.text)",
        "no function is named 'len'; did you mean 'size'?",
    ),
    (
        'inputs.text.startWith("a")',
        "unknown-name",
        'inputs.text.startWith("a")',
        "no method is named 'startWith'; did you mean 'startsWith'?",
    ),
    (
        "inputs.text.json()",
        "unknown-name",
        "inputs.text.json()",
        "no method is named 'json'; it is a function: `json(…)`",
    ),
    (
        'contains("a", "b")',
        "unknown-name",
        'contains("a", "b")',
        "no function is named 'contains'; it is a method: `x.contains(…)`",
    ),
    (
        "inputs.text.size(1)",
        "expression-type",
        "inputs.text.size(1)",
        "`size` takes 0 arguments, not 1",
    ),
    ("size(inputs.x)", "expression-type", "size(inputs.x)", "`size` can't take an integer"),
    (
        '"a" in inputs.text',
        "expression-type",
        '"a" in inputs.text',
        "`inputs.text` is a string, and `in` looks into lists and objects",
    ),
    (
        'inputs.x in ["a"]',
        "expression-type",
        'inputs.x in ["a"]',
        '`["a"]` holds a string, never an integer',
    ),
    ("10 / 0", "expression-type", "0", "`0` is what it divides by"),
    ("10 % 0", "expression-type", "0", "`0` is what it divides by"),
    (
        "steps",
        "expression-type",
        "steps",
        "`steps` can't be read as a whole: name the step, as in `steps.fetch.output`",
    ),
    (
        "steps[inputs.text].output",
        "expression-type",
        "steps",
        "`steps` can't be read as a whole: name the step, as in `steps.fetch.output`",
    ),
    ('b"abc"', "expression-type", 'b"abc"', '`b"abc"` is bytes, which JSON can\'t say'),
    ("type(1)", "expression-type", "type(1)", "`type(1)` is a type, which JSON can't say"),
    (
        "inputs.?x",
        "expression-type",
        "inputs.?x",
        "`inputs.?x` is an optional value, which JSON can't say",
    ),
    ("inputs.?x == 1", "expression-type", "inputs.?x", "`inputs.?x` is an optional value"),
    (
        "inputs.?x + 1",
        "expression-type",
        "inputs.?x + 1",
        "`+` can't take an optional value and an integer",
    ),
    (
        "inputs.x.orValue(1)",
        "expression-type",
        "inputs.x",
        "`inputs.x` is an integer, not an optional value",
    ),
    ('{"a": 1, "a": 2}', "expression-type", '"a"', "the key 'a' appears twice"),
    ("steps.fetch.output.items[-1]", "expression-type", "-1", "a list has no index -1"),
    ('sum(["a"])', "expression-type", 'sum(["a"])', "`sum` takes numbers, not a string"),
    (
        "sum(steps.fetch.output.maybe)",
        "maybe-null",
        "sum(steps.fetch.output.maybe)",
        "`steps.fetch.output.maybe` may hold null, which `sum` can't take",
    ),
    (
        "sort([1, 'a'])",
        "expression-type",
        "sort([1, 'a'])",
        "`sort` takes numbers, or strings, not an integer or a string",
    ),
    (
        "join(steps.fetch.output.items)",
        "expression-type",
        "join(steps.fetch.output.items)",
        "`join` can't write an object as text",
    ),
    ("join()", "expression-type", "join()", "`join` takes 1 or 2 arguments, not 0"),
    ("cel.bind(x, 1, x)", "unknown-name", "cel", "no variable is named 'cel'"),
    (
        "sort([timestamp('2026-01-01T00:00:00Z')])",
        "expression-type",
        "sort([timestamp('2026-01-01T00:00:00Z')])",
        "`sort` can't take a list of timestamps",
    ),
    ("1e999", "expression-type", "1e999", "`1e999` is too large"),
    ("null + 1", "expression-type", "null", "`null` is null, and `+` can't take null"),
]


@pytest.mark.parametrize(
    ("text", "kind", "place", "message"), MISTAKES, ids=[case[0] for case in MISTAKES]
)
def test_one_mistake_is_one_problem_at_its_place(
    text: str, kind: str, place: str, message: str
) -> None:
    found = problems(text)

    if text.startswith("cel.bind"):  # a macro that isn't one: its names are unknown too
        found = found[:1]
    assert [(p.kind, text[p.offset : p.offset + p.length], p.message) for p in found] == [
        (kind, place, message)
    ]


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ('inputs.text.matches("(")', '"("'),
        ('matches(inputs.text, "a{9999}")', '"a{9999}"'),
        ('duration("1x")', '"1x"'),
        ('timestamp("yesterday")', '"yesterday"'),
        ('int("1.5")', '"1.5"'),
        ('double("one")', '"one"'),
        ('bool("maybe")', '"maybe"'),
    ],
)
def test_a_literal_that_can_never_work_is_reported_at_the_literal(text: str, literal: str) -> None:
    (problem,) = problems(text)

    assert problem.kind == "expression-type"
    assert text[problem.offset : problem.offset + problem.length] == literal


def test_two_mistakes_are_two_problems_in_the_order_of_the_text() -> None:
    found = problems("inputs.a + inputs.b > 1 && nope")

    assert [problem.offset for problem in found] == [7, 18, 27]


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("steps.my-step.output", "steps.`my-step`.output"),
        ("steps.fecth.output.body", "steps.fetch.output.body"),
        ("steps.fetch.output.bdy", "steps.fetch.output.body"),
    ],
)
def test_a_fix_mends_the_mistake(text: str, mended: str) -> None:
    (problem,) = problems(text)

    assert problem.fix is not None
    offset, length, replacement = problem.fix
    assert text[:offset] + replacement + text[offset + length :] == mended
    checked(mended)


def test_a_subtraction_of_two_known_names_is_a_subtraction() -> None:
    scope = Scope({"a": record(b=INT, **{"b-c": INT}), "c": INT})

    assert checked("a.b-c", scope).result == {"type": "integer"}


@pytest.mark.parametrize(
    ("text", "help_"),
    [
        ("steps.fetch.body", "write `steps.fetch.output.body`"),
        ("fetch.output", "the step is `steps.fetch`"),
        ("inputs.?x == 1", "open it with `.orValue(…)`"),
    ],
)
def test_help_says_what_to_write(text: str, help_: str) -> None:
    assert problems(text)[0].help == help_


@pytest.mark.parametrize(
    "text",
    [
        "steps.fetch.output.note != null && steps.fetch.output.note.size() > 1",
        "steps.fetch.output.note.size() > 1 && steps.fetch.output.note != null",
        "steps.fetch.output.note == null || steps.fetch.output.note.size() > 1",
        "!(steps.fetch.output.note == null) && steps.fetch.output.note.size() > 1",
        'steps.fetch.output.note == null ? "" : steps.fetch.output.note.trim()',
        'steps.fetch.output.note == "a" && steps.fetch.output.note.size() == 1',
        "sum(steps.fetch.output.maybe.filter(m, m != null)) > 1",
        "steps.fetch.output.maybe.all(m, m == null || m > 1)",
        "steps.fetch.output.maybe.map(m, m != null, m + 1).size() > 0",
    ],
)
def test_a_test_for_null_protects_what_it_dominates(text: str) -> None:
    checked(text)


@pytest.mark.parametrize(
    "text",
    [
        "steps.fetch.output.note == null && steps.fetch.output.note.size() > 1",
        "steps.fetch.output.note != null || steps.fetch.output.note.size() > 1",
        "steps.fetch.output.note != null ? 1 : steps.fetch.output.note.size()",
        "steps.fetch.output.note.?a.orValue(1) == 1",
        "steps.fetch.output.maybe.all(m, m > 1)",
        "steps.fetch.output.maybe.exists(m, m != null) && steps.fetch.output.maybe.all(m, m > 1)",
    ],
)
def test_a_test_that_does_not_dominate_protects_nothing(text: str) -> None:
    assert [problem.kind for problem in problems(text)] == ["maybe-null"] or "a string" in str(
        problems(text)
    )


def test_a_loops_variable_does_not_inherit_what_is_known_of_its_namesake() -> None:
    owner = record(a={"type": ["string", "null"]})
    scope = Scope({"x": owner, "xs": {"type": "array", "items": owner}})

    (problem,) = problems("x.a != null && xs.all(x, x.a.size() > 0)", scope)

    assert (problem.kind, problem.offset) == ("maybe-null", 25)


def test_a_guard_must_be_a_boolean() -> None:
    (problem,) = problems("inputs.x", expected={"type": "boolean"})

    assert problem.message == "`inputs.x` is an integer, not a boolean"


def test_a_value_that_may_be_null_is_not_what_was_expected() -> None:
    (problem,) = problems("steps.fetch.output.note", expected={"type": "string"})

    assert problem.kind == "maybe-null"


def test_anything_may_be_a_boolean() -> None:
    assert checked("steps.fetch.output.free.a.b").result is True


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("steps.fetch.output.extra", "`steps.fetch.output.extra` may be absent"),
        ("steps.fetch.error.class", "`steps.fetch.error` may be absent"),
        ("10 / inputs.x", "`10 / inputs.x` may fail: `inputs.x` may be 0"),
        ("10 % inputs.x", "`10 % inputs.x` may fail: `inputs.x` may be 0"),
        ("int(inputs.text)", "`int(inputs.text)` may fail"),
        ("timestamp(inputs.text)", "`timestamp(inputs.text)` may fail"),
        ("steps.fetch.output.items[0].name", "`steps.fetch.output.items[0]` may fail"),
        ("max(steps.loop.output)", "`max(steps.loop.output)` may fail"),
        ('{"a": 1}[inputs.text]', '`{"a": 1}[inputs.text]` may fail'),
    ],
)
def test_what_may_fail_is_a_warning(text: str, start: str) -> None:
    (warning,) = checked(text).warnings

    assert warning.kind == "partial-operation"
    assert warning.message.startswith(start)


@pytest.mark.parametrize(
    "text",
    [
        "has(steps.fetch.output.extra) ? steps.fetch.output.extra : ''",
        '"extra" in steps.fetch.output && steps.fetch.output.extra == "a"',
        "steps.fetch.output.?extra.orValue('')",
        "10 / inputs.divisor",
        "[1, 2][1]",
        "max([1, 2])",
        'timestamp("2026-01-01T00:00:00Z")',
        "steps.fetch.output.body",
        "steps.fetch.output.free.a.b",
    ],
)
def test_what_cannot_fail_is_no_warning(text: str) -> None:
    assert checked(text).warnings == ()


COUNTS = {"type": "object", "additionalProperties": INT}
STOCK = Scope({"stock": COUNTS, "other": COUNTS})


@pytest.mark.parametrize(
    ("text", "warns"),
    [
        ("stock.filter(name, stock[name] < 5)", False),
        ("stock.all(name, stock[name] < 5)", False),
        ("stock.filter(name, other[name] < 5)", True),
        ("stock.filter(name, other.all(name, stock[name] < 5))", True),
        ("stock.filter(name, other.all(key, stock[name] < other[key]))", False),
        ("stock.all(stock, other[stock] < 5)", True),
    ],
)
def test_a_key_that_a_loop_takes_from_the_map_itself_is_there(text: str, warns: bool) -> None:
    assert bool(checked(text, STOCK).warnings) == warns


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("false && inputs.x > 1", False),
        ("inputs.x > 1 || true", True),
        ("!(inputs.flag && false)", True),
        ('1 > 2 ? inputs.text : "b"', "b"),
        ("[1, 2].map(x, x + 1)", [2, 3]),
        ("null", None),
        ('duration("90s")', "90s"),
    ],
)
def test_a_constant_is_folded(text: str, value: object) -> None:
    assert checked(text).constant == value


@pytest.mark.parametrize("text", ["inputs.x", "inputs.flag || false", "[inputs.x].size() == 1"])
def test_what_depends_on_an_input_is_not_a_constant(text: str) -> None:
    assert repr(checked(text).constant) == "MISSING"


def test_a_loop_that_grows_without_bound_is_refused_before_it_runs() -> None:
    (problem,) = problems("[inputs.text]" + ".map(a, a + a)" * 24)

    assert problem.kind == "expression-cost"


def test_a_fields_name_that_is_no_identifier_is_read_by_index() -> None:
    scope = Scope({"x": record(**{"$ref": TEXT, "content-type": INT})})

    assert checked('x["$ref"] + "a"', scope).result == {"type": "string"}
    assert checked('x["content-type"] + 1', scope).result == {"type": "integer"}


def test_a_name_of_camel_case_lives_beside_one_with_underscores() -> None:
    scope = Scope({"x": record(fooBar=INT, foo_bar=TEXT)})

    assert checked("x.fooBar", scope).result == INT
    assert checked("x.foo_bar", scope).result == TEXT


def test_checking_leaves_the_schemas_as_they_are() -> None:
    before = repr(SCOPE.variables)

    checked("steps.fetch.output.tree.kids.map(k, {'a': k, 'b': steps.fetch.output.note})")

    assert repr(SCOPE.variables) == before
