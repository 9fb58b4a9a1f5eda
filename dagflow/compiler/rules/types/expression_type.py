"""DF201: expressions whose types don't go together."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF201", "expression-type", Severity.ERROR, "typed")
def expression_type(checks: Checks) -> Iterator[Violation]:
    """An expression can't be read, or its types don't go together.

    Types are those of the declared inputs and outputs, of the tools' documents, and of what
    follows from them. An expression that is wrong here would fail in every run.

    Bad:

        dagflow: 1
        name: gate
        inputs: {count: integer}
        steps:
          stop:
            when: inputs.count + 1  # DF201: `inputs.count + 1` is an integer, not a boolean
            fail: too many

    Good:

        dagflow: 1
        name: gate
        inputs: {count: integer}
        steps:
          stop:
            when: inputs.count > 1
            fail: too many
    """
    yield from checks.faults("expression-type")
