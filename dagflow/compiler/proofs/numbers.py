"""Which terms are surely numbers, and which surely are not NaN, for which every order is false."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from dagflow.core.values import Schema
from dagflow.expr.ast import Call, Const, Node, path_of

Lookup: TypeAlias = Callable[[tuple[str, ...]], Schema]
"""The schema of the value that a path reads (True where it isn't known)."""

_WHOLE: Final = frozenset({"size", "int"})
_CHOOSING: Final = frozenset({"min", "max", "sum"})
_STEADY: Final = frozenset({"_+_", "_-_", "_*_", "-_"})
"""What makes no NaN of finite numbers; with integers neither do these."""
_DIVIDING: Final = frozenset({"_/_", "_%_"})


def is_number(node: Node, lookup: Lookup) -> bool:
    """Tell whether a term that has a value is surely a finite number."""
    match node:
        case Const(kind=kind):
            return kind in {"int", "double"}
        case Call(function="double", args=(inner,)):
            return is_number(inner, lookup)
    return _kind(node, lookup) == "number" or _is_whole(node, lookup)


def may_be_nan(node: Node, lookup: Lookup) -> bool:
    """Tell whether a term may be NaN. What lies at a path never is: no JSON value is."""
    match node:
        case Call(function=name, args=args) if name in _STEADY | _CHOOSING:
            return not all(_is_finite(arg, lookup) for arg in args)
        case Call(function="_/_", args=(left, Const(value=int() | float() as by))) if by:
            return not _is_finite(left, lookup)
    return not _is_finite(node, lookup)


def _is_finite(node: Node, lookup: Lookup) -> bool:
    return path_of(node) is not None or is_number(node, lookup)


def _is_whole(node: Node, lookup: Lookup) -> bool:
    match node:
        case Const(kind=kind):
            return kind == "int"
        case Call(function=name) if name in _WHOLE:
            return True
        case Call(function=name, args=args) if name in _STEADY | _DIVIDING:
            return all(_is_whole(arg, lookup) for arg in args)
    return _kind(node, lookup) == "integer"


def _kind(node: Node, lookup: Lookup) -> object:
    path = path_of(node)
    schema = True if path is None else lookup(path)
    return schema.get("type") if isinstance(schema, dict) else None
