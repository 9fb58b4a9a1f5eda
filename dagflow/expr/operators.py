"""The check of operators, functions and methods, from the tables of `signatures`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject
from dagflow.core.words import nearest
from dagflow.expr import constants
from dagflow.expr.added import ADDED
from dagflow.expr.ast import Call, Const, Node, Var, path_of
from dagflow.expr.fields import element, entries, keys, least_items
from dagflow.expr.reading import report_hyphen, subtracted_name
from dagflow.expr.signatures import (
    OPERATORS,
    Overload,
    callable_names,
    signatures,
)
from dagflow.expr.types import (
    BOOL,
    DYN,
    FAILED,
    NEVER,
    NUMERIC,
    SIZE,
    STRING,
    Type,
    list_of,
    of_kind,
    optional_of,
    union,
    values_of,
    without_null,
)
from dagflow.expr.walking import Typed, Walk

_MEANT = {
    "len": "size", "length": "size", "count": "size", "lower": "lowerAscii", "upper": "upperAscii",
    "toLowerCase": "lowerAscii", "toUpperCase": "upperAscii", "strip": "trim", "str": "string",
    "float": "double", "any": "exists", "some": "exists", "every": "all", "find": "filter",
    "includes": "contains", "toJson": "json", "tojson": "json", "to_json": "json",
    "default": "orValue", "match": "matches", "exists_one": "exists_one", "uniq": "distinct",
    "unique": "distinct", "sorted": "sort", "now": "run.started_at",
}  # fmt: skip
_MAY_FAIL = frozenset({"int", "uint", "double", "bool", "timestamp", "duration", "base64.decode"})


def apply(walk: Walk, node: Call) -> Typed:
    """Return the lowered call and its type."""
    if node.function == "_-_" and (meant := subtracted_name(walk, node)) is not None:
        report_hyphen(walk, *meant)
        return node, FAILED
    lowered, types = _operands(walk, node)
    if any(found.failed for found in types):
        return lowered, FAILED
    special = _SPECIAL.get(node.function) or ADDED.get(node.function)
    if special and _fits_form(node):
        return special(walk, lowered, types)
    return _by_table(walk, lowered, types)


def _operands(walk: Walk, node: Call) -> tuple[Call, list[Type]]:
    operands = node.operands
    visited = [walk.visit(operand) for operand in operands]
    written = [operand for operand, _ in visited]
    types = [found for _, found in visited]
    same = all(map(operator.is_, written, operands))
    return node if same else _rewritten(node, written), types


def _rewritten(node: Call, operands: list[Node]) -> Call:
    if node.on is None:
        return Call(node.function, tuple(operands), None, node.at)
    return Call(node.function, tuple(operands[1:]), operands[0], node.at)


def _fits_form(node: Call) -> bool:
    """Tell whether a special name is used as what it is: a method on something, or a function."""
    return (node.on is not None) == (node.function in _METHODS)


def index(walk: Walk, node: Call) -> Typed:
    """Infer `a[b]` and `a[?b]` for a `b` that isn't a constant name."""
    lowered, (owner, at) = _operands(walk, node)
    if owner.failed or at.failed:
        return lowered, FAILED
    of, key = node.args
    opened = owner.inner if owner.inner is not None and "optional" in owner.kinds else None
    owner = walk.solid(of, opened or owner)
    at = walk.solid(key, at)
    if owner.failed or at.failed:
        return lowered, FAILED
    found = _indexed(walk, node, owner, at)
    optional = opened is not None or node.function == "_[?_]"
    if found.failed or not optional:
        if not found.failed:
            _warn_index(walk, node, owner)
        return lowered, found
    return lowered, optional_of(found)


def _indexed(walk: Walk, node: Call, owner: Type, at: Type) -> Type:
    of, key = node.args
    if owner.is_dyn:
        return DYN
    parts: list[Type] = []
    if "list" in owner.kinds and (at.is_dyn or at.kinds & NUMERIC):
        position = key.value if isinstance(key, Const) and isinstance(key.value, int) else None
        if position is not None and position < 0:
            message = f"a list has no index {position}"
            return walk.fail(
                "expression-type", key, message, "count from the end with `size(x) - 1`"
            )
        parts.append(element(owner, position))
    if "map" in owner.kinds:
        parts.append(entries(owner))
    if parts:
        return union(*parts)
    if "list" in owner.kinds:
        return walk.fail(
            "expression-type", key, f"{walk.shown(of)} is a list: its index is an integer"
        )
    return walk.fail(
        "expression-type", node, f"{walk.shown(of)} is {owner.words()} and has no elements"
    )


