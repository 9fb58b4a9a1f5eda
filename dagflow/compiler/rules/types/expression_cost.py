"""DF202: expressions that could take too long or too much."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, Violation, rule
from dagflow.core.findings import Severity


@rule("DF202", "expression-cost", Severity.ERROR, "typed")
def expression_cost(checks: Checks) -> Iterator[Violation]:
    """An expression could take more loop turns or more memory than any may.

    Expressions run inside the engine, so what one of them can cost is bounded before it runs:
    by the sizes that the schemas allow (`maxItems`, `maxLength`).

    Bad:

        dagflow: 1
        name: pairs
        inputs: {words: {type: array, items: {type: string}, maxItems: 1000}}
        steps:
          all: {transform: 'inputs.words.map(a, inputs.words.map(b, a == b))'}  # DF202: 
        outputs:
          table: ${{ steps.all.output }}

    Good:

        dagflow: 1
        name: pairs
        inputs: {words: {type: array, items: {type: string}, maxItems: 40}}
        steps:
          all: {transform: 'inputs.words.map(a, inputs.words.map(b, a == b))'}
        outputs:
          table: ${{ steps.all.output }}
    """
    yield from checks.faults("expression-cost")
