"""What a check found, before its rule makes a finding of it."""

from __future__ import annotations

from dagflow.core.findings import Fix, Related, Severity
from dagflow.core.records import dataclass
from dagflow.core.source import Span
from dagflow.core.values import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """What a check yields: a place and a message. The rule adds the rest.

    `step` is the static path of the step it is about ("" for the workflow): an error there keeps
    later stages from speaking of that step. `path` is the JSON Pointer of the place where only the
    parser can tell it; else the rule finds it by the span. `flow` is the way that leads to the
    place, step by step. `severity` replaces the rule's for this
    one.
    """

    span: Span
    message: str
    path: str | None = None
    step: str = ""
    related: tuple[Related, ...] = ()
    flow: tuple[Related, ...] = ()
    witness: JsonValue = None
    help: str = ""
    fixes: tuple[Fix, ...] = ()
    severity: Severity | None = None
