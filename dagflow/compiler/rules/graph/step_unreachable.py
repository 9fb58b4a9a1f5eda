"""DF302: steps that no run can ever start."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity


@rule("DF302", "step-unreachable", Severity.WARNING, "graph")
def step_unreachable(checks: Checks) -> Iterator[Violation]:
    """A step waits for something that never happens, so no run can start it.

    It is left out of the plan, with the steps that can only come after it; the report's list of
    removals says which and why. Usually the edge's `on` is not the one that was meant.

    Bad:

        dagflow: 1
        name: greet
        steps:
          hello: {transform: '"hello"'}
          excuse:  # DF302: no run can start step 'excuse': it waits for 'hello' to be skipped, …
            after: {step: hello, on: skipped}
            transform: '"sorry"'
        outputs:
          text: ${{ steps.hello.output }}

    Good:

        dagflow: 1
        name: greet
        inputs: {polite: boolean}
        steps:
          hello:
            when: inputs.polite
            transform: '"hello"'
          excuse:
            after: {step: hello, on: skipped}
            transform: '"sorry"'
        outputs:
          text: ${{ steps.?hello.output.orValue("") }}
          excuse: ${{ steps.?excuse.output.orValue("") }}
    """
    if checks.graphs is None or checks.reach is None:
        return
    for block in checks.graphs.blocks.values():
        for step in block.order:
            cause = checks.reach.cause(step)
            several = len(block.incoming.get(step, ())) > 1
            if cause is None or cause.kind != "edge" or several:
                continue
            facts = checks.graphs.facts[step]
            others = (checks.graphs.facts[other] for other in cause.by)
            yield Violation(
                span=facts.step.name.span,
                message=f"no run can start step {facts.name!r}: {cause.text}",
                step=step,
                related=tuple(Related(f"{o.name!r} is here", o.step.name.span) for o in others),
                help="change what it waits for, or take the step out",
            )
