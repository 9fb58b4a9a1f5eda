"""What is certain about guards, and that nothing else is claimed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagflow.compiler.proofs import guards
from dagflow.compiler.proofs.domains import Comparison, values
from dagflow.core.values import JsonValue, Schema
from dagflow.expr import ast, syntax
from tests.unit.compiler_graph.compiling import found, told

INTEGER: Schema = {"type": "integer"}


@pytest.mark.parametrize(
    ("kind", "guard"),
    [
        ("integer", "inputs.x > 5 && inputs.x < 3"),
        ("integer", "5 < inputs.x && !(inputs.x >= 3)"),
        ("number", "inputs.x >= 5.0 && inputs.x < 5.0"),
        ("integer", "inputs.x > 3 && inputs.x < 4"),
        ("integer", "inputs.x == 1 && inputs.x == 2"),
        ("integer", "inputs.x == 1 && inputs.x != 1"),
        ("integer", "inputs.x in [1, 2] && inputs.x in [3, 4]"),
        ("integer", "inputs.x in [1, 2] && !(inputs.x in [1, 2, 3])"),
        (
            "{type: integer, minimum: 1, maximum: 3}",
            "inputs.x != 1 && inputs.x != 2 && inputs.x != 3",
        ),
        ("{type: integer, minimum: 0}", "inputs.x < 0"),
        ("boolean", "inputs.x && !inputs.x"),
        ("boolean", "inputs.x != true && inputs.x != false"),
        ("{enum: [a, b], type: string}", '!(inputs.x in ["a", "b"])'),
        ("{const: a, type: string}", 'inputs.x != "a"'),
        ("integer", "false || (inputs.x > 5 && inputs.x < 3)"),
        ("integer", "inputs.x > 3 ? inputs.x < 2 : false"),
        ("string", "size(inputs.x) > 3 && size(inputs.x) < 2"),
        ("string", 'inputs.x.matches("a+") && !inputs.x.matches("a+")'),
        ("integer", "1 > 2"),
        ("integer", '"a" == "b" || false'),
        ("integer", "[true, 1] == [1, true]"),
        ("array", "inputs.x == [1] && inputs.x == [true]"),
        ("integer", "true < false"),
        ("integer", "double(inputs.x) > 3.0 && inputs.x < 2"),
        ("integer", "!(inputs.x + 1 < 5) && !(inputs.x + 1 >= 5)"),
        ("number", "!(inputs.x * 2.0 < 5.0) && !(inputs.x * 2.0 >= 5.0)"),
        ("string", "double(inputs.x) == 3.0 && double(inputs.x) == 4.0"),
        ("boolean", "inputs.x < true && inputs.x > false"),
        ("integer", "inputs.x == 9007199254740993 && inputs.x == 9007199254740992"),
    ],
)
def test_guard_that_is_never_true(kind: str, guard: str) -> None:
    assert told(_step(kind, guard), "guard-never", "guard-always") == [
        "the guard of 'a' is never true"
    ]


@pytest.mark.parametrize(
    ("kind", "guard"),
    [
        ("integer", "inputs.x > 3 || inputs.x < 5"),
        ("integer", "inputs.x != 1 || inputs.x != 2"),
        ("boolean", "inputs.x || !inputs.x"),
        ("{type: integer, minimum: 0}", "inputs.x >= 0"),
        ("{enum: [a, b], type: string}", 'inputs.x == "a" || inputs.x == "b"'),
        ("integer", "true || inputs.x > 3"),
        ("integer", "false < true"),
    ],
)
def test_guard_that_is_always_true(kind: str, guard: str) -> None:
    assert told(_step(kind, guard), "guard-never", "guard-always") == [
        "the guard of 'a' is always true"
    ]


@pytest.mark.parametrize(
    ("kind", "guard"),
    [
        ("integer", "inputs.x > 3 && inputs.x < 5"),
        ("number", "inputs.x > 3.0 && inputs.x < 4.0"),
        ("integer", "inputs.x > 3 || inputs.x < 3"),
        ("integer", "inputs.x == 1 || inputs.x == 2"),
        ("integer", "inputs.x > 3 && inputs.y < 2"),
        ("string", 'inputs.x == "a"'),
        ("string", 'inputs.x < "b" && inputs.x > "a"'),
        ("{type: [string, 'null']}", 'inputs.x == null || inputs.x == "a"'),
        ("{type: [string, 'null']}", 'inputs.x != null && inputs.x != "a"'),
        ("{type: integer, minimum: 1, maximum: 3}", "inputs.x != 1 && inputs.x != 2"),
        ("boolean", "inputs.x < true"),
        ("boolean", "inputs.x >= true"),
        ("string", "double(inputs.x) == 3.0"),
        ("string", "double(inputs.x) >= 3.0 && double(inputs.x) <= 3.0"),
        ("string", 'double(inputs.x) == 3.0 && inputs.x != "a"'),
        ("string", "!(double(inputs.x) < 3.0) && !(double(inputs.x) >= 3.0)"),  # it may be NaN
        ("number", "!(1.0 / inputs.x < 3.0) && !(1.0 / inputs.x >= 3.0)"),
        ("integer", "inputs.x == 9007199254740993 && double(inputs.x) == 9007199254740992.0"),
        ("integer", "inputs.x == 9007199254740993 && inputs.x == 9007199254740992.0"),
        ("number", "inputs.x >= 9007199254740993 && inputs.x <= 9007199254740992"),
    ],
)
def test_guard_that_may_go_either_way(kind: str, guard: str) -> None:
    assert told(_step(kind, guard), "guard-never", "guard-always") == []


def _step(kind: str, guard: str) -> str:
    quoted = guard.replace("'", "''")
    return f"""
        inputs: {{x: {kind}, y: integer}}
        steps:
          a: {{when: '{quoted}', transform: inputs.y}}
        outputs:
          a: ${{{{ steps.?a.output.orValue(0) }}}}
        """


def switch(kind: str, *branches: str) -> str:
    lines = "\n".join(f"              - {{{branch}}}" for branch in branches)
    return f"""
        inputs: {{x: {kind}}}
        steps:
          route:
            switch:
{lines}
          a: {{transform: '"a"'}}
          b: {{transform: '"b"'}}
        outputs:
          a: ${{{{ steps.?a.output.orValue("") }}}}
          b: ${{{{ steps.?b.output.orValue("") }}}}
        """


@pytest.mark.parametrize(
    ("kind", "branches", "witness"),
    [
        ("integer", ("when: inputs.x < 3, then: a", "when: inputs.x > 5, then: b"), {"x": 3}),
        ("integer", ("when: inputs.x < 3, then: a", "when: inputs.x > 3, then: b"), {"x": 3}),
        ("{enum: [p, q, r], type: string}",
         ('when: inputs.x == "p", then: a', 'when: inputs.x == "r", then: b'), {"x": "q"}),
        ("string", ('when: inputs.x == "other", then: [a, b]',), {"x": "other1"}),
        ("boolean", ("when: inputs.x, then: [a, b]",), {"x": False}),
    ],
)  # fmt: skip
def test_gap_is_told_with_values_that_fall_through(
    kind: str, branches: tuple[str, ...], witness: JsonValue
) -> None:
    (only,) = found(switch(kind, *branches))

    assert only.name == "switch-gap"
    assert only.witness == {"inputs": witness}


def test_gap_that_only_the_solver_sees_has_a_witness() -> None:
    text = 'when: inputs.x.startsWith("a") || inputs.x.size() != 3, then: [a, b]'

    (only,) = found(switch("string", text), "switch-gap")

    assert isinstance(only.witness, dict)
    x = only.witness["inputs"]["x"]  # type: ignore[index,call-overload]
    assert len(x) == 3
    assert not x.startswith("a")


def test_gap_that_is_undecided_has_no_witness() -> None:
    text = 'when: inputs.x.lowerAscii() != "a!", then: [a, b]'

    (only,) = found(switch("string", text), "switch-gap")

    assert only.witness is None


@pytest.mark.parametrize(
    ("kind", "branches"),
    [
        ("integer", ("when: inputs.x < 3, then: a", "when: inputs.x >= 3, then: b")),
        ("boolean", ("when: inputs.x, then: a", "when: '!inputs.x', then: b")),
        ("{enum: [p, q], type: string}",
         ('when: inputs.x == "p", then: a', 'when: inputs.x == "q", then: b')),
        ("integer", ("when: inputs.x < 3, then: a", "else: b")),
    ],
)  # fmt: skip
def test_switch_that_covers_every_value_is_fine(kind: str, branches: tuple[str, ...]) -> None:
    assert told(switch(kind, *branches)) == []


def test_branch_that_several_others_cover_together_is_shadowed() -> None:
    branches = (
        "when: inputs.x > 0 && inputs.x < 5, then: a",
        "when: inputs.x >= 5 && inputs.x < 9, then: b",
        "when: inputs.x > 2 && inputs.x < 8, then: a",
        "else: end",
    )

    (only,) = found(switch("integer", *branches))

    assert only.name == "branch-shadowed"
    assert only.message.startswith(
        "branch 2 of 'route' is never taken: the branches before it take"
    )


def test_branch_that_is_only_partly_covered_is_fine() -> None:
    branches = "when: inputs.x > 3, then: a", "when: inputs.x > 2, then: b", "else: end"

    assert told(switch("integer", *branches)) == []


@pytest.mark.parametrize(
    ("branch", "finding"),
    [
        ("1", []),
        ("0", ["branch 1 of 'route' is never taken: branch 0 takes everything that it would"]),
    ],
)
def test_covered_branch_that_a_handler_goes_on_with_is_no_shadow(
    branch: str, finding: list[str]
) -> None:
    text = switch(
        "integer", "when: inputs.x > 2, then: a", "when: inputs.x > 3, then: b", "else: end"
    )
    handled = text.replace(
        "          a: {t",
        f"            on_error: [{{continue: {{branch: {branch}}}}}]\n          a: {{t",
    )

    assert told(handled) == finding


# ── the claims, against every value ───────────────────────────────────────────────────────────

X = ast.Select(ast.Var("inputs"), "x")
ATOMS = st.builds(
    lambda operator, value: ast.Call(operator, (X, ast.Const("int", value))),
    st.sampled_from(["_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"]),
    st.integers(-3, 3),
)
FORMULAS = st.recursive(
    ATOMS | st.booleans().map(lambda value: ast.Const("bool", value)),
    lambda inner: st.one_of(
        inner.map(lambda node: ast.Call("!_", (node,))),
        st.tuples(inner, inner).map(lambda pair: ast.Call("_&&_", pair)),
        st.tuples(inner, inner).map(lambda pair: ast.Call("_||_", pair)),
        st.tuples(inner, inner, inner).map(lambda three: ast.Call("_?_:_", three)),
    ),
    max_leaves=8,
)


def evaluate(node: ast.Node, x: int) -> bool:
    match node:
        case ast.Const(value=bool(value)):
            return value
        case ast.Call(function="!_", args=(inner,)):
            return not evaluate(inner, x)
        case ast.Call(function="_&&_", args=(left, right)):
            return evaluate(left, x) and evaluate(right, x)
        case ast.Call(function="_||_", args=(left, right)):
            return evaluate(left, x) or evaluate(right, x)
        case ast.Call(function="_?_:_", args=(test, yes, no)):
            return evaluate(yes if evaluate(test, x) else no, x)
        case ast.Call(function=name, args=(_, ast.Const(value=int(value)))):
            return {
                "_==_": x == value, "_!=_": x != value, "_<_": x < value,
                "_<=_": x <= value, "_>_": x > value, "_>=_": x >= value,
            }[name]  # fmt: skip
    raise AssertionError(node)


@settings(max_examples=300, deadline=None)
@given(FORMULAS)
def test_claims_agree_with_trying_every_whole_number(formula: ast.Node) -> None:
    seen = {evaluate(formula, x) for x in range(-6, 7)}

    assert guards.never([(formula, True)], lambda _: INTEGER) == (True not in seen)
    assert guards.always(formula, lambda _: INTEGER) == (False not in seen)
    assert guards.truth(formula) in {None, *(seen if len(seen) == 1 else ())}


@settings(max_examples=300, deadline=None)
@given(FORMULAS)
def test_witness_makes_the_formula_false(formula: ast.Node) -> None:
    example = guards.witness([(formula, False)], lambda _: INTEGER)

    seen = {evaluate(formula, x) for x in range(-6, 7)}
    assert (example is not None) == (False in seen)
    if example:
        x = example["inputs"]["x"]  # type: ignore[index,call-overload]
        assert not evaluate(formula, int(str(x)))


@pytest.mark.parametrize("schema", [True, {"type": "number"}, {"type": "integer"}])
def test_every_value_that_passes_the_tests_is_allowed_for(schema: Schema) -> None:
    numbers: list[JsonValue] = [1, 2, 3]
    operators = ("==", "!=", "<", "<=", ">", ">=")
    singles = [Comparison(o, n) for o in operators for n in numbers]
    tried: list[JsonValue] = [0, 1, 2, 3, 4]
    tried += [] if schema == {"type": "integer"} else [0.5, 1.5, 2.5, 3.5]

    for pair in itertools.product(singles, repeat=2):
        passing = [value for value in tried if all(test.accepts(value) for test in pair)]
        result = values(schema, pair)
        assert result.some == bool(passing), (schema, pair)
        if result.known:
            assert all(test.accepts(result.example) for test in pair)


def test_numbers_and_truth_are_not_the_same() -> None:
    assert not Comparison("==", 1).accepts(True)
    assert Comparison("==", 1).accepts(1.0)


def test_a_nest_of_choices_is_looked_at_once_a_level() -> None:
    text = "inputs.a"
    for _ in range(20):
        text = f"({text} ? inputs.b : inputs.c)"
    asked = []

    def lookup(path: tuple[str, ...]) -> Schema:
        asked.append(path)
        return {"type": "boolean"}

    assert not guards.never([(syntax.parse(text), True)], lookup)
    assert len(asked) < 2000


def test_formula_with_too_many_ways_is_left_undecided() -> None:
    either = ast.Call(
        "_||_",
        (ast.Call("_>_", (X, ast.Const("int", 1))), ast.Call("_<_", (X, ast.Const("int", 0)))),
    )
    formula: ast.Node = either
    for _ in range(12):
        formula = ast.Call("_&&_", (formula, either))

    assert not guards.never([(formula, True)], lambda _: INTEGER)
    assert guards.witness([(formula, True)], lambda _: INTEGER) is None


# ── what stands above a step ──────────────────────────────────────────────────────────────────


def chain(first: str, second: str, after: str = "{step: a, on: done}") -> str:
    return f"""
        inputs: {{x: integer}}
        steps:
          a: {{when: '{first}', transform: inputs.x}}
          b: {{when: '{second}', after: {after}, transform: steps.a.output + 1}}
        outputs:
          b: ${{{{ steps.?b.output.orValue(0) }}}}
        """


def test_reader_whose_guard_implies_its_producers_reads_no_absent_step() -> None:
    assert told(chain("inputs.x > 3", "inputs.x > 5")) == []


def test_reader_whose_guard_does_not_is_told_with_the_way() -> None:
    (only,) = found(chain("inputs.x > 3", "inputs.x > 2"), "maybe-absent")

    assert [place.message.split("'")[1] for place in only.flow[:1]] == ["a"]


def test_guard_said_again_word_by_word_is_no_finding() -> None:
    assert told(chain("inputs.x > 3", "inputs.x > 3", "a")) == []


def test_guard_that_one_above_implies_is_told_with_the_one_above() -> None:
    (only,) = found(chain("inputs.x > 3", "inputs.x > 1", "a"), "guard-always")

    assert "where 'b' is reached" in only.message
    assert len(only.flow) == 2


def test_guard_that_one_above_excludes_is_never_true() -> None:
    (only,) = found(chain("inputs.x > 3", "inputs.x < 1", "a"), "guard-never")

    assert [place.span.line for place in only.flow] == [5, 6]
