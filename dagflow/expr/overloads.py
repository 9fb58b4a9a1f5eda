"""The check of a call against the table of signatures: which overloads take its operands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from dagflow.core.records import dataclass
from dagflow.core.words import nearest
from dagflow.expr import constants
from dagflow.expr.added import ADDED
from dagflow.expr.ast import Call, Const, Node
from dagflow.expr.fields import element
from dagflow.expr.partial import warn_failing
from dagflow.expr.signatures import OPERATORS, Overload, callable_names, signatures
from dagflow.expr.types import (
    FAILED,
    NUMERIC,
    SIZE,
    STRING,
    Type,
    list_of,
    of_kind,
    union,
    without_null,
)
from dagflow.expr.walking import Typed, Walk

METHODS = frozenset({"hasValue", "value", "orValue", "or"})
"""Methods with a type of their own, which no signature can say."""

_MEANT = {
    "len": "size", "length": "size", "count": "size", "lower": "lowerAscii", "upper": "upperAscii",
    "toLowerCase": "lowerAscii", "toUpperCase": "upperAscii", "strip": "trim", "str": "string",
    "float": "double", "any": "exists", "some": "exists", "every": "all", "find": "filter",
    "includes": "contains", "toJson": "json", "tojson": "json", "to_json": "json",
    "default": "orValue", "match": "matches", "exists_one": "exists_one", "uniq": "distinct",
    "unique": "distinct", "sorted": "sort", "now": "run.started_at",
}  # fmt: skip


def by_table(walk: Walk, node: Call, types: list[Type]) -> Typed:
    name = f".{node.function}" if node.on is not None else node.function
    overloads = signatures().get(name)
    if overloads is None:
        return node, _unknown(walk, node)
    fitting = [o for o in overloads if len(o.params) == len(types)]
    if not fitting:
        return node, _wrong_count(walk, node, overloads)
    fit = _fit(name, tuple(types), fitting)
    if not fit.chosen:
        return node, _mismatch(walk, node, types, fitting)
    for operand, found, accepted in zip(node.operands, types, fit.accepted, strict=True):
        if found.nullable and "dyn" not in accepted:
            return node, walk.solid(operand, found, f", and {named(node)} can't take null")
    _warn_mixed(walk, node, types, fit)
    warn_failing(walk, node, types)
    if constants.always_fails(walk, node):
        return node, FAILED
    return _in_doubles(node, fit), fit.gives


@dataclass(frozen=True, slots=True)
class _Fit:
    """What the kinds of a call's operands settle.

    The overloads that take them; what these accept at each position; which operands have to be
    written as doubles; and the type of the result.
    """

    chosen: tuple[Overload, ...]
    accepted: tuple[frozenset[str], ...]
    doubled: tuple[int, ...]
    gives: Type


def _fit(name: str, types: tuple[Type, ...], fitting: list[Overload]) -> _Fit:
    """Return how the overloads fit the types as they are, or else with numbers coerced."""
    # of lists of something more counts than the kinds, which are what is remembered
    if any("list" in found.kinds for found in types):
        return _fitted(types, fitting)
    key = (name, tuple([found.kinds for found in types]))
    if key not in _KNOWN:
        _KNOWN[key] = _fitted(types, fitting)
    return _KNOWN[key]


_KNOWN: dict[tuple[str, tuple[frozenset[str], ...]], _Fit] = {}
"""How calls fit the kinds of their operands: as many as an author can make up, a few dozen."""


def _fitted(types: tuple[Type, ...], fitting: list[Overload]) -> _Fit:
    chosen = _choice(types, fitting)
    positions = range(len(types))
    return _Fit(
        chosen=tuple(chosen),
        accepted=tuple(_accepted(chosen, position) for position in positions),
        doubled=tuple(
            position
            for position in positions
            if all(o.params[position] == "double" for o in chosen)
            and types[position].kinds & {"int", "number"}
        ),
        gives=union(*(_given(o.gives) for o in chosen)) if chosen else FAILED,
    )


def _choice(types: tuple[Type, ...], fitting: list[Overload]) -> list[Overload]:
    exact = [o for o in fitting if _accepts(o, types, coerce=False)]
    return exact or [o for o in fitting if _accepts(o, types, coerce=True)]


def _given(gives: str) -> Type:
    if gives == "list(string)":
        return list_of(STRING)
    return SIZE if gives == "size" else of_kind(gives)


@cache
def _kinds_taken(param: str, *, coerce: bool = True) -> frozenset[str]:
    if param in {"x", "dyn"}:
        return frozenset({"dyn"})
    if param == "num":
        return NUMERIC
    if param == "double":
        return frozenset({"double", "number", "int"} if coerce else {"double", "number"})
    return frozenset({param.partition("(")[0]})


def _accepts(overload: Overload, types: Iterable[Type], *, coerce: bool) -> bool:
    for param, found in zip(overload.params, types, strict=True):
        taken = _kinds_taken(param, coerce=coerce)
        if "dyn" not in taken and not found.is_dyn and not found.kinds & taken:
            return False
        if param.startswith("list(") and not _holds(found, param[5:-1]):
            return False
    return True


def _holds(found: Type, kind: str) -> bool:
    inner = element(found)
    return inner.is_dyn or bool(inner.kinds & _kinds_taken(kind)) or not inner.kinds


def _accepted(chosen: Iterable[Overload], position: int) -> frozenset[str]:
    return frozenset().union(*(_kinds_taken(o.params[position]) for o in chosen))


def _warn_mixed(walk: Walk, node: Call, types: list[Type], fit: _Fit) -> None:
    """Warn where a value has kinds that the function can't take beside some that it can."""
    for operand, found, accepted in zip(node.operands, types, fit.accepted, strict=True):
        extra = found.kinds - accepted - {"dyn", "null"}
        if extra and "dyn" not in accepted:
            other = replace(found, kinds=extra).words()
            message = f"{walk.shown(operand)} may be {other}, which {named(node)} can't take"
            walk.warn(node, message)


