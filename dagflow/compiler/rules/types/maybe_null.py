"""DF205: values that may be null, used where null has no meaning."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF205", "maybe-null", Severity.ERROR, "typed")
def maybe_null(checks: Checks) -> Iterator[Violation]:
    """A value that may be null is used as if it never were.

    A null is a value, not an absence: `orValue` does not replace it, and a field of it can't be
    read. Test it first.

    Bad:

        dagflow: 1
        name: greet
        inputs: {name: {type: [string, "null"]}}
        steps:
          hello: {transform: '"hello " + inputs.name'}  # DF205: `inputs.name` may be null here…
        outputs:
          text: ${{ steps.hello.output }}

    Good:

        dagflow: 1
        name: greet
        inputs: {name: {type: [string, "null"]}}
        steps:
          hello: {transform: 'inputs.name == null ? "hello" : "hello " + inputs.name'}
        outputs:
          text: ${{ steps.hello.output }}
    """
    yield from checks.faults("maybe-null")
