"""Finding the smallest sub-expression that fails by itself."""

from __future__ import annotations

from collections.abc import Mapping

from dagflow.core.records import dataclass
from dagflow.core.values import JsonValue
from dagflow.expr.ast import Call, Let, Loop, Node, Select, Var, children, step_of
from dagflow.expr.program import FailedError, fails, run

_MAX_TURNS = 200


@dataclass(frozen=True, slots=True)
class Blamed:
    """A sub-expression, and why it fails."""

    node: Node
    words: str


def smallest(node: Node, data: Mapping[str, JsonValue], words: str) -> Blamed:
    """Return the deepest sub-expression that fails; `words` say why `node` does."""
    for part, bound in _parts(node, data):
        reason = fails(part, {**data, **bound})
        if reason is not None:
            return smallest(part, {**data, **bound}, reason)
    return Blamed(node, words)


def _parts(node: Node, data: Mapping[str, JsonValue]) -> list[tuple[Node, Mapping[str, JsonValue]]]:
    """Return the sub-expressions that were evaluated, with the names bound in them."""
    if isinstance(node, Call) and node.function == "_?_:_":
        return [(part, {}) for part in _taken(node, data)]
    if isinstance(node, Loop):
        return [(node.over, {}), *_turns(node, data)]
    if isinstance(node, Let):
        value = _value(node.value, data)
        return [(node.value, {}), *([(node.body, {node.name: value[0]})] if value else [])]
    if isinstance(node, Select) and isinstance(node.of, Var):
        return []
    return [(part, {}) for part in children(node)]


def _taken(node: Call, data: Mapping[str, JsonValue]) -> tuple[Node, ...]:
    test, yes, no = node.args
    value = _value(test, data)
    return (test,) if value is None else (test, yes if value[0] else no)


def _turns(node: Loop, data: Mapping[str, JsonValue]) -> list[tuple[Node, Mapping[str, JsonValue]]]:
    value = _value(node.over, data)
    items = value[0] if value and isinstance(value[0], list | dict) else []
    found: list[tuple[Node, Mapping[str, JsonValue]]] = []
    for item in list(items)[:_MAX_TURNS]:
        bound = {node.var: item}
        test = None if node.test is None else _value(node.test, {**data, **bound})
        if node.test is not None:
            found.append((node.test, bound))
        if node.item is not None and (node.test is None or (test and test[0] is True)):
            found.append((node.item, bound))
    return found


def _value(node: Node, data: Mapping[str, JsonValue]) -> tuple[JsonValue] | None:
    try:
        return (run(node, data),)
    except FailedError:
        return None


def prefix(node: Node, names: int) -> Node:
    """Return the part of a plain path that ends with its name number `names`, from 0."""
    parts = [node]
    while (step := step_of(parts[-1])) is not None:
        parts.append(step[0])
    found = parts[::-1][names]
    if isinstance(found, Var) and len(parts) > 1:  # a stored variable has no place of its own
        start = parts[-2].at[0]
        return Var(found.name, (start, start + len(found.name)))
    return found
