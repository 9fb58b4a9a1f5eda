"""Expressions: checked against JSON Schemas, stored as an AST of our own, run over plain values.

Here is the compiler's side: `check` and `parse_template`, and `fits`, which answers whether one
schema's values fit another. The executor's is in `expr.evaluate` and `expr.render`, which load what
runs CEL. `docs/expressions.md` is the author's reference.
"""

from __future__ import annotations

from dagflow.expr.assign import Verdict, Witness, fits, misfit, witness
from dagflow.expr.check import Checked, check
from dagflow.expr.constants import MISSING
from dagflow.expr.infer import ReadPath
from dagflow.expr.problem import Problem, ProblemKind
from dagflow.expr.schema import Violation, explain, fill_defaults, normalised, unusable, validate
from dagflow.expr.scope import Scope, step_view
from dagflow.expr.template import Segment, parse_template

__all__ = [
    "MISSING",
    "Checked",
    "Problem",
    "ProblemKind",
    "ReadPath",
    "Scope",
    "Segment",
    "Verdict",
    "Violation",
    "Witness",
    "check",
    "explain",
    "fill_defaults",
    "fits",
    "misfit",
    "normalised",
    "parse_template",
    "step_view",
    "unusable",
    "validate",
    "witness",
]
