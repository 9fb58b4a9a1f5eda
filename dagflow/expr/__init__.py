"""Expressions: checked against JSON Schemas, stored as an AST of our own, run over plain values.

`check` and `parse_template` are the compiler's side, `evaluate`, `evaluate_guard` and `render`
the executor's; `fits` answers whether one schema's values fit another. `docs/expressions.md` is
the author's reference.
"""

from __future__ import annotations

from dagflow.expr.activation import restrict
from dagflow.expr.assign import Verdict, Witness, fits, misfit, witness
from dagflow.expr.check import Checked, check
from dagflow.expr.constants import MISSING
from dagflow.expr.evaluate import ExpressionError, evaluate, evaluate_guard
from dagflow.expr.infer import ReadPath
from dagflow.expr.problem import Problem, ProblemKind
from dagflow.expr.render import render
from dagflow.expr.schema import Violation, explain, fill_defaults, normalised, unusable, validate
from dagflow.expr.scope import Scope, step_view
from dagflow.expr.template import Segment, parse_template

__all__ = [
    "MISSING",
    "Checked",
    "ExpressionError",
    "Problem",
    "ProblemKind",
    "ReadPath",
    "Scope",
    "Segment",
    "Verdict",
    "Violation",
    "Witness",
    "check",
    "evaluate",
    "evaluate_guard",
    "explain",
    "fill_defaults",
    "fits",
    "misfit",
    "normalised",
    "parse_template",
    "render",
    "restrict",
    "step_view",
    "unusable",
    "validate",
    "witness",
]
