"""The compiler's passes in order: from a source file to findings and, without errors, a plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Final, TypeVar

from dagflow.compiler.allow import allowances_of, is_allowed
from dagflow.compiler.collecting import rarely_collecting
from dagflow.compiler.graph import build as graph
from dagflow.compiler.memory import Memory
from dagflow.compiler.model import Model
from dagflow.compiler.planning import bounds, deadlines, layout, machine
from dagflow.compiler.planning import prune as pruner
from dagflow.compiler.planning.expected import expected
from dagflow.compiler.planning.lower import lower
from dagflow.compiler.planning.prices import prices_for
from dagflow.compiler.proofs import reach
from dagflow.compiler.proofs.claims import claims_of
from dagflow.compiler.proofs.labels.steps import Labels
from dagflow.compiler.proofs.labels.texts import texts_of
from dagflow.compiler.rule import Check, Checks, Rule, Stage
from dagflow.compiler.rules import ALL
from dagflow.compiler.source.parse import Parsed, parse
from dagflow.compiler.types.infer import model_of
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Bounds, Finding, GraphSize, Removal, Report, Severity
from dagflow.core.plan import Plan, Texts
from dagflow.core.records import dataclass
from dagflow.core.site import NOWHERE_YET, Site
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog
from dagflow.core.workflow import Workflow

T = TypeVar("T")

NO_CHILDREN: Final[Mapping[str, Plan]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What came of a source: a plan where nothing was an error, and always a report.

    `workflow` is None only where the file could not be read as one.
    """

    plan: Plan | None
    report: Report
    workflow: Workflow | None


