"""The check of one expression: what `dagflow check` knows of it, and what a plan stores."""

from __future__ import annotations

from dataclasses import field

from dagflow.core.plan import Expression
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, Schema
from dagflow.expr.ast import Node, to_json
from dagflow.expr.constants import MISSING, Constant, fold
from dagflow.expr.cost import Cost, cost_of, refusal
from dagflow.expr.infer import Inference, ReadPath
from dagflow.expr.problem import Problem, Refused
from dagflow.expr.scope import Scope
from dagflow.expr.syntax import parse
from dagflow.expr.types import NUMERIC, Type, closed, of_schema

_NOT_JSON = {
    "optional": "open it with `.orValue(…)`",
    "bytes": "write it as text with `base64.encode(…)`",
    "type": "a type can only be compared",
}


@dataclass(frozen=True, slots=True)
class Checked:
    """An expression without a mistake.

    `ast` is the canonical AST after lowering, the same for the same text and scope; `result` the
    schema of its value; `constant` its value where it has only one, else `MISSING`; `warnings`
    are operations that may fail for some values (`partial-operation`); `cost` bounds what
    evaluating it makes, as polynomials of the sizes of what it reads. `node` is `ast` unwritten.
    """

    text: str
    ast: JsonObject
    result: Schema
    reads: tuple[ReadPath, ...]
    constant: Constant = MISSING
    warnings: tuple[Problem, ...] = ()
    cost: Cost = Cost()
    node: Node | None = field(default=None, compare=False, repr=False)

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """Return the paths that an activation must hold, for `plan.Expression.reads`."""
        return tuple(dict.fromkeys(read.path for read in self.reads))

    def expression(self, line: int = 1, column: int = 1) -> Expression:
        """Return what a plan stores; the place is that of the text's first character."""
        return Expression(self.text, self.ast, self.paths, line, column)


def check(
    text: str, scope: Scope, *, expected: Schema | None = None
) -> Checked | tuple[Problem, ...]:
    """Check an expression; `expected` is the schema whose kinds the value must have.

    Only kinds are compared with `expected` (a guard is a boolean, a list is looped over);
    whether a value fits a whole schema is `fits`'s question.
    """
    try:
        node = parse(text)
    except Refused as refused:
        return (refused.problem,)
    walk = Inference(text, scope)
    lowered, found = walk.visit(node)
    if not walk.problems:
        _check_result(walk, node, found, expected)
    if walk.problems:
        return _sorted(walk.problems)
    cost = cost_of(lowered, is_number=bool(found.kinds) and found.kinds <= NUMERIC)
    if (problem := refusal(text, cost)) is not None:
        return (problem,)
    return Checked(
        text,
        to_json(lowered),
        closed(found),
        tuple(sorted(walk.reads, key=lambda read: (read.offset, read.path))),
        fold(lowered),
        _sorted(walk.warnings),
        cost,
        lowered,
    )


def _sorted(problems: dict[Problem, None]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.offset, problem.message)))


def _check_result(walk: Inference, node: Node, found: Type, expected: Schema | None) -> None:
    for kind, help_ in _NOT_JSON.items():
        if kind in found.kinds:
            message = f"{walk.shown(node)} is {found.words()}, which JSON can't say"
            walk.fail("expression-type", node, message, help_)
            return
    wanted = of_schema(True if expected is None else expected)
    if not found.is_dyn and not wanted.is_dyn:
        _check_kinds(walk, node, found, wanted)


def _check_kinds(walk: Inference, node: Node, found: Type, wanted: Type) -> None:
    written = frozenset("string" if k in {"timestamp", "duration"} else k for k in found.kinds)
    common = written & wanted.kinds or (written & NUMERIC and wanted.kinds & NUMERIC)
    if not common:
        message = f"{walk.shown(node)} is {found.words()}, not {wanted.words()}"
        walk.fail("expression-type", node, message)
    elif found.nullable and not wanted.nullable:
        walk.solid(node, found)
