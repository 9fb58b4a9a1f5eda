"""DF206: operations that have no value for some of their operands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dagflow.compiler.model import Fault
from dagflow.compiler.proofs.claims import Claims
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF206", "partial-operation", Severity.WARNING, "graph")
def partial_operation(checks: Checks) -> Iterator[Violation]:
    """A division, an index or a conversion has no value for some of what it may be given.

    Then the step fails, with class `expression` (`guard` in a condition). What the step's own
    guard and those above it exclude can't happen, and is not told; where that can't be decided, it
    is a note.

    Bad:

        dagflow: 1
        name: share
        inputs: {whole: integer, parts: integer}
        steps:
          part: {transform: inputs.whole / inputs.parts}  # DF206: `inputs.whole / inputs.parts`…
        outputs:
          part: ${{ steps.part.output }}

    Good:

        dagflow: 1
        name: share
        inputs: {whole: integer, parts: {type: integer, minimum: 1}}
        steps:
          part: {transform: inputs.whole / inputs.parts}
        outputs:
          part: ${{ steps.part.output }}

    Good:

        dagflow: 1
        name: share
        inputs: {whole: integer, parts: integer}
        steps:
          part: {when: inputs.parts > 0, transform: inputs.whole / inputs.parts}
        outputs:
          part: ${{ steps.?part.output.orValue(0) }}
    """
    for fault in checks.model.faults if checks.model is not None else ():
        if fault.rule == "partial-operation" and checks.claims is not None:
            yield from _judged(checks.claims, fault, checks)


def _judged(claims: Claims, fault: Fault, checks: Checks) -> Iterator[Violation]:
    facts = checks.model.find(fault.step) if checks.model is not None and fault.step else None
    told = checks.told(fault)
    if facts is None or fault.about is None:
        yield told
        return
    fails = claims.fails(facts, fault.about, fault.part)
    if fails.kind == "unknown":
        yield replace(told, severity=Severity.NOTE)
    elif fails.kind != "never":
        yield replace(told, witness=claims.prover.witness(facts, fails))
