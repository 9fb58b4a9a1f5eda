"""The check of the functions that dagflow adds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dagflow.expr.ast import Call
from dagflow.expr.fields import element, least_items, most_items
from dagflow.expr.functions import FUNCTIONS, Added
from dagflow.expr.types import DYN, FAILED, NUMERIC, STRING, Type, list_of, of_kind, union
from dagflow.expr.walking import Typed, Walk

_ORDERED = (NUMERIC, frozenset({"string"}))
_FOREIGN = frozenset({"bytes", "type", "optional", "timestamp", "duration"})
"""What a function of ours can't give back to the library."""
_SCALARS = frozenset({"string", "bool"}) | NUMERIC


def _check(added: Added, walk: Walk, node: Call, types: list[Type]) -> Typed:
    least = sum(not kind.endswith("?") for kind in added.arguments)
    if not least <= len(types) <= len(added.arguments):
        wanted = " or ".join(str(n) for n in range(least, len(added.arguments) + 1))
        plural = "" if wanted == "1" else "s"
        message = f"`{added.name}` takes {wanted} argument{plural}, not {len(types)}"
        return node, walk.fail("expression-type", node, message)
    for position, kind in enumerate(added.arguments[: len(types)]):
        if _argument(added, walk, node, types[position], (position, kind.rstrip("?"))).failed:
            return node, FAILED
    return node, _RESULTS[added.name](walk, node, types[0])


def _argument(added: Added, walk: Walk, node: Call, found: Type, wanted: tuple[int, str]) -> Type:
    position, kind = wanted
    operand = node.args[position]
    if kind == "dyn":
        if found.kinds & {"optional", "bytes", "type"}:
            message = f"`{added.name}` can't take {found.words()}"
            return walk.fail("expression-type", operand, message)
        return found
    solid = walk.solid(operand, found, f", and `{added.name}` can't take null")
    base = kind.partition("(")[0]
    if solid.failed or solid.is_dyn:
        return solid
    if base not in solid.kinds:
        word = of_kind(base).words()
        message = f"`{added.name}` takes {word}, not {solid.words()}"
        return walk.fail("expression-type", operand, message)
    return _elements(added, walk, node, solid, kind)


def _elements(added: Added, walk: Walk, node: Call, found: Type, kind: str) -> Type:
    held = kind.partition("(")[2].rstrip(")")
    inner = element(found)
    name = f"`{added.name}`"
    if "list" in kind and inner.kinds & _FOREIGN:
        message = f"{name} can't take a list of {inner.words().removeprefix('a ')}s"
        return walk.fail("expression-type", node, message, "write them as text first: `string(x)`")
    if not held or inner.is_dyn or not inner.kinds:
        return found
    if inner.nullable:
        of = f"{walk.shown(node.args[0])} may hold null, which {name} can't take"
        help_ = "drop the nulls first: `x.filter(v, v != null)`"
        return walk.fail("maybe-null", node, of, help_)
    if held == "number" and not inner.kinds <= NUMERIC:
        return walk.fail("expression-type", node, f"{name} takes numbers, not {inner.words()}")
    if held == "ordered" and not any(inner.kinds <= kinds for kinds in _ORDERED):
        message = f"{name} takes numbers, or strings, not {inner.words()}"
        return walk.fail("expression-type", node, message)
    if held == "scalar" and not inner.kinds <= _SCALARS:
        message = f"{name} can't write {inner.words()} as text"
        return walk.fail(
            "expression-type", node, message, "write it with `json(…)` in a `map` first"
        )
    return found


def _plain(inner: Type) -> Type:
    """Return the kind of a number without the bounds that its sum need not keep."""
    return (
        union(*(of_kind(kind) for kind in sorted(inner.kinds))) if inner.kinds else of_kind("int")
    )


def _summed(_walk: Walk, _node: Call, found: Type) -> Type:
    inner = element(found)
    return of_kind("number") if "dyn" in inner.kinds else _plain(inner)


def _chosen(walk: Walk, node: Call, found: Type) -> Type:
    if not found.is_dyn and least_items(found) < 1:
        message = f"{walk.shown(node)} may fail: {walk.shown(node.args[0])} may be empty"
        walk.warn(node, message, "test its `size(…)` first")
    return element(found)


def _same(_walk: Walk, _node: Call, found: Type) -> Type:
    return list_of(element(found), least_items(found), most_items(found))


def _distinct(_walk: Walk, _node: Call, found: Type) -> Type:
    return list_of(element(found), min(1, least_items(found)), most_items(found))


def _flat(_walk: Walk, _node: Call, found: Type) -> Type:
    inner = element(found)
    if inner.is_dyn or not inner.kinds:
        return list_of(DYN)
    parts = [element(inner)] if "list" in inner.kinds else []
    rest = inner.kinds - {"list"}
    if rest:
        parts.append(
            replace(inner, kinds=rest)
            if "list" not in inner.kinds
            else _plain(replace(inner, kinds=rest))
        )
    return list_of(union(*parts))


def _text(_walk: Walk, _node: Call, _found: Type) -> Type:
    return STRING


_RESULTS: dict[str, Callable[[Walk, Call, Type], Type]] = {
    "json": _text,
    "sum": _summed,
    "min": _chosen,
    "max": _chosen,
    "sort": _same,
    "distinct": _distinct,
    "flatten": _flat,
    "join": _text,
}


def _checker(added: Added) -> Callable[[Walk, Call, list[Type]], Typed]:
    return lambda walk, node, types: _check(added, walk, node, types)


ADDED: dict[str, Callable[[Walk, Call, list[Type]], Typed]] = {
    added.name: _checker(added) for added in FUNCTIONS
}
