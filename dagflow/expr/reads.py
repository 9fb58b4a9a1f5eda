"""The paths that an AST reads, without regard to types: what its activation must hold."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.expr.ast import Let, Loop, Node, Path, Select, chain_of, children
from dagflow.expr.signatures import TYPE_NAMES


def paths_of(node: Node) -> tuple[Path, ...]:
    """Return every longest constant path, each once."""
    return tuple(dict.fromkeys(_paths(node, frozenset())))


def _paths(node: Node, bound: frozenset[str]) -> Iterator[Path]:
    tested = node.field if isinstance(node, Select) and node.test else None
    chain = chain_of(node.of) if isinstance(node, Select) and node.test else chain_of(node)
    if chain is not None:
        if chain.path[0] not in bound and (len(chain.path) > 1 or chain.path[0] not in TYPE_NAMES):
            yield (*chain.path, tested) if tested is not None else chain.path
        return
    if isinstance(node, Loop):
        yield from _paths(node.over, bound)
        for part in (node.test, node.item):
            yield from _paths(part, bound | {node.var}) if part is not None else ()
    elif isinstance(node, Let):
        yield from _paths(node.value, bound)
        yield from _paths(node.body, bound | {node.name})
    else:
        for child in children(node):
            yield from _paths(child, bound)