def _warn_index(walk: Walk, node: Call, owner: Type) -> None:
    of, key = node.args
    known = key.value if isinstance(key, Const) and isinstance(key.value, int) else None
    if owner.is_dyn or ("list" in owner.kinds and known is not None and known < least_items(owner)):
        return
    if isinstance(key, Var) and key.name in walk.keys_of and walk.keys_of[key.name] == path_of(of):
        return  # the loop takes its keys from this very map
    what = "be shorter" if "list" in owner.kinds else "not have this key"
    help_ = "read it with `[?…]` and `orValue(…)`, or test it first"
    walk.warn(node, f"{walk.shown(node)} may fail: {walk.shown(of)} may {what}", help_)


# the table


def _by_table(walk: Walk, node: Call, types: list[Type]) -> Typed:
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
            return node, walk.solid(operand, found, f", and {_named(node)} can't take null")
    _warn_mixed(walk, node, types, fit)
    _warn_failing(walk, node, types)
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
            message = f"{walk.shown(operand)} may be {other}, which {_named(node)} can't take"
            walk.warn(node, message)


def _in_doubles(node: Call, fit: _Fit) -> Call:
    """Write `double(…)` around the operands that must be doubles and may be integers."""
    if not fit.doubled:
        return node
    operands = [
        _doubled(operand) if position in fit.doubled else operand
        for position, operand in enumerate(node.operands)
    ]
    return _rewritten(node, operands)


def _doubled(node: Node) -> Node:
    if isinstance(node, Const) and node.kind == "int" and isinstance(node.value, int):
        return Const("double", float(node.value), node.at)
    return Call("double", (node,), None, node.at)


def _named(node: Call) -> str:
    return f"`{OPERATORS.get(node.function, node.function)}`"


def _unknown(walk: Walk, node: Call) -> Type:
    meant = _MEANT.get(node.function)
    near = f"; did you mean {meant!r}?" if meant else nearest(node.function, callable_names())
    if f".{node.function}" in signatures() or node.function in _METHODS:
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
    message = f"{_named(node)} takes {wanted} argument{plural}, not {len(node.args)}"
    return walk.fail("expression-type", node, message)


def _mismatch(walk: Walk, node: Call, types: list[Type], fitting: list[Overload]) -> Type:
    solid = [without_null(found) for found in types]
    if solid != types and any(_accepts(o, solid, coerce=True) for o in fitting):
        for operand, found in zip(node.operands, types, strict=True):
            if found.nullable:
                return walk.solid(operand, found, f", and {_named(node)} can't take null")
    given = " and ".join(found.words() for found in types)
    if "optional" in "".join(k for found in types for k in found.kinds):
        help_ = "open an optional value with `.orValue(…)`"
    else:
        help_ = _help(node, types)
    return walk.fail("expression-type", node, f"{_named(node)} can't take {given}", help_)


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


# operations that may fail for some values


def _warn_failing(walk: Walk, node: Call, types: list[Type]) -> None:
    if node.function in {"_/_", "_%_"} and not _never_zero(types[1]):
        right = node.args[1]
        message = f"{walk.shown(node)} may fail: {walk.shown(right)} may be 0"
        walk.warn(node, message, "test it first, as in `x != 0 ? a / x : 0`")
    if node.function in _MAY_FAIL and not isinstance(node.args[0], Const):
        _warn_conversion(walk, node, types[0])


def _warn_conversion(walk: Walk, node: Call, found: Type) -> None:
    schema = found.schema if isinstance(found.schema, dict) else {}
    sure = node.function == "timestamp" and schema.get("format") == "date-time"
    if "string" in found.kinds and not sure:
        text = walk.shown(node.args[0])
        walk.warn(node, f"{walk.shown(node)} may fail: {text} may be no {_WORD[node.function]}")


_WORD = {
    "int": "integer", "uint": "unsigned integer", "double": "number", "bool": "boolean",
    "timestamp": "RFC 3339 instant", "duration": 'duration such as "90s"',
    "base64.decode": "base64 text",
}  # fmt: skip


def _never_zero(found: Type) -> bool:
    values = values_of(found)
    if values is not None:
        return 0 not in [value for value in values if not isinstance(value, bool)]
    schema = found.schema if isinstance(found.schema, dict) else {}
    return (
        _bound(schema, "minimum", 0) > 0
        or _bound(schema, "maximum", 0) < 0
        or _bound(schema, "exclusiveMinimum", -1) >= 0
        or _bound(schema, "exclusiveMaximum", 1) <= 0
    )


def _bound(schema: JsonObject, key: str, otherwise: float) -> float:
    value = schema.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


# operators and methods with types of their own


def _equal(walk: Walk, node: Call, types: list[Type]) -> Typed:
    left, right = types
    for found, operand in zip(types, node.operands, strict=True):
        if "optional" in found.kinds:
            return node, walk.fail(
                "expression-type",
                operand,
                f"{walk.shown(operand)} is an optional value",
                "open it with `.orValue(…)`",
            )
    if not _comparable(left, right):
        message = f"{walk.shown(node)} compares {left.words()} with {right.words()}, never equal"
        return node, walk.fail("expression-type", node, message)
    _refuse_unlisted(walk, node, types)
    return node, BOOL


