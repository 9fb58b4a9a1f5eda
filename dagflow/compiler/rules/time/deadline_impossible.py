"""DF501: deadlines that no run can keep."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.defaults import cleanup_of, seconds
from dagflow.compiler.graph.build import Graphs
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.planning.musts import Fastest, fastest
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.types.words import duration
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity
from dagflow.core.steps.wait import Wait


@rule("DF501", "deadline-impossible", Severity.ERROR, "plan")
def deadline_impossible(checks: Checks) -> Iterator[Violation]:
    """Even the fastest run that succeeds takes longer than its deadline.

    The waits of a fixed length that every run makes are longer, by themselves, than a run, a
    step or the clean-up (`cleanup.deadline`, a minute unless said) may take.

    Bad:

        dagflow: 1
        name: slow
        deadline: 10s  # DF501: the fastest success takes 15 s, and the deadline is 10 s
        steps:
          first: {wait: {for: 10s}}
          second: {wait: {for: 5s}, after: first}

    Good:

        dagflow: 1
        name: slow
        deadline: 20s
        steps:
          first: {wait: {for: 10s}}
          second: {wait: {for: 5s}, after: first}
    """
    if checks.model is None or checks.pruned is None:
        return
    deadline = checks.model.workflow.deadline
    for facts in checks.model.steps():
        yield from _step(facts)
    limit = seconds(deadline)
    yield from _clean_up(checks.model, checks.pruned.graphs)
    best = fastest(checks.pruned.graphs, on_the_clock=True)
    if deadline is None or limit is None or best.seconds <= limit:
        return
    took = duration(best.seconds)
    message = f"the fastest success takes {took}, and the deadline is {duration(limit)}"
    flow = _flow(checks.pruned.graphs, best)
    yield Violation(span=deadline.span, message=message, flow=flow)


def _flow(graphs: Graphs, best: Fastest) -> tuple[Related, ...]:
    """Return the steps of the way that takes so long, each with its own time."""
    found: list[Related] = []
    total = 0.0
    for path in best.way:
        step = graphs.facts[path].step
        bounds = (step.body.for_, step.timeout, step.deadline)
        own = min(each for bound in bounds if (each := seconds(bound)) is not None)
        total += own
        said = f"{path!r} waits {duration(own)}"
        found.append(Related(said if len(found) == 0 else f"{said}, {duration(total)} in all",
                             step.name.span))  # fmt: skip
    return tuple(found)


def _clean_up(model: Model, graphs: Graphs) -> Iterator[Violation]:
    """Compare the waits in `finally` with the time that cleaning up may take."""
    limit, way = cleanup_of(model.workflow), fastest(graphs, "finally")
    best = way.seconds
    if best <= limit:
        return
    cleanup = model.workflow.cleanup
    bound = cleanup.deadline if cleanup is not None else None
    first = model.blocks["finally"].steps[0].step.name
    message = f"`finally` takes at least {duration(best)}, and cleaning up may take"
    yield Violation(
        span=first.span if bound is None else bound.span,
        message=f"{message} {duration(limit)}",
        flow=_flow(graphs, way),
        help="" if bound is not None else "raise it: `cleanup: {deadline: …}`",
    )


def _step(facts: StepFacts) -> Iterator[Violation]:
    """Compare a wait of a fixed length with the bounds of its own step."""
    if not isinstance(facts.step.body, Wait) or facts.step.body.for_ is None:
        return
    length = facts.step.body.for_.value.total_seconds()
    for name in ("timeout", "deadline"):
        bound = getattr(facts.step, name)
        if bound is not None and bound.value.total_seconds() < length:
            limit = duration(bound.value.total_seconds())
            message = f"the step waits {duration(length)}, and its {name} is {limit}"
            yield Violation(span=bound.span, message=message, step=facts.path)
