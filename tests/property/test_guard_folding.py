"""What the compiler folds in a guard is what the engine gives for it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dagflow.compiler.proofs.guards import truth
from dagflow.core.plan import Expression
from dagflow.core.values import INT64_MAX, INT64_MIN
from dagflow.expr.ast import Call, Const, ListOf, Node, to_json
from dagflow.expr.evaluate import ExpressionError, evaluate

NUMBERS = (0, 1, 2, -1, 2**53, 2**53 + 1, INT64_MAX, INT64_MIN)
LITERALS = st.one_of(
    st.just(Const("null", None)),
    st.booleans().map(lambda value: Const("bool", value)),
    st.sampled_from(NUMBERS).map(lambda value: Const("int", value)),
    st.sampled_from((*NUMBERS, 0.5, -0.0)).map(lambda value: Const("double", float(value))),
    st.sampled_from(("", "a", "b", "1", "é", "NaN")).map(lambda value: Const("string", value)),
)
TERMS = st.recursive(
    LITERALS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(lambda items: ListOf(tuple(items))),
        inner.map(lambda node: Call("double", (node,))),
        inner.map(lambda node: Call("-_", (node,))),
    ),
    max_leaves=4,
)
COMPARISONS = st.builds(
    lambda operator, one, two: Call(operator, (one, two)),
    st.sampled_from(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "@in")),
    TERMS,
    TERMS,
)
FORMULAS = st.recursive(
    COMPARISONS | LITERALS,
    lambda inner: st.one_of(
        inner.map(lambda node: Call("!_", (node,))),
        st.tuples(inner, inner).map(lambda pair: Call("_&&_", pair)),
        st.tuples(inner, inner).map(lambda pair: Call("_||_", pair)),
        st.tuples(inner, inner, inner).map(lambda three: Call("_?_:_", three)),
    ),
    max_leaves=6,
)


@settings(max_examples=600, deadline=None)
@given(FORMULAS | COMPARISONS)
def test_folded_guard_is_what_the_engine_evaluates(formula: Node) -> None:
    folded = truth(formula)

    assert folded is None or evaluated(formula) is folded


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(("_==_", "_<_", "_>=_")), *[st.booleans() | st.integers(-9, 9)] * 2)
def test_comparison_of_two_values_of_a_kind_is_folded(operator: str, one: int, two: int) -> None:
    node = Call(operator, (constant(one), constant(two)))

    assert (truth(node) is not None) is (type(one) is type(two))


def constant(value: int) -> Const:
    return Const("bool" if isinstance(value, bool) else "int", value)


def evaluated(node: Node) -> object:
    try:
        return evaluate(Expression(text="", ast=to_json(node)), {})
    except ExpressionError as error:
        return error
