"""Evaluation of a plan's expressions over plain JSON values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

from dagflow.core.errors import BugError, StepError, ValueRefusedError
from dagflow.core.plan import Expression
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, check_value, digest
from dagflow.expr import blame
from dagflow.expr.activation import Trie, is_clean, picked, trie_of
from dagflow.expr.ast import Node, Path, chain_of, from_json, nesting
from dagflow.expr.cost import Cost, cost_of, exceeded
from dagflow.expr.library import Program
from dagflow.expr.program import FailedError, program_of, run_program
from dagflow.expr.reads import paths_of
from dagflow.expr.sizes import Symbol, measured

_KEPT = 4096
_MAX_NESTING = 128  # what the parser lets through is about half as deep


class ExpressionError(StepError):
    """An expression could not be evaluated (class `expression`).

    `offset` and `length` are the place, in code points of `text`, of the smallest
    sub-expression that fails by itself; `reason` says why it does.
    """

    def __init__(self, reason: str, text: str, offset: int, length: int) -> None:
        part = " ".join(text[offset : offset + length].split())
        where = f"`{part if len(part) <= 80 else part[:79] + '…'}`: " if part else ""  # noqa: PLR2004
        super().__init__("expression", f"{where}{reason}")
        self.reason = reason
        self.text = text
        self.offset = offset
        self.length = length


@dataclass(frozen=True, slots=True)
class _Ready:
    """What is made of an AST once: its node, and what its evaluation needs."""

    source: JsonObject
    node: Node
    path: Path | None
    reads: Trie
    cost: Cost
    program: Program | None
    depth: int


_by_digest: OrderedDict[str, _Ready] = OrderedDict()
_by_identity: OrderedDict[int, _Ready] = OrderedDict()


def evaluate(expression: Expression, activation: Mapping[str, JsonValue]) -> JsonValue:
    """Return the value of an expression over the activation.

    Only the paths it reads are looked at. They must be JSON values that `check_value` accepts,
    and small enough for the bounds of `cost`; both are checked first, and beyond them nothing is
    evaluated. An expression that is only a path gives the value that lies there, digit for
    digit. Raises `ExpressionError` on every failure.
    """
    ready = _ready(expression.ast)
    if ready.path is not None:
        return _at(expression, ready, activation)
    ends: list[JsonValue] = []
    data = picked(ready.reads, activation, ends)
    for value in ends:
        if not is_clean(value, ready.depth):
            _refuse(expression, ready, data)
    if not ready.cost.free:
        _bound(expression, ready, data)
    try:
        return run_program(ready.program or program_of(ready.node), data)
    except FailedError as failure:
        found = blame.smallest(ready.node, data, failure.words)
        raise _error(expression, found.node, found.words) from None


def evaluate_guard(expression: Expression, activation: Mapping[str, JsonValue]) -> bool:
    """Return the truth of a guard; raises `ExpressionError` where it fails or isn't a boolean."""
    value = evaluate(expression, activation)
    if isinstance(value, bool):
        return value
    node = _ready(expression.ast).node
    raise _error(expression, node, f"the guard is {_kind(value)}, not true or false")


def _ready(ast: JsonObject) -> _Ready:
    """Return what was made of this AST, looked up by the object first, then by its digest."""
    known = _by_identity.get(id(ast))
    if known is not None and known.source is ast:
        return known
    try:
        key = digest(ast)
    except RecursionError:
        raise BugError("an expression's AST is nested too deep") from None
    found = _by_digest.get(key) or _made(ast)
    ready = replace(found, source=ast)
    _keep(_by_digest, key, found)
    _keep(_by_identity, id(ast), ready)
    return ready


def _keep(cache: OrderedDict, key: object, value: _Ready) -> None:  # type: ignore[type-arg]
    cache[key] = value
    cache.move_to_end(key)
    while len(cache) > _KEPT:
        cache.popitem(last=False)


def _made(ast: JsonObject) -> _Ready:
    node = from_json(ast)
    if nesting(node) > _MAX_NESTING:
        raise BugError(f"an expression's AST is nested deeper than {_MAX_NESTING} levels")
    chain = chain_of(node)
    path = chain.path if chain is not None and not chain.optional else None
    program = program_of(node) if path is None else None
    paths = paths_of(node)
    depth = 1 + max((len(read) for read in paths), default=0)
    return _Ready(ast, node, path, trie_of(paths), cost_of(node), program, depth)


def _at(expression: Expression, ready: _Ready, activation: Mapping[str, JsonValue]) -> JsonValue:
    """Walk a plain path; the library has no part in it."""
    value: JsonValue | Mapping[str, JsonValue] = activation
    assert ready.path is not None
    for depth, name in enumerate(ready.path):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
            continue
        node = blame.prefix(ready.node, depth)
        if not isinstance(value, Mapping):
            raise _error(expression, node, f"{_kind(value)} has no field {name!r}")
        missing = f"{name!r} has no value here" if depth == 0 else f"there is no {name!r} in it"
        raise _error(expression, node, missing)
    return value  # type: ignore[return-value]  # a path has two names or ends in a JSON value


def _bound(expression: Expression, ready: _Ready, data: JsonObject) -> None:
    sizes: dict[Symbol, int] = {}
    for path in ready.cost.paths:
        sizes |= measured(path, _lookup(path, data))
    words = exceeded(ready.cost, sizes)
    if words is not None:
        raise _error(expression, ready.node, f"not evaluated: it takes {words}")


def _refuse(expression: Expression, ready: _Ready, data: JsonObject) -> None:
    try:
        check_value(data)
    except ValueRefusedError as refused:
        reason = f"it reads a value that can't be carried: {refused.reason} at {refused.at}"
        raise _error(expression, ready.node, reason) from None


def _lookup(path: Path, data: JsonValue) -> JsonValue:
    for name in path:
        if not isinstance(data, dict) or name not in data:
            return None
        data = data[name]
    return data


def _error(expression: Expression, node: Node, words: str) -> ExpressionError:
    start, end = node.at
    if end == 0:
        end = len(expression.text)
    return ExpressionError(words, expression.text, start, end - start)


def _kind(value: object) -> str:
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "null")


_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (int, "an integer"),
    (float, "a number"),
    (str, "a string"),
    (list, "a list"),
    (dict, "an object"),
)