def _comparable(left: Type, right: Type) -> bool:
    if left.is_dyn or right.is_dyn or "null" in left.kinds | right.kinds:
        return True
    return bool(left.kinds & right.kinds) or bool(left.kinds & NUMERIC and right.kinds & NUMERIC)


def _refuse_unlisted(walk: Walk, node: Call, types: list[Type]) -> None:
    """Report a comparison with a text that isn't one of the values the other side may have."""
    for this, other in ((0, 1), (1, 0)):
        constant = node.args[this]
        values = values_of(types[other])
        if not isinstance(constant, Const) or not isinstance(constant.value, str) or values is None:
            continue
        if constant.value not in values and not isinstance(node.args[other], Const):
            names = [value for value in values if isinstance(value, str)]
            message = f"{walk.shown(node.args[other])} is never {constant.value!r}"
            near = nearest(constant.value, names)
            help_ = "" if near else f"it is one of {', '.join(map(repr, names))}"
            walk.fail("expression-type", node, message + near, help_)


def _contained(walk: Walk, node: Call, types: list[Type]) -> Typed:
    item, owner = types
    owner = walk.solid(node.args[1], owner)
    if owner.failed or owner.is_dyn:
        return node, FAILED if owner.failed else BOOL
    held = [element(owner)] if "list" in owner.kinds else []
    held += [keys(owner)] if "map" in owner.kinds else []
    if not held:
        message = (
            f"{walk.shown(node.args[1])} is {owner.words()}, and `in` looks into lists and objects"
        )
        help_ = "use `text.contains(part)`" if owner.kinds == {"string"} else ""
        return node, walk.fail("expression-type", node, message, help_)
    if not any(_comparable(item, inner) for inner in held):
        message = f"{walk.shown(node.args[1])} holds {union(*held).words()}, never {item.words()}"
        return node, walk.fail("expression-type", node, message)
    return node, BOOL


def _concatenated(walk: Walk, node: Call, types: list[Type]) -> Typed:
    if all("list" in found.kinds and not found.is_dyn for found in types):
        return node, list_of(union(*(element(found) for found in types)))
    return _by_table(walk, node, types)


def _dyn(_walk: Walk, node: Call, types: list[Type]) -> Typed:
    return (node, DYN) if len(types) == 1 else (node, FAILED)


def _extreme(walk: Walk, node: Call, types: list[Type]) -> Typed:
    """Infer math.greatest and math.least, over numbers or one list of them."""
    kinds: frozenset[str] = frozenset()
    parts = types if len(types) > 1 or "list" not in types[0].kinds else [element(types[0])]
    for operand, found in zip(node.args * len(parts), parts, strict=False):
        solid = walk.solid(operand, found)
        if solid.failed:
            return node, FAILED
        if not solid.is_dyn and not solid.kinds & NUMERIC:
            message = f"{_named(node)} takes numbers, not {solid.words()}"
            return node, walk.fail("expression-type", node, message)
        kinds |= solid.kinds
    return node, union(*(of_kind(kind) for kind in sorted(kinds)))


def _optional_of(_walk: Walk, node: Call, types: list[Type]) -> Typed:
    return node, optional_of(types[0])


def _optional_none(_walk: Walk, node: Call, _types: list[Type]) -> Typed:
    return node, optional_of(NEVER)


def _has_value(walk: Walk, node: Call, types: list[Type]) -> Typed:
    return node, FAILED if walk.opened(node.operands[0], types[0]).failed else BOOL


def _value(walk: Walk, node: Call, types: list[Type]) -> Typed:
    return node, walk.opened(node.operands[0], types[0])


def _or_value(walk: Walk, node: Call, types: list[Type]) -> Typed:
    if len(types) != 2:  # noqa: PLR2004
        message = f"{_named(node)} takes 1 argument, not {len(node.args)}"
        return node, walk.fail("expression-type", node, message)
    opened = walk.opened(node.operands[0], types[0])
    return node, union(opened, types[1]) if opened.kinds else types[1]


def _or(walk: Walk, node: Call, types: list[Type]) -> Typed:
    parts = [walk.opened(o, t) for o, t in zip(node.operands, types, strict=True)]
    kept = [part for part in parts if part.kinds]
    return node, optional_of(union(*kept)) if kept else types[0]


_METHODS = frozenset({"hasValue", "value", "orValue", "or"})
_SPECIAL: dict[str, Callable[[Walk, Call, list[Type]], Typed]] = {
    "_==_": _equal,
    "_!=_": _equal,
    "@in": _contained,
    "_+_": _concatenated,
    "dyn": _dyn,
    "math.@max": _extreme,
    "math.@min": _extreme,
    "optional.of": _optional_of,
    "optional.ofNonZeroValue": _optional_of,
    "optional.none": _optional_none,
    "hasValue": _has_value,
    "value": _value,
    "orValue": _or_value,
    "or": _or,
}
