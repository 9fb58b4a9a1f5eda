"""DF502: bounds that cut each other."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.defaults import retry_of, seconds, worst_seconds
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.timing.words import shares
from dagflow.compiler.types.words import duration
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Bounds, Related, Severity
from dagflow.core.source import At, Span


@rule("DF502", "deadline-at-risk", Severity.WARNING, "plan")
def deadline_at_risk(checks: Checks) -> Iterator[Violation]:
    """A step may take longer than the deadline that is over it, or runs did so as recorded.

    Two things are told. A timeout, or all attempts with the delays between them, is more than the
    deadline of the step or of the run: the last attempts could never be finished. Only times that
    the file gives are compared; a step without a timeout is cut by the deadline and that is all.
    And not every sum of timeouts that exceeds a deadline is a fault: a deadline is there to cut.

    Where latencies are recorded (`--site`, `--recorded`), the deadline is compared with them: it
    is told when fewer than 95 of 100 runs keep it, with the share between two bounds, and the
    seed by which the figures come out again. An undecided verdict is no finding: the report has
    it, and docs/timing.md says what it rests on.

    Bad:

        dagflow: 1
        name: ticket
        deadline: 20s
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: t-1}}
            timeout: 30s  # DF502: one attempt may take 30 s, and the deadline of the run is 20 s
        outputs:
          text: ${{ steps.fetch.output.body.text }}

    Good:

        dagflow: 1
        name: ticket
        deadline: 20s
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: t-1}}
            timeout: 6s
            retry: {attempts: 3, backoff: 500ms, jitter: 0}
        outputs:
          text: ${{ steps.fetch.output.body.text }}

    Bad:

        # file: history.jsonl
        {"steps": {"ask.fetch": [1.9, 2.4, 3.1, 2.2], "ask.store": [0.2, 0.3]}}
        {"steps": {"ask.fetch": [1.9, 2.4, 3.1, 2.2], "ask.store": [0.2, 0.3]}}
        {"steps": {"ask.fetch": [1.9, 2.4, 3.1, 2.2], "ask.store": [0.2, 0.3]}}
        # file: work.yaml
        dagflow: 1
        name: ask
        deadline: 2s  # DF502: as recorded, 0–…
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: t-1}}
          store:
            python: |
              def main(text):
                  return text
            with: {text: "${{ steps.fetch.output.body.text }}"}
            output: string
        outputs:
          text: ${{ steps.store.output }}

    Good:

        # file: history.jsonl
        {"steps": {"ask.fetch": [1.9, 2.4, 3.1, 2.2], "ask.store": [0.2, 0.3]}}
        # file: work.yaml
        dagflow: 1
        name: ask
        deadline: 10s
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: t-1}}
          store:
            python: |
              def main(text):
                  return text
            with: {text: "${{ steps.fetch.output.body.text }}"}
            output: string
        outputs:
          text: ${{ steps.store.output }}
    """
    for facts in checks.model.steps() if checks.model is not None else ():
        found = _risk(checks.model, facts) if checks.model is not None else None
        if found is not None:
            span, message = found
            yield Violation(span=span, message=message, step=facts.path)
    yield from _recorded(checks)


def _recorded(checks: Checks) -> Iterator[Violation]:
    """Tell of a deadline that recorded runs miss, first by how long the steps take alone."""
    workflow, bounds = checks.workflow, checks.bounds
    if workflow is None or workflow.deadline is None or bounds is None or checks.model is None:
        return
    missed = next((each for each in bounds.deadlines if each.verdict == "cannot"), None)
    if missed is None:
        return
    p95 = bounds.percentiles[1] if bounds.percentiles is not None else 0.0
    yield Violation(
        span=workflow.deadline.span,
        message=f"as recorded, {shares(missed, duration(missed.deadline))}",
        related=tuple(_slowest(checks.model, bounds)),
        help=f"the 95th percentile of all steps made is {duration(p95)}",
    )


def _slowest(model: Model, bounds: Bounds) -> Iterator[Related]:
    """Yield the steps that most often are on the longest way."""
    for each in sorted(bounds.slack, key=lambda it: -it.share)[:3]:
        facts = model.find(each.step)
        if facts is not None and each.share:
            said = f"{each.step!r} is on the longest way of {each.share:.0%} of runs"
            yield Related(said, facts.step.name.span)


def _risk(model: Model, facts: StepFacts) -> tuple[Span, str] | None:
    """Compare the step's own times with the tightest deadline over it."""
    written = facts.step.timeout
    timeout = seconds(written)
    limit = _tightest(model, facts)
    if written is None or timeout is None or limit is None:
        return None
    whose, bound = limit
    if timeout > bound:
        return written.span, f"one attempt may take {duration(timeout)}, and {whose}"
    retry = retry_of(facts.step, model.workflow)
    worst = worst_seconds(retry, timeout)
    if retry.attempts > 1 and worst > bound:
        span = facts.step.retry.span if facts.step.retry is not None else written.span
        length = duration(round(worst, 1))
        return span, f"{retry.attempts} attempts may take {length}, and {whose}"
    return None


def _tightest(model: Model, facts: StepFacts) -> tuple[str, float] | None:
    own, run = facts.step.deadline, model.workflow.deadline
    if facts.block == "finally" or facts.block.startswith("finally."):
        run = None
    found = [("the deadline of the step", own), ("the deadline of the run", run)]
    bounds = [(words, at.value.total_seconds()) for words, at in found if isinstance(at, At)]
    if not bounds:
        return None
    words, bound = min(bounds, key=lambda each: each[1])
    return f"{words} is {duration(bound)}", bound
