"""Types every step: checks its expressions, gathers its reads, infers what it gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from dagflow.compiler.defaults import effects_of
from dagflow.compiler.memory import Memory
from dagflow.compiler.model import Block, Fault, Model, Read, StepFacts, Typed
from dagflow.compiler.names.order import typing_order
from dagflow.compiler.names.resolve import (
    Grounds,
    Others,
    Site,
    Views,
    around,
    child_key,
    grounds_of,
    views_of,
)
from dagflow.compiler.names.scopes import Sight, block_names, item_names, roots_of, run_schema
from dagflow.compiler.names.slots import bare, templated
from dagflow.compiler.outputs import COUNT, closed, output_of
from dagflow.compiler.source.places import scalars
from dagflow.compiler.source.schemas import schema_of
from dagflow.compiler.types.checking import Desk, Spot, check_bare, check_template
from dagflow.compiler.types.composites import entry_of, item_of
from dagflow.compiler.types.fitting import fitted
from dagflow.compiler.types.operations import Found, find_operation
from dagflow.core.node import Scalar
from dagflow.core.plan import Expression, Plan
from dagflow.core.records import dataclass, replace
from dagflow.core.references import SECRET_KINDS
from dagflow.core.source import At
from dagflow.core.steps.foreach import Foreach
from dagflow.core.tool import ToolCatalog
from dagflow.core.values import Schema
from dagflow.core.workflow import Declared, Workflow
from dagflow.expr import Checked


@dataclass(slots=True, kw_only=True)
class Typist:
    """Types one workflow, step after step; `facts` grows as it goes."""

    workflow: Workflow
    catalog: ToolCatalog
    children: Mapping[str, Plan]
    grounds: Grounds
    views: Views
    desk: Desk
    scalars: Mapping[tuple[int, int], Scalar]
    facts: dict[str, StepFacts] = field(default_factory=dict)
    items: dict[str, Schema] = field(default_factory=dict)
    extras: dict[str, Mapping[str, Schema]] = field(default_factory=dict)
    roots: dict[str, frozenset[str]] = field(default_factory=dict)


def model_of(
    workflow: Workflow,
    catalog: ToolCatalog,
    children: Mapping[str, Plan],
    *,
    missing: frozenset[str] = frozenset(),
    memory: Memory | None = None,
) -> Model:
    """Resolve and type a workflow. What is wrong is in the model's `faults`.

    `missing` are the names of steps that could not be read; naming them is no fault. `memory`
    saves checking expressions anew; it changes nothing.
    """
    memory = Memory() if memory is None else memory
    grounds = grounds_of(workflow)
    views = views_of(grounds)
    typist = Typist(
        workflow=workflow,
        catalog=catalog,
        children=children,
        grounds=grounds,
        views=views,
        desk=Desk(workflow=workflow, grounds=grounds, memory=memory, missing=missing),
        scalars={(it.span.line, it.span.column): it for it in scalars(workflow.root)},
    )
    for site in typing_order(grounds, views, memory):
        facts = _type_step(typist, site, typist.views[site.block])
        typist.facts[site.path] = facts
        typist.desk.outputs[site.path] = facts.output
    return _model(typist)


def node_of(typist: Typist, at: At[str]) -> Scalar:
    """Return the scalar that a value was read from."""
    found = typist.scalars.get((at.span.line, at.span.column))
    return found or Scalar(at.value, at.span, raw=at.value)


def _model(typist: Typist) -> Model:
    outputs: dict[str, Typed] = {}
    spot = _spot(typist, _workflow_sight(typist), "", "outputs")
    for name, node in typist.workflow.outputs:
        typed = check_template(spot, node)
        if typed is not None:
            outputs[name.value] = typed
    return Model(
        workflow=typist.workflow,
        blocks=_blocks(typist),
        catalog=typist.catalog,
        output_reads=tuple(spot.reads),
        outputs=outputs,
        concurrency=_concurrency(typist),
        children=typist.children,
        faults=tuple(typist.desk.faults),
        used=frozenset(typist.desk.used),
        missing=typist.desk.missing,
    )


def _concurrency(typist: Typist) -> Typed | None:
    concurrency = typist.workflow.concurrency
    if concurrency is None:
        return None
    sight = Sight(steps={}, extras=_extras(typist, ""), roots=_roots(typist, ""))
    spot = _spot(typist, sight, "", "concurrency")
    return check_template(spot, concurrency.group, "text")


def _blocks(typist: Typist) -> Mapping[str, Block]:
    return {
        path: Block(
            path=path,
            kind=ground.kind,
            steps=tuple(_whole(typist, site) for site in ground.sites.values()),
            parent=ground.parent,
            variables=_extras(typist, path),
        )
        for path, ground in typist.grounds.items()
        if path != "finally" or ground.sites
    }


def _whole(typist: Typist, site: Site) -> StepFacts:
    """Add to a composite's reads those that its inner steps make of steps outside it.

    Its own reads of inner steps (`collect`, `until`) stay: they happen when those have ended.
    """
    facts = typist.facts[site.path]
    if site.path not in typist.grounds or site.path == "finally":
        return facts
    inside = f"{site.path}."
    inner = tuple(
        replace(read, where="inner")
        for path in _inside(typist, site.path)
        for read in typist.facts[path].reads
        if not read.step.startswith(inside)
    )
    return replace(facts, reads=facts.reads + inner)


def _inside(typist: Typist, composite: str) -> Iterator[str]:
    """Yield the paths of the steps inside a composite, on every level."""
    for path in (site.path for site in typist.grounds[composite].sites.values()):
        yield path
        if path in typist.grounds:
            yield from _inside(typist, path)


def _workflow_sight(typist: Typist) -> Sight:
    return Sight(steps=typist.views[""], extras=_extras(typist, ""), roots=_roots(typist, ""))


def _spot(typist: Typist, sight: Sight, step: str, where: str) -> Spot:
    return Spot(desk=typist.desk, sight=sight, step=step, where=where)


def _extras(typist: Typist, block: str) -> Mapping[str, Schema]:
    """Return the variables in sight of a block beside `steps` and `secrets`."""
    if block not in typist.extras:
        names = {name: _loop_type(typist, name, site) for name, site in _loops(typist, block)}
        in_finally = any(g.kind == "finally" for g in around(typist.grounds, block))
        typist.extras[block] = {
            "inputs": _inputs(typist.workflow.inputs),
            "run": run_schema(status=in_finally),
            **names,
        }
    return typist.extras[block]


def _roots(typist: Typist, block: str) -> frozenset[str]:
    if block not in typist.roots:
        typist.roots[block] = roots_of(typist.grounds, block)
    return typist.roots[block]


def _loops(typist: Typist, block: str) -> Iterator[tuple[str, Site]]:
    seen: set[str] = set()
    for name, site in block_names(typist.grounds, block):
        if name not in seen:
            seen.add(name)
            yield name, site


def _loop_type(typist: Typist, name: str, site: Site) -> Schema:
    if isinstance(site.step.body, Foreach):
        item, _ = item_names(site.step.body)
        return _item(typist, site) if name == item else {"type": "integer", "minimum": 0}
    return COUNT if name == "turn" else True


def _item(typist: Typist, site: Site) -> Schema:
    """Return the type of a foreach's item; its list is checked for this, once, without a fault."""
    if site.path not in typist.items:
        quiet = replace(typist.desk, faults=[], used={})
        sight = Sight(
            steps=typist.views[site.block],
            extras=_extras(typist, site.block),
            roots=_roots(typist, site.block),
            self_path=site.path,
        )
        spot = Spot(desk=quiet, sight=sight, step=site.path, where="items")
        text = site.step.body.items
        got = check_bare(spot, text.value, node_of(typist, text))
        typist.items[site.path] = item_of(got[0].result) if got else True
    return typist.items[site.path]


