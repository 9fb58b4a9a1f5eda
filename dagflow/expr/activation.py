"""What an expression is evaluated over: the values at the paths it reads, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from dagflow.core.values import JsonObject, JsonValue

Trie: TypeAlias = "dict[str, Trie | None]"
"""Paths by their names; None takes the whole value."""


def trie_of(paths: Iterable[tuple[str, ...]]) -> Trie:
    """Return the paths as a trie; a path takes in every longer one."""
    root: Trie = {}
    for path in paths:
        _insert(root, path)
    return root


def _insert(node: Trie, path: tuple[str, ...]) -> None:
    for name in path[:-1]:
        if name in node and node[name] is None:
            return
        below = node.setdefault(name, {})
        assert below is not None
        node = below
    node[path[-1]] = None


def picked(trie: Trie, full: Mapping[str, JsonValue]) -> JsonObject:
    """Return the values at the trie's paths; what is absent stays absent."""
    found: JsonObject = {}
    for name, below in trie.items():
        if name in full:
            value = full[name]
            found[name] = (
                picked(below, value) if below is not None and isinstance(value, dict) else value
            )
    return found


def restrict(
    reads: Iterable[tuple[str, ...]], full: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Return `full` without what lies outside the paths read.

    Objects along the paths are new, values at their ends are shared; a path that leads nowhere
    is left out, so absence looks the same before and after.
    """
    return picked(trie_of(reads), full)
