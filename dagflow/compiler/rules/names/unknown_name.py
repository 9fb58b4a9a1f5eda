"""DF101: names of things that don't exist."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.names.references import (
    unknown_models,
    unknown_schemes,
    unknown_steps,
    unknown_triggers,
)
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.types.credentials import credentials, secrets_in, unknown_secret
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF101", "unknown-name", Severity.ERROR, "resolved")
def unknown_name(checks: Checks) -> Iterator[Violation]:
    """A step, input, tool, model or secret is named that does not exist.

    The run could never get what is asked for, so there is no plan.

    Bad:

        dagflow: 1
        name: greet
        inputs: {name: string}
        steps:
          hello: {transform: '"hello " + inputs.nmae'}  # DF101: no input is named 'nmae'; did…
        outputs:
          text: ${{ steps.hello.output }}

    Good:

        dagflow: 1
        name: greet
        inputs: {name: string}
        steps:
          hello: {transform: '"hello " + inputs.name'}
        outputs:
          text: ${{ steps.hello.output }}

    Bad:

        dagflow: 1
        name: pauses
        steps:
          first: {wait: {for: 1s}}
          second:
            after: frist  # DF101: no step is named 'frist'; did you mean 'first'?
            wait: {for: 1s}

    Good:

        dagflow: 1
        name: pauses
        steps:
          first: {wait: {for: 1s}}
          second:
            after: first
            wait: {for: 1s}
    """
    yield from checks.faults("unknown-name")
    if checks.model is not None:
        yield from unknown_steps(checks.model)
        yield from unknown_models(checks.model)
        yield from unknown_schemes(checks.model)
        yield from unknown_triggers(checks.model)
        yield from _credentials(checks)


def _credentials(checks: Checks) -> Iterator[Violation]:
    assert checks.model is not None
    workflow = checks.model.workflow
    known = tuple(secret.value for secret in workflow.secrets)
    for node in credentials(workflow):
        for name, span in secrets_in(node, workflow.source):
            if name and name not in known:
                yield Violation(span=span, message=unknown_secret(name, known))
