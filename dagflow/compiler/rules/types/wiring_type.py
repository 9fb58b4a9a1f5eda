"""DF203: values given to something that takes others."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


def _guarded(checks: Checks) -> Iterator[Violation]:
    """Find what does not fit and no guard excludes."""
    for fault in checks.model.faults if checks.model is not None else ():
        if fault.rule == "wiring-type" and fault.about is not None and checks.claims is not None:
            facts = checks.model.find(fault.step) if checks.model is not None else None
            if facts is None or not checks.claims.is_excluded(facts, fault.about):
                yield checks.told(fault)


@rule("DF203", "wiring-type", Severity.ERROR, "typed", later=("graph", _guarded))
def wiring_type(checks: Checks) -> Iterator[Violation]:
    """What is given is not what is taken.

    `with` is compared with the parameters of the tool, function or workflow that it is for, an
    output with what is declared for it, and what `on_error` continues with likewise. Where the
    types leave it open, the value is checked when the step runs, and a note says so. What a guard
    excludes (`when: inputs.n > 0`, `when: inputs.kind in ["a", "b"]`, a branch) is not given.

    Bad:

        dagflow: 1
        name: shout
        inputs: {word: string}
        steps:
          up:
            python: |
              def main(text):
                  return text.upper()
            with: {text: "${{ inputs.word }}", by: 2}  # DF203: `main` has no parameter 'by'…
            output: string
        outputs:
          loud: ${{ steps.up.output }}

    Good:

        dagflow: 1
        name: shout
        inputs: {word: string}
        steps:
          up:
            python: |
              def main(text):
                  return text.upper()
            with: {text: "${{ inputs.word }}"}
            output: string
        outputs:
          loud: ${{ steps.up.output }}

    Bad:

        dagflow: 1
        name: ticket
        inputs: {number: string}
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: 17}}  # DF203: path.id: expected string, got 17
        outputs:
          text: ${{ steps.fetch.output.body.text }}
          number: ${{ inputs.number }}

    Good:

        dagflow: 1
        name: ticket
        inputs: {number: string}
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: "${{ inputs.number }}"}}
        outputs:
          text: ${{ steps.fetch.output.body.text }}
    """
    for fault in checks.model.faults if checks.model is not None else ():
        if fault.rule == "wiring-type" and fault.about is None:
            yield checks.told(fault)
