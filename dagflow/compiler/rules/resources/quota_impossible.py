"""DF705: quotas and placements that no worker can give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from dagflow.compiler.model import StepFacts
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.node import Mapping, Node, Scalar, Sequence
from dagflow.core.site import WorkerClass
from dagflow.core.source import Span
from dagflow.core.steps import KINDS
from dagflow.core.text import sized
from dagflow.core.workflow import Quota, Workflow

Demand = tuple[str, Span, Callable[[WorkerClass], bool]]
"""What a step asks for, in words, where it says so, and which workers have it."""

_PARTS: Final = ("memory", "cpu", "share")


@rule("DF705", "quota-impossible", Severity.ERROR, "typed")
def quota_impossible(checks: Checks) -> Iterator[Violation]:
    """No class of workers of the site can give a step what it asks for.

    Asked only where the site is known (`dagflow check --site FILE`): a step's `quota`, or that of
    the defaults, its `placement` and its `queue` must all be met by one class of workers. What
    nothing is written of asks for nothing.

    Bad:

        # file: site.yaml
        dagflow_site: 1
        workers:
          small: {count: 4, memory: 1GiB}
          large: {memory: 16GiB, labels: [gpu]}
        # file: work.yaml
        dagflow: 1
        name: train
        steps:
          train:
            python: |
              def main():
                  return 1
            output: integer
            placement: [gpu]
            quota: {memory: 32GiB}  # DF705: 'train' can run nowhere: no workers with the queue…
        outputs:
          score: ${{ steps.train.output }}

    Good:

        # file: site.yaml
        dagflow_site: 1
        workers:
          small: {count: 4, memory: 1GiB}
          large: {memory: 16GiB, labels: [gpu]}
        # file: work.yaml
        dagflow: 1
        name: train
        steps:
          train:
            python: |
              def main():
                  return 1
            output: integer
            placement: [gpu]
            quota: {memory: 8GiB}
        outputs:
          score: ${{ steps.train.output }}
    """
    if checks.model is None or not checks.site.workers:
        return
    for facts in checks.model.steps():
        for each in (facts, facts.compensate):
            if each is not None and not KINDS[each.kind].in_engine:
                yield from _step(each, checks.model.workflow, checks.site.workers)


def _step(
    facts: StepFacts, workflow: Workflow, workers: tuple[WorkerClass, ...]
) -> Iterator[Violation]:
    """Tell the first demand that leaves no class of workers which meets those before it."""
    left, met = list(workers), ""
    for words, span, meets in _demands(facts, workflow):
        fitting = [each for each in left if meets(each)]
        if not fitting:
            whose = f"no workers{met} have {words}"
            names = ", ".join(each.name for each in left)
            yield Violation(
                span=span,
                message=f"{facts.name!r} can run nowhere: {whose}",
                step=facts.path,
                help=f"the site has {names}" if met else f"the classes of workers are {names}",
            )
            return
        left, met = fitting, f"{met} with {words}" if not met else f"{met} and {words}"


def _demands(facts: StepFacts, workflow: Workflow) -> Iterator[Demand]:
    """Yield what a step asks for, the queue first."""
    step = facts.step
    queue = step.queue.value if step.queue else "default"
    at = step.queue.span if step.queue else step.name.span
    yield f"the queue {queue!r}", at, lambda each: queue in each.queues
    if step.placement is not None:
        for label, span in _labels(step.placement):
            yield f"the label {label!r}", span, lambda each, label=label: label in each.labels  # type: ignore[misc]  # bound here, not later
    if KINDS[facts.kind].sandboxed:
        common = workflow.defaults.quota if workflow.defaults else None
        yield from _quota(step.quota, common)


def _quota(own: Quota | None, common: Quota | None) -> Iterator[Demand]:
    for name in _PARTS:
        written = [getattr(quota, name) for quota in (own, common) if quota is not None]
        asked = next((each for each in written if each is not None), None)
        if asked is None:
            continue
        value, given = asked.value, "memory" if name == "memory" else "cpu"
        words = f"{sized(value)} of memory" if name == "memory" else f"{value:g} cores"

        def meets(each: WorkerClass, value: float = value, given: str = given) -> bool:
            has = getattr(each, given)
            return has is None or value <= has

        yield words, asked.span, meets


def _labels(placement: Node) -> Iterator[tuple[str, Span]]:
    """Yield the labels that a placement asks for, of those that are known before the run."""
    match placement:
        case Scalar(value=str() as text, span=span) if "${{" not in text:
            yield text, span
        case Sequence(items=items):
            for item in items:
                yield from _labels(item)
        case Mapping(entries=entries):
            for key, value in entries:
                if isinstance(value, Scalar) and "${{" not in str(value.value):
                    yield f"{key.value}={value.value}", value.span
