"""The canonical AST of an expression: what a plan stores, what runs, what the analyses read.

As JSON, a node is an object with one key that names it, and `at: [start, end]`, the place of its
text in code points (left out of what does not fail by itself: constants and variables):

    {"null": null} {"bool": true} {"int": 5} {"uint": 5} {"double": 0.5} {"string": "x"}
    {"bytes": "eA=="}                                   base64
    {"var": "steps"}                                    a variable, or a type's name (int, list …)
    {"select": "output", "of": node}                    x.output, x["output"]
    {"has": "output", "of": node}                       has(x.output)
    {"call": "_>_", "args": [node, …]}                  operators and functions
    {"call": "startsWith", "on": node, "args": […]}     methods
    {"list": [node, …], "optional": [1]}                [a, ?b]
    {"map": [[key, value], …], "optional": [0]}         {?"k": v}
    {"loop": "map", "as": "x", "over": node, "test": node, "item": node}
                       all, exists, one: test; filter: test; map: item, and test in its long form
    {"let": "x", "is": node, "in": node}                what optMap and optFlatMap expand to

Integers are JSON integers within int64; doubles are always written as JSON floats. Operators keep
CEL's names (`_+_`, `_&&_`, `_?_:_`, `@in`, `_[_]`, `_?._`). Lowering adds two calls: `double`
around an operand beside a number, and `@order` around what `map` and `filter` loop over where it
may be an object (its keys, sorted). The same text in the same scope gives the same bytes.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from dagflow.core.errors import BugError
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue

At: TypeAlias = tuple[int, int]
Path: TypeAlias = tuple[str, ...]
LoopKind: TypeAlias = Literal["all", "exists", "one", "filter", "map"]
ConstKind: TypeAlias = Literal["null", "bool", "int", "uint", "double", "string", "bytes"]
CONST_KINDS: tuple[ConstKind, ...] = ("null", "bool", "int", "uint", "double", "string", "bytes")


@dataclass(frozen=True, slots=True)
class Const:
    """A literal."""

    kind: ConstKind
    value: bool | int | float | str | bytes | None
    at: At = (0, 0)


@dataclass(frozen=True, slots=True)
class Var:
    """A variable of the scope or of a loop, or the name of a type."""

    name: str
    at: At = (0, 0)


@dataclass(frozen=True, slots=True)
class Select:
    """A field of an object; with `test`, whether it is there."""

    of: Node
    field: str
    test: bool = False
    at: At = (0, 0)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator, a function or (with `on`) a method."""

    function: str
    args: tuple[Node, ...]
    on: Node | None = None
    at: At = (0, 0)

    @property
    def operands(self) -> tuple[Node, ...]:
        """Return the receiver, if any, and the arguments."""
        return self.args if self.on is None else (self.on, *self.args)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list literal; `optional` are the indices of `?` elements."""

    items: tuple[Node, ...]
    optional: tuple[int, ...] = ()
    at: At = (0, 0)


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map literal; `optional` are the indices of `?` entries."""

    entries: tuple[tuple[Node, Node], ...]
    optional: tuple[int, ...] = ()
    at: At = (0, 0)


@dataclass(frozen=True, slots=True)
class Loop:
    """A macro over a list, or over the keys of a map."""

    kind: LoopKind
    var: str
    over: Node
    test: Node | None = None
    item: Node | None = None
    at: At = (0, 0)


@dataclass(frozen=True, slots=True)
class Let:
    """A name for a value inside `body`."""

    name: str
    value: Node
    body: Node
    at: At = (0, 0)


Node: TypeAlias = Const | Var | Select | Call | ListOf | MapOf | Loop | Let


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct sub-expressions, in the order of evaluation."""
    found = _CHILDREN.get(type(node))
    return found(node) if found else ()


_CHILDREN: dict[type, Callable[..., tuple[Node, ...]]] = {
    Select: lambda node: (node.of,),
    Call: lambda node: node.operands,
    ListOf: lambda node: node.items,
    MapOf: lambda node: tuple(part for entry in node.entries for part in entry),
    Loop: lambda node: tuple(p for p in (node.over, node.test, node.item) if p is not None),
    Let: lambda node: (node.value, node.body),
}


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and everything below it, parents first."""
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(reversed(children(item)))


def nesting(node: Node) -> int:
    """Return how many levels deep the node is."""
    deepest, level = 0, [node]
    while level:
        deepest += 1
        level = [child for item in level for child in children(item)]
    return deepest


def step_of(node: Node) -> tuple[Node, str, bool] | None:
    """Return `(object, field, optional)` where the node reads a field named in the text."""
    if isinstance(node, Select):
        return None if node.test else (node.of, node.field, False)
    if isinstance(node, Call) and node.function in _STEPS:
        name = node.args[1]
        if isinstance(name, Const) and isinstance(name.value, str):
            return node.args[0], name.value, _STEPS[node.function]
    return None


_STEPS = {"_[_]": False, "_?._": True, "_[?_]": True}


def path_of(node: Node) -> tuple[str, ...] | None:
    """Return the path of a plain read (`steps.a["b"]`), from its variable, or None."""
    path: list[str] = []
    while not isinstance(node, Var):
        step = step_of(node)
        if step is None or step[2]:
            return None
        node = step[0]
        path.append(step[1])
    return (node.name, *reversed(path))