def _in_doubles(node: Call, fit: _Fit) -> Call:
    """Write `double(…)` around the operands that must be doubles and may be integers."""
    if not fit.doubled:
        return node
    operands = [
        _doubled(operand) if position in fit.doubled else operand
        for position, operand in enumerate(node.operands)
    ]
    return rewritten(node, operands)


def _doubled(node: Node) -> Node:
    if isinstance(node, Const) and node.kind == "int" and isinstance(node.value, int):
        return Const("double", float(node.value), node.at)
    return Call("double", (node,), None, node.at)


def named(node: Call) -> str:
    return f"`{OPERATORS.get(node.function, node.function)}`"


def _unknown(walk: Walk, node: Call) -> Type:
    meant = _MEANT.get(node.function)
    near = f"; did you mean {meant!r}?" if meant else nearest(node.function, callable_names())
    if f".{node.function}" in signatures() or node.function in METHODS:
        near = f"; it is a method: `x.{node.function}(…)`"
    elif node.function in signatures() or node.function in ADDED:
        near = f"; it is a function: `{node.function}(…)`"
    what = "function" if node.on is None else "method"
    return walk.fail("unknown-name", node, f"no {what} is named {node.function!r}{near}")


def _wrong_count(walk: Walk, node: Call, overloads: tuple[Overload, ...]) -> Type:
    skip = 0 if node.on is None else 1
    counts = sorted({len(o.params) - skip for o in overloads})
    wanted = " or ".join(str(count) for count in counts)
    plural = "" if counts == [1] else "s"
    message = f"{named(node)} takes {wanted} argument{plural}, not {len(node.args)}"
    return walk.fail("expression-type", node, message)


def _mismatch(walk: Walk, node: Call, types: list[Type], fitting: list[Overload]) -> Type:
    solid = [without_null(found) for found in types]
    if solid != types and any(_accepts(o, solid, coerce=True) for o in fitting):
        for operand, found in zip(node.operands, types, strict=True):
            if found.nullable:
                return walk.solid(operand, found, f", and {named(node)} can't take null")
    given = " and ".join(found.words() for found in types)
    if "optional" in "".join(k for found in types for k in found.kinds):
        help_ = "open an optional value with `.orValue(…)`"
    else:
        help_ = _help(node, types)
    return walk.fail("expression-type", node, f"{named(node)} can't take {given}", help_)


def _help(node: Call, types: list[Type]) -> str:
    if node.function == "_+_" and any("string" in found.kinds for found in types):
        return "write a number as text with `string(…)`, or use a template: `text ${{ … }}`"
    overloads = signatures()[f".{node.function}" if node.on is not None else node.function]
    forms = dict.fromkeys(
        " and ".join(of_kind(_plain(p)).words() for p in o.params) for o in overloads
    )
    return f"it takes {'; '.join(forms)}" if len(forms) <= 4 else ""  # noqa: PLR2004


def _plain(param: str) -> str:
    return {"num": "number", "x": "dyn"}.get(param, param.partition("(")[0])


def rewritten(node: Call, operands: list[Node]) -> Call:
    """Return the call with other operands."""
    if node.on is None:
        return Call(node.function, tuple(operands), None, node.at)
    return Call(node.function, tuple(operands[1:]), operands[0], node.at)
