"""DF206: operations that have no value for some of their operands."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF206", "partial-operation", Severity.WARNING, "typed")
def partial_operation(checks: Checks) -> Iterator[Violation]:
    """A division, an index or a conversion has no value for some of what it may be given.

    Then the step fails, with class `expression` (`guard` in a condition).

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
    """
    yield from checks.faults("partial-operation")