@dataclass(frozen=True, slots=True)
class Chain:
    """A read with constant names: its path, and at which names a `?` stands."""

    path: Path
    optional: tuple[int, ...]


def chain_of(node: Node) -> Chain | None:
    """Return the chain that `node` is as a whole, `?` allowed, or None."""
    names: list[str] = []
    marks: list[bool] = []
    while not isinstance(node, Var):
        step = step_of(node)
        if step is None:
            return None
        node, name, mark = step
        names.append(name)
        marks.append(mark)
    path = (node.name, *reversed(names))
    found = tuple(i for i, mark in enumerate(reversed(marks), start=1) if mark)
    return Chain(path, found)


def to_json(node: Node) -> JsonObject:
    """Write the node as JSON; equal nodes give equal JSON."""
    if isinstance(node, Const):
        value = node.value
        return {node.kind: base64.b64encode(value).decode() if isinstance(value, bytes) else value}
    if isinstance(node, Var):
        return {"var": node.name}
    written = _compound(node)
    written["at"] = list(node.at)
    return written


def without_places(value: JsonValue) -> JsonValue:
    """Return an AST as JSON without the places of its parts, so that equal ones are equal."""
    if isinstance(value, dict):
        return {key: without_places(item) for key, item in value.items() if key != "at"}
    if isinstance(value, list):
        return [without_places(item) for item in value]
    return value


def _compound(node: Select | Call | ListOf | MapOf | Loop | Let) -> JsonObject:
    match node:
        case Select():
            return {"has" if node.test else "select": node.field, "of": to_json(node.of)}
        case Call():
            called: JsonObject = {"call": node.function, "args": [to_json(a) for a in node.args]}
            return called if node.on is None else {**called, "on": to_json(node.on)}
        case ListOf():
            return _optionals({"list": [to_json(item) for item in node.items]}, node.optional)
        case MapOf():
            entries: list[JsonValue] = [[to_json(k), to_json(v)] for k, v in node.entries]
            return _optionals({"map": entries}, node.optional)
        case Loop():
            loop: JsonObject = {"loop": node.kind, "as": node.var, "over": to_json(node.over)}
            parts = {"test": node.test, "item": node.item}
            return loop | {k: to_json(part) for k, part in parts.items() if part is not None}
        case Let():
            return {"let": node.name, "is": to_json(node.value), "in": to_json(node.body)}


def _optionals(written: JsonObject, indices: tuple[int, ...]) -> JsonObject:
    return {**written, "optional": list(indices)} if indices else written


def from_json(value: JsonValue) -> Node:
    """Read a node back; raises `BugError` on anything `to_json` doesn't write."""
    try:
        return _read(value)
    except RecursionError:
        raise BugError("an expression's AST is nested too deep") from None
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise BugError(f"not an expression's AST: {error!r}") from error


def _read(value: JsonValue) -> Node:
    obj = _object(value)
    for kind in CONST_KINDS:
        if kind in obj:
            return _const(kind, obj[kind])
    if "var" in obj:
        return Var(_text(obj["var"]))
    at = _place(obj.get("at"))
    if "select" in obj or "has" in obj:
        test = "has" in obj
        return Select(_read(obj["of"]), _text(obj["has" if test else "select"]), test, at)
    if "call" in obj:
        on = _read(obj["on"]) if "on" in obj else None
        return Call(_text(obj["call"]), _nodes(obj["args"]), on, at)
    if "list" in obj:
        return ListOf(_nodes(obj["list"]), _indices(obj), at)
    if "map" in obj:
        entries = tuple((k, v) for k, v in (_nodes(entry) for entry in _list(obj["map"])))
        return MapOf(entries, _indices(obj), at)
    if "loop" in obj:
        test_, item = (_read(obj[k]) if k in obj else None for k in ("test", "item"))
        kind_ = _loop_kind(obj["loop"])
        return Loop(kind_, _text(obj["as"]), _read(obj["over"]), test_, item, at)
    return Let(_text(obj["let"]), _read(obj["is"]), _read(obj["in"]), at)


def _const(kind: ConstKind, value: JsonValue) -> Const:
    if kind == "bytes":
        return Const(kind, base64.b64decode(_text(value)))
    if isinstance(value, list | dict):
        raise TypeError("a constant that is not a scalar")
    return Const(kind, float(value) if kind == "double" and value is not None else value)


def _loop_kind(value: JsonValue) -> LoopKind:
    kinds: tuple[LoopKind, ...] = ("all", "exists", "one", "filter", "map")
    return next(kind for kind in kinds if kind == value)


def _nodes(value: JsonValue) -> tuple[Node, ...]:
    return tuple(_read(item) for item in _list(value))


def _indices(obj: JsonObject) -> tuple[int, ...]:
    return tuple(int(str(index)) for index in _list(obj.get("optional", [])))


def _place(value: JsonValue) -> At:
    start, end = (int(str(offset)) for offset in _list(value)) if value is not None else (0, 0)
    return start, end


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, not {type(value).__name__}")
    return value


def _list(value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, not {type(value).__name__}")
    return value


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, not {type(value).__name__}")
    return value
