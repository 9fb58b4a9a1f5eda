"""DF202: expressions that could take too long or too much."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF202", "expression-cost", Severity.ERROR, "typed")
def expression_cost(checks: Checks) -> Iterator[Violation]:
    """An expression could take more loop turns or more memory than any may.

    Expressions run inside the engine, so what one of them can cost is bounded before it runs. What
    depends on the size of its inputs is bounded when these are known; here it is too much for
    any.

    Bad:

        dagflow: 1
        name: crack
        inputs: {code: integer}
        steps:
          found:
            transform: |
              [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].exists(a,  // # DF202: evaluating this takes up to…
              [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].exists(b,
              [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].exists(c,
              [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].exists(d,
                inputs.code == a * 1000 + b * 100 + c * 10 + d))))
        outputs:
          found: ${{ steps.found.output }}

    Good:

        dagflow: 1
        name: crack
        inputs: {code: integer}
        steps:
          found: {transform: inputs.code >= 0 && inputs.code <= 9999}
        outputs:
          found: ${{ steps.found.output }}
    """
    yield from checks.faults("expression-cost")