@dataclass(slots=True, kw_only=True)
class _Pass:
    """What the passes gather on the way."""

    memory: Memory
    findings: list[Finding] = field(default_factory=list)
    broken: dict[str, None] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)

    def timed(self, name: str, work: Callable[[], T]) -> T:
        """Do the work and add the seconds it took to the pass of that name."""
        start = time.perf_counter()
        result = work()
        self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - start
        return result

    @property
    def failed(self) -> bool:
        """Tell whether anything found so far stops the plan."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Whole:
    """A workflow that got through every pass."""

    plan: Plan | None = None
    before: GraphSize = GraphSize(0, 0)
    after: GraphSize = GraphSize(0, 0)
    removed: tuple[Removal, ...] = ()
    fused: tuple[tuple[str, ...], ...] = ()
    merged: tuple[tuple[str, str], ...] = ()
    bounds: Bounds = Bounds()
    tools: tuple[tuple[str, str], ...] = ()


def compile_workflow(
    source: Source,
    catalog: ToolCatalog,
    *,
    children: Mapping[str, Plan] = NO_CHILDREN,
    site: Site = NOWHERE_YET,
    before: Plan | None = None,
    prune: bool = True,
    memory: Memory | None = None,
) -> Compiled:
    """Check a workflow and make its plan.

    Pure: reads nothing but its arguments, and the same arguments give the same plan, byte for
    byte. `children` holds the plans of `workflow` steps by `resolve.child_key`, `site` is what is
    known of where runs will happen, `before` the version that this one is to follow. Without
    `prune` the plan keeps what no run can show. A `memory` that is given again and again makes
    the compilations after the first faster, and changes nothing else.
    """
    memory = Memory() if memory is None else memory
    memory.begin()
    with rarely_collecting():
        checks = Checks(
            source=source,
            catalog=catalog,
            children=children,
            site=site,
            before=before,
            rules={rule.name: rule.severity for rule in ALL},
        )
        compiled = _compile(checks, memory, pruning=prune)
    memory.settle()
    return compiled


def _compile(checks: Checks, memory: Memory, *, pruning: bool) -> Compiled:
    state = _Pass(memory=memory)
    parsed = state.timed("parse", lambda: parse(checks.source))
    checks = replace(checks, parsed=parsed.findings, workflow=parsed.workflow)
    _run(state, "source", checks)
    whole = _Whole()
    state.broken = dict.fromkeys(sorted(parsed.broken))
    if parsed.workflow is not None and (not state.failed or _is_partial(state, parsed)):
        checks = replace(checks, broken=parsed.broken)
        whole = _compiled(state, checks, parsed.workflow, pruning=pruning)
    return Compiled(
        plan=whole.plan,
        report=_report(state, checks, whole),
        workflow=parsed.workflow,
    )


def _is_partial(state: _Pass, parsed: Parsed) -> bool:
    """Tell whether every error is inside some step, so that the others can be looked at."""
    errors = [finding for finding in state.findings if finding.severity is Severity.ERROR]
    return all(
        finding.name == "schema-shape" and finding.path.startswith(("/steps/", "/finally/"))
        for finding in errors
    ) and bool(parsed.broken)


def _compiled(state: _Pass, checks: Checks, workflow: Workflow, *, pruning: bool) -> _Whole:
    missing = frozenset(path.rpartition(".")[2] for path in checks.broken)
    model = state.timed(
        "types",
        lambda: model_of(
            workflow, checks.catalog, checks.children, missing=missing, memory=state.memory
        ),
    )
    checks = replace(checks, model=model)
    _run(state, "resolved", checks)
    _run(state, "typed", checks)
    graphs = state.timed("graph", lambda: graph.build(model, state.memory))
    claims = claims_of(model, graphs, state.memory)
    reached = state.timed("proofs", lambda: reach.analyse(model, graphs, claims))
    broken = frozenset(state.broken)
    labels = state.timed("proofs", lambda: Labels(model, graphs))
    checks = replace(
        checks, graphs=graphs, reach=reached, claims=claims, labels=labels, broken=broken
    )
    _run(state, "graph", checks)
    if state.failed:
        return _Whole(before=graphs.size, after=graphs.size)
    pruned = state.timed(
        "prune",
        lambda: pruner.prune(model, graphs, reached, enabled=pruning, memory=state.memory),
    )
    bounded = state.timed("bounds", lambda: _bounded(model, pruned, checks.site))
    _run(state, "plan", replace(checks, pruned=pruned, bounds=bounded))
    whole = _Whole(
        before=pruned.before,
        after=pruned.after,
        removed=pruned.removals,
        fused=pruned.fused,
        merged=tuple(pruned.merged.items()),
        bounds=bounded,
    )
    if state.failed:
        return whole
    texts = state.timed("proofs", lambda: texts_of(model, graphs, reached))
    return _planned(state, model, pruned, whole, texts)


def _bounded(model: Model, pruned: pruner.Pruned, site: Site) -> Bounds:
    prices = prices_for(model, site.prices)
    found = bounds.costs(model, pruned, prices=prices)
    known = replace(
        bounds.bounds(model, pruned, found, prices), expected=expected(model, pruned, site)
    )
    return deadlines.judged(known, model, pruned, found, site)


def _planned(
    state: _Pass, model: Model, pruned: pruner.Pruned, whole: _Whole, texts: Texts | None
) -> _Whole:
    constraints, idle = state.timed(
        "lower", lambda: machine.constraints(model, pruned, state.memory)
    )
    places = state.timed("lower", lambda: layout.places(pruned, state.memory))
    plan = state.timed("lower", lambda: lower(model, pruned, constraints, places, texts))
    return replace(
        whole, plan=plan, removed=(*whole.removed, *idle), tools=tuple(_tools(plan, model.catalog))
    )


def _tools(plan: Plan, catalog: ToolCatalog) -> Iterator[tuple[str, str]]:
    """Yield the operations that a plan uses, each with its version."""
    for id_ in plan.tools:
        tool = catalog.tools[id_.partition(".")[0]]
        yield id_, tool.operations[id_].version


def _run(state: _Pass, stage: Stage, checks: Checks) -> None:
    """Run the rules of one stage.

    No stage speaks of a step that is broken already, and from the graph on not of its block.
    """
    root = checks.workflow.root if checks.workflow is not None else None
    chosen = ((rule, check) for rule in ALL for check in rule.checks_at(stage))
    found = state.timed(f"rules.{stage}", lambda: list(_violations(chosen, checks)))
    for rule, violation in found:
        if checks.broken and not _may_speak(violation, stage, checks):
            continue
        finding = rule.finding(violation, root)
        state.findings.append(finding)
        if finding.severity is Severity.ERROR:
            state.broken[violation.step] = None


def _violations(
    chosen: Iterable[tuple[Rule, Check]], checks: Checks
) -> Iterator[tuple[Rule, Violation]]:
    for rule, check in chosen:
        for violation in check(checks):
            yield rule, violation


def _may_speak(violation: Violation, stage: Stage, checks: Checks) -> bool:
    """Tell whether a violation is about a part that no earlier stage found an error in.

    A part is a step, and from the graph on a block of steps with all that is inside it: what is
    wrong with one step shows in the edges and joins of its neighbours.
    """
    if stage in {"resolved", "typed"}:
        return not any(_is_within(violation.step, path) for path in checks.broken)
    if "" in checks.broken or not violation.step or checks.model is None:
        return False
    facts = checks.model.find(violation.step)
    return facts is not None and not any(
        _shares(facts.block, path, checks.model) for path in checks.broken
    )


def _is_within(step: str, path: str) -> bool:
    return step == path or step.startswith(f"{path}.")


def _shares(block: str, broken: str, model: Model) -> bool:
    other = model.find(broken.removesuffix(".compensate"))
    if other is None or other.block == block:
        return True
    return block == "" or _is_within(other.block, block) or _is_within(block, other.path)


def _report(state: _Pass, checks: Checks, whole: _Whole) -> Report:
    workflow = checks.workflow
    root = workflow.root if workflow is not None else None
    allowances = allowances_of(checks.source, root)
    found = tuple(state.findings)
    if workflow is not None:
        _run(state, "report", replace(checks, found=found, allowances=allowances))
    gone = [finding for finding in state.findings if is_allowed(finding, allowances)]
    kept = (
        [finding for finding in state.findings if finding not in gone] if gone else state.findings
    )
    return Report(
        workflow=workflow.name.value if workflow else "",
        version=workflow.version.value if workflow and workflow.version else "",
        plan=whole.plan,
        findings=tuple(sorted(kept, key=_order)),
        allowed=tuple(sorted(gone, key=_order)),
        before=whole.before,
        after=whole.after,
        removed=whole.removed,
        fused=whole.fused,
        merged=whole.merged,
        bounds=whole.bounds,
        tools=whole.tools,
        timings=tuple(state.timings.items()),
    )


def _order(finding: Finding) -> tuple[object, ...]:
    return (finding.span, finding.code, finding.message)


def explain(code: str) -> Rule | None:
    """Return the rule with this code or name, whose `doc` is its page; None when there is none."""
    wanted = code.casefold()
    return next((r for r in ALL if wanted in {r.code.casefold(), r.name}), None)