def _inputs(declared: Declared | None) -> Schema:
    """Return the type of `inputs` in expressions: what has a default is always there."""
    if declared is None:
        return closed({})
    fields = {item.name.value: item.type.schema for item in declared.fields}
    required = tuple(
        item.name.value
        for item in declared.fields
        if not item.type.optional
        or (isinstance(item.type.schema, dict) and "default" in item.type.schema)
    )
    return closed(fields, required)


def _type_step(typist: Typist, site: Site, view: Mapping[str, Site]) -> StepFacts:
    before = len(typist.desk.faults)
    sight = Sight(
        steps=_others(site, view),
        extras=_extras(typist, site.block),
        roots=_roots(typist, site.block),
        self_path=site.path,
    )
    facts = _type_body(typist, site, sight)
    if site.step.compensate is not None:
        typist.desk.outputs[site.path] = facts.output
        facts = replace(facts, compensate=_compensation(typist, site, sight))
    wrong = any(fault.severity in {None, "error"} for fault in typist.desk.faults[before:])
    return replace(facts, broken=True) if wrong else facts


def _others(site: Site, view: Mapping[str, Site]) -> Mapping[str, Site]:
    """Return the steps in view but for the site's own."""
    name = site.step.name.value
    seen = view.get(name)
    return Others(view, name) if seen is not None and seen.path == site.path else view


