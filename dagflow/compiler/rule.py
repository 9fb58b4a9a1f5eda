"""What a rule is, and how one is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeAlias

from dagflow.compiler.source.places import pointer_to
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Finding, Severity
from dagflow.core.node import Node
from dagflow.core.records import dataclass
from dagflow.core.site import NOWHERE_YET, Site
from dagflow.core.source import Source, Span
from dagflow.core.tool import ToolCatalog
from dagflow.core.workflow import Workflow

if TYPE_CHECKING:
    from dagflow.compiler.graph.build import Graphs
    from dagflow.compiler.model import Fault, Model
    from dagflow.compiler.planning.prune import Pruned
    from dagflow.compiler.proofs.claims import Claims
    from dagflow.compiler.proofs.labels.steps import Labels
    from dagflow.compiler.proofs.reach import Reach
    from dagflow.core.findings import Bounds
    from dagflow.core.plan import Plan

Stage: TypeAlias = Literal["source", "resolved", "typed", "graph", "plan", "report"]
STAGES: tuple[Stage, ...] = ("source", "resolved", "typed", "graph", "plan", "report")


@dataclass(frozen=True, slots=True)
class Allowance:
    """A comment `# dagflow: allow NAME — reason`; it speaks for its line and the next."""

    name: str
    reason: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """All that a check may look at. What a rule's stage does not promise may be None.

    source: `source`, `parsed` and, where one could be read, `workflow` · resolved and typed:
    `model` too · graph: `graphs`, `reach`, `claims` and `labels` too · plan (only without any
    error so far): `pruned` and `bounds` too · report: what all the others found, in `found`.
    `broken` are the static paths of steps that an earlier stage found an error in; `rules` are
    the severities of all rules by name; `allowances` the comments that allow findings. `before` is
    the version that this one is to follow.
    """

    source: Source
    catalog: ToolCatalog
    parsed: tuple[Finding, ...] = ()
    workflow: Workflow | None = None
    model: Model | None = None
    graphs: Graphs | None = None
    reach: Reach | None = None
    claims: Claims | None = None
    labels: Labels | None = None
    pruned: Pruned | None = None
    bounds: Bounds | None = None
    children: Mapping[str, Plan] = field(default_factory=dict)
    before: Plan | None = None
    site: Site = NOWHERE_YET
    broken: frozenset[str] = frozenset()
    found: tuple[Finding, ...] = ()
    rules: Mapping[str, Severity] = field(default_factory=dict)
    allowances: tuple[Allowance, ...] = ()

    def faults(self, name: str) -> Iterator[Violation]:
        """Yield what resolving and typing met that the rule of this name has to say."""
        for fault in self.model.faults if self.model is not None else ():
            if fault.rule == name:
                yield self.told(fault)

    def told(self, fault: Fault) -> Violation:
        """Return a fault as a violation."""
        return Violation(
            span=fault.span,
            message=fault.message,
            step=fault.step,
            help=fault.help,
            fixes=fault.fixes,
            witness=fault.witness,
            severity=Severity(fault.severity) if fault.severity else None,
        )


Check: TypeAlias = Callable[[Checks], Iterator[Violation]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `doc` is its page; `stage` says what its check needs.

    `later` is what it finds at a stage after that one.
    """

    code: str
    name: str
    severity: Severity
    doc: str
    check: Check
    stage: Stage
    later: tuple[Stage, Check] | None = None

    def checks_at(self, stage: Stage) -> Iterator[Check]:
        """Yield the checks that the rule makes at a stage."""
        if self.stage == stage:
            yield self.check
        if self.later is not None and self.later[0] == stage:
            yield self.later[1]

    def finding(self, violation: Violation, root: Node | None) -> Finding:
        """Return the finding that a violation of this rule is, in the document of that root."""
        path = violation.path
        if path is None:
            path = pointer_to(root, violation.span) if root is not None else ""
        return Finding(
            code=self.code,
            name=self.name,
            severity=violation.severity or self.severity,
            message=violation.message,
            span=violation.span,
            path=path,
            related=violation.related,
            flow=violation.flow,
            witness=violation.witness,
            help=violation.help,
            fixes=violation.fixes,
        )


def rule(
    code: str,
    name: str,
    severity: Severity,
    stage: Stage,
    *,
    later: tuple[Stage, Check] | None = None,
) -> Callable[[Check], Rule]:
    """Make a `Rule` of a check; the check's docstring becomes the rule's page."""

    def declare(check: Check) -> Rule:
        return Rule(code, name, severity, check.__doc__ or "", check, stage, later)

    return declare
