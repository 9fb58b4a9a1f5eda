"""DF002: keys and values that the language does not have."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.parsed import from_parser
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.types.shape import misshapen
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF002", "schema-shape", Severity.ERROR, "source")
def schema_shape(checks: Checks) -> Iterator[Violation]:
    """A key is unknown, missing, or holds a value of the wrong form.

    An unknown key is never passed over: it is a typo whose effect would be missed only when the
    workflow runs.

    Bad:

        dagflow: 1
        name: pause
        steps:
          nap:
            wait: {for: 5s}
            tiemout: 10s  # DF002: step `nap` has no key `tiemout`; did you mean…

    Good:

        dagflow: 1
        name: pause
        steps:
          nap:
            wait: {for: 5s}
            timeout: 10s

    Bad:

        dagflow: 1
        name: pause
        steps:
          nap:
            wait: {for: 5s, signal: done}  # DF002: `wait` has both `for` and `signal`

    Good:

        dagflow: 1
        name: pause
        steps:
          nap:
            wait: {signal: done, expires: 1h}
    """
    yield from from_parser(checks, "DF002")
    if checks.workflow is not None:
        yield from misshapen(checks.workflow)
