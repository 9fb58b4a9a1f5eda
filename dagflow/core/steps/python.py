"""`python`: a function in a sandbox, written in place or named as `module:function`."""

from __future__ import annotations

from datetime import timedelta

from dagflow.core.records import dataclass
from dagflow.core.shape import Bool, Str, shaped
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.steps.kind import StepKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """`python: |` with a `def main(…)`, or `python: module:function`; `with` are its arguments."""

    code: At[str] = shaped(Str(), "source with a function `main`, or `module:function`")
    network: At[bool] | None = shaped(Bool(), "may use the network", default=None)
    span: Span = NOWHERE


KIND = StepKind(
    "python", Python, "code", "idempotent", "act", timedelta(seconds=60), sandboxed=True
)
