"""The check of operators, functions and methods: those with types of their own, and the others."""

from __future__ import annotations

import operator
from collections.abc import Callable

from dagflow.core.words import nearest
from dagflow.expr.added import ADDED
from dagflow.expr.ast import Call, Const, Var, path_of
from dagflow.expr.fields import element, entries, keys, least_items
from dagflow.expr.overloads import METHODS, by_table, named, rewritten
from dagflow.expr.reading import report_hyphen, subtracted_name
from dagflow.expr.types import (
    BOOL,
    DYN,
    FAILED,
    NEVER,
    NUMERIC,
    Type,
    list_of,
    of_kind,
    optional_of,
    union,
    values_of,
)
from dagflow.expr.walking import Typed, Walk


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
    return by_table(walk, lowered, types)


def _operands(walk: Walk, node: Call) -> tuple[Call, list[Type]]:
    operands = node.operands
    visited = [walk.visit(operand) for operand in operands]
    written = [operand for operand, _ in visited]
    types = [found for _, found in visited]
    same = all(map(operator.is_, written, operands))
    return node if same else rewritten(node, written), types


def _fits_form(node: Call) -> bool:
    """Tell whether a special name is used as what it is: a method on something, or a function."""
    return (node.on is not None) == (node.function in METHODS)


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
    return by_table(walk, node, types)


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
            message = f"{named(node)} takes numbers, not {solid.words()}"
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
        message = f"{named(node)} takes 1 argument, not {len(node.args)}"
        return node, walk.fail("expression-type", node, message)
    opened = walk.opened(node.operands[0], types[0])
    return node, union(opened, types[1]) if opened.kinds else types[1]


def _or(walk: Walk, node: Call, types: list[Type]) -> Typed:
    parts = [walk.opened(o, t) for o, t in zip(node.operands, types, strict=True)]
    kept = [part for part in parts if part.kinds]
    return node, optional_of(union(*kept)) if kept else types[0]


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
