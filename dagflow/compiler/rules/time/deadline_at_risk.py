"""DF502: bounds that cut each other."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.defaults import retry_of, seconds, worst_seconds
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.types.words import duration
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.source import At, Span


@rule("DF502", "deadline-at-risk", Severity.WARNING, "typed")
def deadline_at_risk(checks: Checks) -> Iterator[Violation]:
    """A step may take longer than the deadline that is over it.

    Its timeout, or all its attempts with the delays between them, are more than the deadline of
    the step or of the run, so the last attempts could never be finished. Only times that the file
    gives are compared; a step without a timeout is cut by the deadline and that is all.

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
    """
    for facts in checks.model.steps() if checks.model is not None else ():
        found = _risk(checks.model, facts) if checks.model is not None else None
        if found is not None:
            span, message = found
            yield Violation(span=span, message=message, step=facts.path)


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
