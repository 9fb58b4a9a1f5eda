"""The labels of an expression's value, from those of what it reads.

What decides is not traced: a choice between two fixed texts carries nothing of what was tested,
and neither does a number or a boolean that was made of a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from dagflow.compiler.proofs.labels.trails import CLEAN, Trails, joined
from dagflow.expr.ast import (
    Call,
    Const,
    Let,
    Loop,
    MapOf,
    Node,
    Path,
    Select,
    chain_of,
    children,
)
from dagflow.expr.signatures import signatures

Reading: TypeAlias = Callable[[Path], Trails]
"""The labels of what lies at a path."""

_LOGIC: Final = frozenset(
    {"_&&_", "_||_", "!_", "@in", "_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "hasValue"}
)
_TEXTS: Final = frozenset({"string", "list(string)", "bytes", "list"})


def labels_of(node: Node, read: Reading, names: Mapping[str, Trails] | None = None) -> Trails:
    """Return the labels of an expression; `names` are those of loops and lets around it."""
    names = names or {}
    chain = chain_of(node)
    if chain is not None:
        return names[chain.path[0]] if chain.path[0] in names else read(chain.path)
    match node:
        case Const():
            return CLEAN
        case Select(test=True):
            return CLEAN
        case Loop():
            return _loop(node, read, names)
        case Let():
            value = labels_of(node.value, read, names)
            return labels_of(node.body, read, {**names, node.name: value})
        case Call(function="_?_:_", args=(_, yes, no)):
            return joined((labels_of(yes, read, names), labels_of(no, read, names)))
        case Call() if not _gives_text(node):
            return CLEAN
    return joined(labels_of(child, read, names) for child in children(node))


def fields_of(node: Node, read: Reading) -> Mapping[str, Trails]:
    """Return the labels of each field of an object that is written out, {} for other values."""
    if not isinstance(node, MapOf):
        return {}
    return {
        str(key.value): labels_of(value, read)
        for key, value in node.entries
        if isinstance(key, Const)
    }


def _loop(node: Loop, read: Reading, names: Mapping[str, Trails]) -> Trails:
    if node.kind in {"all", "exists", "one"}:
        return CLEAN
    over = labels_of(node.over, read, names)
    if node.item is None:
        return over
    return labels_of(node.item, read, {**names, node.var: over})


def _gives_text(node: Call) -> bool:
    """Tell whether a call can give text of its operands; what isn't known may."""
    if node.function in _LOGIC:
        return False
    overloads = signatures().get(f".{node.function}" if node.on is not None else node.function)
    return overloads is None or any(overload.gives in _TEXTS for overload in overloads)
