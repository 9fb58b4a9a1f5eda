"""Which steps can neither fail nor be noticed: pure ones whose expression always has a value."""

from __future__ import annotations

from typing import Final

from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.proofs.guards import ast_of
from dagflow.compiler.proofs.schemas import schema_at
from dagflow.core.steps.switch import Switch
from dagflow.core.values import Schema
from dagflow.expr.ast import Call, Const, ListOf, MapOf, Node, path_of

LONGEST: Final = 4_096
"""A text up to this length can't push an output over its limit by itself."""

_EQUALITY: Final = frozenset({"_==_", "_!=_"})
_ORDER: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_LOGIC: Final = frozenset({"_&&_", "_||_", "!_"})


def is_total(facts: StepFacts, model: Model) -> bool:
    """Tell whether the step surely succeeds, changes nothing, and holds nothing up."""
    step = facts.step
    asks_more = (
        step.when, step.with_, step.input, step.output, step.timeout, step.deadline,
        step.compensate, step.cache, step.quota,
    )  # fmt: skip
    if facts.effects != "pure" or facts.broken or any(part is not None for part in asks_more):
        return False
    if facts.kind == "transform":
        node = ast_of(facts, "expression")
        return node is not None and has_value(node, model)
    if isinstance(step.body, Switch):
        nodes = [
            ast_of(facts, f"branches.{index}")
            for index, branch in enumerate(step.body.branches)
            if branch.when is not None
        ]
        return all(node is not None and _is_condition(node, model) for node in nodes)
    return False


def has_value(node: Node, model: Model) -> bool:
    """Tell whether an expression has a value, of bounded size, whatever the run's inputs are."""
    match node:
        case Const():
            return True
        case ListOf(items=items, optional=()):
            return all(has_value(item, model) for item in items)
        case MapOf(entries=entries, optional=()):
            keys = [key.value for key, _ in entries if isinstance(key, Const)]
            distinct = len(set(keys)) == len(entries)
            return distinct and all(has_value(value, model) for _, value in entries)
        case Call(function="_?_:_", args=(test, yes, no)):
            return _is_condition(test, model) and has_value(yes, model) and has_value(no, model)
    return _is_condition(node, model) or _is_bounded(_schema(node, model))


def _is_condition(node: Node, model: Model) -> bool:
    match node:
        case Const(kind="bool"):
            return True
        case Call(function=name, args=args) if name in _LOGIC:
            return all(_is_condition(part, model) for part in args)
        case Call(function=name, args=args) if name in _EQUALITY:
            return all(has_value(part, model) for part in args)
        case Call(function=name, args=(left, right)) if name in _ORDER:
            kinds = {_kind(left, model), _kind(right, model)}
            return len(kinds) == 1 and kinds <= {"integer", "number", "string"}
    return _kind(node, model) == "boolean"


def _kind(node: Node, model: Model) -> str:
    """Return the JSON type of an expression that always has a value, "" for others."""
    match node:
        case Const(kind="int"):
            return "integer"
        case Const(kind="double"):
            return "number"
        case Const(kind="string"):
            return "string"
        case Call(function="double", args=(inner,)):
            return "number" if _kind(inner, model) in {"integer", "number"} else ""
    schema = _schema(node, model)
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, str) else ""


def _schema(node: Node, model: Model) -> Schema | None:
    """Return the schema of an input that is always there, else None."""
    path = path_of(node)
    if path is None or path[0] != "inputs":
        return None
    return schema_at(path, model, None, present=True)


def _is_bounded(schema: Schema | None) -> bool:
    if not isinstance(schema, dict):
        return False
    longest = schema.get("maxLength")
    if schema.get("type") == "string":
        return isinstance(longest, int) and longest <= LONGEST
    return schema.get("type") in {"integer", "number", "boolean", "null"} or "const" in schema
