"""From a claimed step of a run to the attempt that a worker is given."""

from __future__ import annotations

from dagflow.core.plan import Plan, PlanStep
from dagflow.core.references import references
from dagflow.core.run import Run
from dagflow.core.values import JsonObject
from dagflow.executor.machine.activation import scope_of
from dagflow.executor.machine.index import PlanIndex, Site, index_of
from dagflow.executor.machine.kinds import idempotency_key
from dagflow.executor.machine.paths import pattern_of
from dagflow.executor.steps.base import Attempt


def attempt_of(plan: Plan, run: Run, path: str) -> Attempt:
    """Return the attempt that has just been claimed."""
    index = index_of(plan)
    site = index.sites[pattern_of(path)]
    record = run.steps[path]
    return Attempt(
        run_id=run.id,
        root=run.root or run.id,
        path=path,
        attempt=record.attempt,
        token=record.token,
        kind=site.step.kind,
        step=site.step,
        input=record.input,
        activation=_activation(index, run, site, path),
        idempotency_key=idempotency_key(run, path, record.generation),
        tools=plan.tools,
        models=plan.models,
        secrets=_secrets(plan, index, site.step),
    )


def step_of(plan: Plan, path: str) -> PlanStep:
    """Return the plan's side of the step at a run path."""
    return index_of(plan).sites[pattern_of(path)].step


def _activation(index: PlanIndex, run: Run, site: Site, path: str) -> JsonObject:
    """Return what the step's own expression reads; only a transform's is left to the worker."""
    if site.step.kind != "transform":
        return {}
    reads = index.reads_of(site.step.expressions["expression"])
    return scope_of(index, run, site, path).activation(reads)


def _secrets(plan: Plan, index: PlanIndex, step: PlanStep) -> frozenset[str]:
    """Return the names of the secrets that the step's templates and credentials read."""
    templates = [value for value in (step.arguments, *step.templates.values()) if value is not None]
    reads = [read for value in templates for read in index.reads_of(value)]
    names = {read[1] for read in reads if read[0] == "secrets"}
    if step.kind == "tool":
        names |= references(step.body.get("auth"))
    elif step.kind == "llm":
        route = plan.models.get(str(step.body.get("model", "default")), {})
        names |= references(route.get("api_key"))
    return frozenset(names.intersection(plan.secrets))
