"""What an expression is evaluated over: the values at the paths it reads, and no others."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from dagflow.core.values import INT64_MAX, INT64_MIN, MAX_DEPTH, JsonObject, JsonValue

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


def picked(trie: Trie, full: Mapping[str, JsonValue], ends: list[JsonValue]) -> JsonObject:
    """Return the values at the trie's paths, and add each to `ends`; what is absent stays so."""
    found: JsonObject = {}
    for name, below in trie.items():
        if name in full:
            value = full[name]
            if below is not None and isinstance(value, dict):
                found[name] = picked(below, value, ends)
            else:
                found[name] = value
                ends.append(value)
    return found


def restrict(
    reads: Iterable[tuple[str, ...]], full: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Return `full` without what lies outside the paths read.

    Objects along the paths are new, values at their ends are shared; a path that leads nowhere
    is left out, so absence looks the same before and after.
    """
    return picked(trie_of(reads), full, [])


def is_clean(value: JsonValue, depth: int = 1) -> bool:
    """Tell quickly whether `check_value` would accept the value; no is only a maybe."""
    kind = type(value)
    if kind is str:
        return value.isascii() and "\0" not in value  # type: ignore[union-attr, operator]  # a str here
    if kind is bool or value is None:
        return True
    if kind is int:
        return INT64_MIN <= value <= INT64_MAX  # type: ignore[operator]  # an int here
    if kind is float:
        return -_LARGEST <= value <= _LARGEST  # type: ignore[operator]  # a float here
    if depth > MAX_DEPTH:
        return False
    below = depth + 1
    if kind is dict:
        for name, item in value.items():  # type: ignore[union-attr]  # a dict here
            if type(name) is not str or not name.isascii() or "\0" in name:
                return False
            if not is_clean(item, below):
                return False
        return True
    return kind is list and all(is_clean(item, below) for item in value)  # type: ignore[union-attr]


_LARGEST = sys.float_info.max
