"""From the typed and pruned workflow to the plan: defaults applied, nothing left to look up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from dagflow.compiler.defaults import cleanup_of, limits_of, retry_of, seconds, timeout_of
from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.graph.edges import sibling
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.planning.bodies import DEFAULT_MODEL, lowered_body
from dagflow.compiler.planning.prices import terms_of
from dagflow.compiler.planning.prune import Pruned
from dagflow.compiler.planning.rename import Names, in_step, in_value, names_in
from dagflow.compiler.signature import signature_of
from dagflow.compiler.types.credentials import rendered
from dagflow.core.errors import ErrorClass
from dagflow.core.node import Mapping as MappingNode
from dagflow.core.node import plain
from dagflow.core.plan import (
    BranchPlan,
    BudgetLimits,
    Constraint,
    ControlEdge,
    ErrorHandler,
    Place,
    Plan,
    PlanStep,
    Texts,
)
from dagflow.core.steps import KINDS
from dagflow.core.values import JsonObject, JsonValue
from dagflow.core.workflow import Handler, Workflow

PRIORITY = 5
QUEUE = "default"


def lower(
    model: Model,
    pruned: Pruned,
    constraints: tuple[Constraint, ...],
    layout: Mapping[str, Place],
    texts: Texts | None = None,
) -> Plan:
    """Return the plan of a workflow without errors."""
    workflow = model.workflow
    names = names_in(model, pruned.merged, "")
    signature = signature_of(model)
    return Plan(
        name=workflow.name.value,
        version=workflow.version.value if workflow.version else "",
        description=workflow.description.value if workflow.description else "",
        inputs_schema=signature.inputs,
        outputs=tuple((n, in_value(typed.value, names)) for n, typed in model.outputs.items()),
        outputs_schema=signature.outputs,
        steps=_steps(model, pruned, ""),
        finally_=_steps(model, pruned, "finally"),
        constraints=constraints,
        deadline=seconds(workflow.deadline),
        budget=_budget(workflow),
        on_failure=_on_failure(workflow),
        cleanup_deadline=cleanup_of(workflow),
        tools=dict(_tools(model, pruned)),
        models=dict(_models(model, pruned)),
        secrets=tuple(secret.value for secret in workflow.secrets),
        triggers=_triggers(workflow),
        concurrency=None if model.concurrency is None else model.concurrency.value,
        concurrency_limit=workflow.concurrency.limit.value if workflow.concurrency else None,
        layout=layout,
        source_name=workflow.source.name,
        fused=pruned.fused,
        texts=texts,
    )


def _triggers(workflow: Workflow) -> JsonValue:
    """Return the triggers as they are written."""
    written = workflow.root.get("triggers") if isinstance(workflow.root, MappingNode) else None
    return None if written is None else plain(written)


def _budget(workflow: Workflow) -> BudgetLimits:
    budget = workflow.budget
    if budget is None:
        return BudgetLimits()
    return BudgetLimits(
        tokens=budget.tokens.value if budget.tokens else None,
        tool_calls=budget.tool_calls.value if budget.tool_calls else None,
        items=budget.items.value if budget.items else None,
        cost=float(budget.cost.value) if budget.cost else None,
    )


def _on_failure(workflow: Workflow) -> Any:
    return workflow.on_failure.value if workflow.on_failure else "continue"


def _kept(model: Model, pruned: Pruned) -> Iterator[StepFacts]:
    """Yield every step that the plan holds, compensations included."""
    for facts in model.steps():
        if facts.path in pruned.graphs.facts:
            yield facts
            if facts.compensate is not None:
                yield facts.compensate


def _tools(model: Model, pruned: Pruned) -> Iterator[tuple[str, JsonObject]]:
    for facts in _kept(model, pruned):
        if facts.operation is not None:
            yield facts.operation.id, facts.operation.wire


def _models(model: Model, pruned: Pruned) -> Iterator[tuple[str, JsonObject]]:
    for facts in _kept(model, pruned):
        if facts.kind == "llm":
            chosen = facts.step.body.model
            name = chosen.value if chosen else DEFAULT_MODEL
            yield name, _model(model.workflow, name)


def _model(workflow: Workflow, name: str) -> JsonObject:
    """Return a model route; without a `models` section, `default` is the local one."""
    reference = workflow.models.get(name)
    if reference is None:
        return {"route": "local", "url": None, "model": None, "api_key": None}
    key: JsonValue = None if reference.api_key is None else rendered(reference.api_key)
    return {
        "route": reference.route.value if reference.route else None,
        "url": reference.url.value if reference.url else None,
        "model": reference.model.value if reference.model else None,
        "api_key": key,
        **terms_of(reference),
    }


def _steps(model: Model, pruned: Pruned, block: str) -> tuple[PlanStep, ...]:
    if block not in model.blocks or block not in pruned.graphs.blocks:
        return ()
    graph = pruned.graphs.blocks[block]
    kept = frozenset(graph.steps)
    names = names_in(model, pruned.merged, block)
    return tuple(
        _step(model, pruned, graph, facts, names)
        for facts in model.blocks[block].steps
        if facts.path in kept
    )


def _step(
    model: Model, pruned: Pruned, graph: BlockGraph | None, facts: StepFacts, names: Names
) -> PlanStep:
    """Return one step of the plan; a compensation stands in no graph."""
    step, workflow = facts.step, model.workflow
    of_kind = lowered_body(model, facts)
    arguments = facts.templates.get("with")
    compensation = facts.compensate
    made = PlanStep(
        path=facts.path,
        kind=facts.kind,
        action=step.action.value if step.action else KINDS[facts.kind].action,
        effects=facts.effects,
        **_edges(graph, facts.path),
        when=None if facts.path in pruned.folded else facts.lowered.get("when"),
        arguments=None if arguments is None else arguments.value,
        body=of_kind.body,
        templates=of_kind.templates,
        expressions=of_kind.expressions,
        branches=_branches(pruned, facts),
        block=_steps(model, pruned, facts.path) if facts.kind in {"foreach", "repeat"} else (),
        child=facts.child,
        compensate=None
        if compensation is None
        else _step(model, pruned, None, compensation, names),
        input_schema=facts.input,
        output_schema=facts.output,
        check_input=facts.check_input,
        check_output=facts.check_output,
        retry=retry_of(step, workflow),
        timeout=timeout_of(step, workflow),
        deadline=seconds(step.deadline),
        on_error=_handlers(facts),
        cache_ttl=seconds(step.cache.ttl) if step.cache else None,
        limits=limits_of(step, workflow),
        priority=step.priority.value if step.priority else PRIORITY,
        queue=step.queue.value if step.queue else QUEUE,
        description=step.description.value if step.description else "",
        line=step.name.span.line,
        column=step.name.span.column,
    )
    inner = names_in(model, pruned.merged, facts.path) if made.block else names
    return in_step(made, names, inner)


def _edges(graph: BlockGraph | None, path: str) -> Mapping[str, Any]:
    if graph is None:
        return {}
    return {
        "after": tuple(
            ControlEdge(edge.source, edge.on, edge.branches)
            for edge in graph.incoming.get(path, ())
        ),
        "join": graph.join(path),
        "needs": graph.needs(path),
        "awaits": graph.awaits(path),
    }


def _branches(pruned: Pruned, facts: StepFacts) -> tuple[BranchPlan, ...]:
    return tuple(
        BranchPlan(when=facts.lowered.get(f"branches.{index}"), targets=targets)
        for index, targets in enumerate(pruned.targets.get(facts.path, ()))
    )


def _handlers(facts: StepFacts) -> tuple[ErrorHandler, ...]:
    return tuple(
        _handler(facts, index, handler) for index, handler in enumerate(facts.step.on_error)
    )


def _handler(facts: StepFacts, index: int, handler: Handler) -> ErrorHandler:
    on = tuple(cast("ErrorClass", name.value) for name in handler.on)
    if handler.goto is not None:
        return ErrorHandler(on=on, goto=sibling(facts.block, handler.goto.value))
    return ErrorHandler(on=on, continue_=facts.templates[f"on_error.{index}"].value)