def _compensation(typist: Typist, site: Site, sight: Sight) -> StepFacts:
    assert site.step.compensate is not None
    own = Site(
        step=site.step.compensate,
        path=f"{site.path}.compensate",
        block=site.block,
    )
    return _type_body(typist, own, replace(sight.with_step(site), self_path=own.path))


@dataclass(slots=True, kw_only=True)
class _Body:
    """What was found in one step's expressions and templates."""

    reads: list[Read]
    expressions: dict[str, Checked]
    lowered: dict[str, Expression]
    templates: dict[str, Typed]


def _type_body(typist: Typist, site: Site, sight: Sight) -> StepFacts:
    step = site.step
    operation = find_operation(typist.workflow, typist.catalog, step)
    _report_operation(typist, site, operation)
    body = _Body(reads=[], expressions={}, lowered={}, templates={})
    _check_bare(typist, site, sight, body)
    _check_templates(typist, site, sight, body)
    child = typist.children.get(child_key(step.body)) if step.kind.value == "workflow" else None
    declared = None if step.output is None else schema_of(step.output)
    found = operation.operation
    natural = found.output if found is not None else output_of(step, declared, child)
    facts = StepFacts(
        step=step,
        path=site.path,
        block=site.block,
        reads=tuple(body.reads),
        expressions=body.expressions,
        lowered=body.lowered,
        templates=body.templates,
        effects=effects_of(step, found),
        operation=found,
        child=child,
        output=_result(body) if step.kind.value == "transform" else natural,
    )
    composed = _composed(typist, facts)
    done, faults = fitted(composed, declared, lambda at: node_of(typist, at), typist.workflow)
    typist.desk.faults.extend(faults)
    return done


def _report_operation(typist: Typist, site: Site, found: Found) -> None:
    if found.fault is None:
        return
    body = site.step.body
    rule, message, help_ = found.fault
    typist.desk.faults.append(
        Fault(
            rule=rule,
            span=body.operation.span,
            message=message,
            step=site.path,
            help=help_,
        )
    )


def _check_bare(typist: Typist, site: Site, sight: Sight, body: _Body) -> None:
    for slot in bare(site.step):
        seen = _inner_sight(typist, site, sight) if slot.inner else sight
        spot = Spot(
            desk=typist.desk,
            sight=seen,
            step=site.path,
            where=slot.where,
            reads=body.reads,
        )
        node = node_of(typist, slot.text)
        got = check_bare(spot, slot.text.value, node, expected=slot.expected)
        if got is not None:
            body.expressions[slot.key], body.lowered[slot.key] = got


def _inner_sight(typist: Typist, site: Site, sight: Sight) -> Sight:
    """Return what `until` and `collect` see: the inner steps and the loop's variables too."""
    steps = {**sight.steps, **typist.grounds[site.path].sites}
    return replace(
        sight, steps=steps, extras=_extras(typist, site.path), roots=_roots(typist, site.path)
    )


def _check_templates(typist: Typist, site: Site, sight: Sight, body: _Body) -> None:
    allowed = site.step.kind.value in SECRET_KINDS
    for slot in templated(site.step):
        secrets = allowed and slot.key in {"with", "stdin"}
        spot = Spot(
            desk=typist.desk,
            sight=replace(sight, secrets=secrets),
            step=site.path,
            where=slot.where,
            reads=body.reads,
        )
        typed = check_template(spot, slot.node, slot.form)
        if typed is not None:
            body.templates[slot.key] = typed


def _result(body: _Body) -> Schema:
    """Return what a transform's expression gives."""
    checked = body.expressions.get("expression")
    return checked.result if checked else True


def _composed(typist: Typist, facts: StepFacts) -> StepFacts:
    """Give the facts of a composite the output that only its parts can say."""
    if facts.kind in {"foreach", "repeat"} and facts.path in typist.grounds:
        inner = [_whole(typist, site) for site in typist.grounds[facts.path].sites.values()]
        return replace(facts, output=entry_of(facts, inner))
    return facts
