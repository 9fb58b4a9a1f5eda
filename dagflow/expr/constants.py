"""Expressions whose value is known before they run."""

from __future__ import annotations

from typing import Final, TypeAlias

from dagflow.core.values import JsonValue
from dagflow.expr.ast import Call, Const, Let, Loop, Node, Var, children, walk
from dagflow.expr.walking import Walk

_LITERAL_AT = {
    "duration": 0, "timestamp": 0, "int": 0, "uint": 0, "double": 0, "bool": 0,
    "matches": 1, "base64.decode": 0, "_/_": 1, "_%_": 1,
}  # fmt: skip


class _Missing:
    """What stands for "not a constant", since null is a value."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
Constant: TypeAlias = "JsonValue | _Missing"


def always_fails(asking: Walk, node: Call) -> bool:
    """Report a literal that the function can never take: a pattern, a duration, a zero divisor."""
    position = _LITERAL_AT.get(node.function)
    if position is None:
        return False
    literal = node.operands[position]
    if not isinstance(literal, Const):
        return False
    if node.function == "_/_" and literal.kind != "int":
        return False
    said = _tried(node, literal, position)
    if said is None:
        return False
    asking.fail("expression-type", literal, f"{asking.shown(literal)} {said}")
    return True


def _tried(node: Call, literal: Const, position: int) -> str | None:
    if node.function in {"_/_", "_%_"}:
        return "is what it divides by" if literal.value == 0 else None
    if position == 1:
        probe = Call("matches", (Const("string", ""), literal))
    else:
        probe = Call(node.function, (literal,))
    from dagflow.expr.program import FailedError, run  # most texts need no evaluation

    try:
        run(probe, {})
    except FailedError as failure:
        return _WRONG.get(node.function, "can't be converted") + f": {failure.words}"
    return None


_WRONG = {
    "duration": 'is not a duration such as "90s" or "1h30m"',
    "timestamp": "is not an RFC 3339 instant",
    "matches": "is not a regular expression (RE2)",
    "int": "is not an integer",
    "double": "is not a number",
    "bool": "is not a boolean",
}


def fold(node: Node) -> Constant:
    """Return the value that the expression always has, or MISSING.

    `false && x`, `true || x` and a choice with a constant test are constants whatever `x` is.
    """
    decided = _decided(node)
    if decided is not MISSING:
        return decided
    if not _is_closed(node):
        return MISSING
    from dagflow.expr.program import FailedError, run

    try:
        return run(node, {})
    except FailedError:
        return MISSING


def _decided(node: Node) -> Constant:
    match node:
        case Const(value=value) if not isinstance(value, bytes) and node.kind != "uint":
            return value
        case Call(function="_&&_" | "_||_", args=(left, right)):
            absorbing = node.function == "_||_"
            values = (fold(left), fold(right))
            if any(value is absorbing for value in values):
                return absorbing
            return not absorbing if all(isinstance(v, bool) for v in values) else MISSING
        case Call(function="!_", args=(inner,)):
            truth = fold(inner)
            return not truth if isinstance(truth, bool) else MISSING
        case Call(function="_?_:_", args=(test, yes, no)):
            taken = fold(test)
            return fold(yes if taken else no) if isinstance(taken, bool) else MISSING
    return MISSING


def _is_closed(node: Node) -> bool:
    """Tell whether the expression reads nothing."""
    for part in walk(node):
        if isinstance(part, Var):
            return False
        if isinstance(part, Loop | Let):
            return not free_variables(node)
    return True


def free_variables(node: Node, bound: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the variables that the expression reads and does not bind itself."""
    if isinstance(node, Var):
        return frozenset({node.name} - bound)
    if isinstance(node, Loop):
        inner = bound | {node.var}
        parts = [free_variables(part, inner) for part in (node.test, node.item) if part]
        return free_variables(node.over, bound).union(*parts)
    if isinstance(node, Let):
        return free_variables(node.value, bound) | free_variables(node.body, bound | {node.name})
    return frozenset().union(*(free_variables(child, bound) for child in children(node)))
