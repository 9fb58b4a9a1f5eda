"""Expressions that read a step which was merged into another read that other one instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, TypeAlias

from dagflow.compiler.model import Model
from dagflow.compiler.names.mentions import mentions
from dagflow.core.plan import (
    ErrorHandler,
    Evaluated,
    Expression,
    Joined,
    Keyed,
    Listed,
    Literal_,
    PlanStep,
    Value,
    expressions_in,
)
from dagflow.core.values import JsonObject, JsonValue

Names: TypeAlias = Mapping[str, str]
"""The names of steps that are gone, each with the name of the step that is read instead."""

NO_NAMES: Final[Names] = MappingProxyType({})

_NODES: Final = frozenset({"of", "args", "on", "list", "map", "over", "test", "item", "is", "in"})
"""The keys of an AST under which nodes stand (`dagflow.expr.ast`)."""
_ROOT: Final[JsonValue] = {"var": "steps"}
_STEPS: Final = frozenset({"steps"})
_FIELDS: Final = ("select", "has")
_INDICES: Final = frozenset({"_[_]", "_?._", "_[?_]"})
_OF_INNER: Final = frozenset({"collect", "until"})
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def names_in(model: Model, into: Mapping[str, str], block: str) -> Names:
    """Return the names that mean another step inside a block.

    `into` has the static path that each merged step's path leads to. A step of an inner block
    hides one of the same name around it.
    """
    if not into:
        return NO_NAMES
    around: list[str] = []
    here: str | None = block
    while here is not None:
        around.append(here)
        here = "" if here == "finally" else model.blocks[here].parent
    found: dict[str, str] = {}
    for path in reversed(around):
        for facts in model.blocks[path].steps:
            found.pop(facts.name, None)
            if facts.path in into:
                found[facts.name] = into[facts.path].rpartition(".")[2]
    return found


def in_ast(value: JsonValue, names: Names) -> JsonValue:
    """Return an AST as JSON with the names replaced."""
    if isinstance(value, list):
        return [in_ast(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    hidden = value.get("as") == "steps" or value.get("let") == "steps"
    if hidden:  # a variable of the expression's own, in all but what it is made of
        made = ("over", "is")
        return {k: in_ast(item, names) if k in made else item for k, item in value.items()}
    inner = {k: in_ast(v, names) if k in _NODES else v for k, v in value.items()}
    return _named(inner, names)


def _named(node: JsonObject, names: Names) -> JsonObject:
    if node.get("of") == _ROOT:
        return {k: _other(v, names) if k in _FIELDS else v for k, v in node.items()}
    args = node.get("args")
    if node.get("call") in _INDICES and isinstance(args, list) and args[0] == _ROOT:
        index = args[1]
        if isinstance(index, dict) and "string" in index:
            return {**node, "args": [_ROOT, {"string": _other(index["string"], names)}]}
    return node


def _other(name: JsonValue, names: Names) -> JsonValue:
    return names.get(name, name) if isinstance(name, str) else name


def in_expression(expression: Expression, names: Names) -> Expression:
    """Return an expression that reads the other steps; its text stays what the author wrote."""
    if not _touches(expression, names):
        return expression
    ast = in_ast(expression.ast, names)
    assert isinstance(ast, dict)
    reads = tuple(dict.fromkeys(_read(read, names) for read in expression.reads))
    return replace(expression, ast=ast, reads=reads)


def _is_renamed(read: tuple[str, ...], names: Names) -> bool:
    return len(read) > 1 and read[0] == "steps" and read[1] in names


def _read(read: tuple[str, ...], names: Names) -> tuple[str, ...]:
    return ("steps", names[read[1]], *read[2:]) if _is_renamed(read, names) else read


def in_value(value: Value, names: Names) -> Value:
    """Return a template whose expressions read the other steps."""
    match value:
        case Literal_():
            return value
        case Evaluated():
            return Evaluated(in_expression(value.expression, names))
        case Joined():
            return Joined(
                tuple(p if isinstance(p, str) else in_expression(p, names) for p in value.parts)
            )
        case Listed():
            return Listed(tuple(in_value(item, names) for item in value.items))
        case Keyed():
            return Keyed(tuple((key, in_value(item, names)) for key, item in value.entries))


def in_step(step: PlanStep, names: Names, inner: Names) -> PlanStep:
    """Return a step of the plan that reads the other steps; steps inside it stay as they are.

    `inner` are the names as the steps inside it see them, which `collect` and `until` do, too.
    """
    every = {**names, **inner} if inner is not names else names
    if not every or not any(_touches(expression, every) for expression in _read_by(step)):
        return step
    return replace(
        step,
        when=None if step.when is None else in_expression(step.when, names),
        arguments=None if step.arguments is None else in_value(step.arguments, names),
        templates={key: in_value(value, names) for key, value in step.templates.items()},
        expressions={
            key: in_expression(expression, inner if key in _OF_INNER else names)
            for key, expression in step.expressions.items()
        },
        branches=tuple(
            replace(b, when=None if b.when is None else in_expression(b.when, names))
            for b in step.branches
        ),
        on_error=tuple(_handler(handler, names) for handler in step.on_error),
    )


def _read_by(step: PlanStep) -> Iterator[Expression]:
    """Yield the expressions of a step."""
    handled = (handler.continue_ for handler in step.on_error)
    for value in (step.arguments, *step.templates.values(), *handled):
        if value is not None:
            yield from expressions_in(value)
    yield from step.expressions.values()
    yield from (when for when in (step.when, *(b.when for b in step.branches)) if when is not None)


def _touches(expression: Expression, names: Names) -> bool:
    return any(_is_renamed(read, names) for read in expression.reads)


def _handler(handler: ErrorHandler, names: Names) -> ErrorHandler:
    if handler.continue_ is None:
        return handler
    return replace(handler, continue_=in_value(handler.continue_, names))


def in_text(text: str, names: Names) -> str:
    """Return the text of an expression that speaks of the other steps."""
    if not names:
        return text
    for found in reversed(tuple(mentions(text, _STEPS))):
        other = names.get(found.name or "")
        if other is not None:
            before, after = text[: found.offset], text[found.offset + found.length :]
            quoted = before[-1:] in {"`", "'", '"'} or _PLAIN.fullmatch(other)
            text = f"{before}{other if quoted else f'`{other}`'}{after}"
    return text
