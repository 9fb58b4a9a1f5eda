"""DF003: comments that allow a finding, and don't do it well."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.allow import speaks_for
from dagflow.compiler.rule import Allowance, Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.words import nearest


@rule("DF003", "suppression", Severity.WARNING, "report")
def suppression(checks: Checks) -> Iterator[Violation]:
    """A comment allows a finding without a reason, or one that isn't there.

    `# dagflow: allow NAME — reason` takes a warning or a note off its own line and the next. The
    reason is for whoever reads the file next; without one the comment does nothing. An error
    stops the plan and can't be allowed.

    Bad:

        dagflow: 1
        name: ask
        steps:
          sure:
            # dagflow: allow approval-endless  # DF003: the comment gives no reason…
            approve: {message: Go on?}  # DF903: the approval never expires…

    Good:

        dagflow: 1
        name: ask
        steps:
          sure:
            # dagflow: allow approval-endless — the run is cancelled by hand when it isn't needed
            approve: {message: Go on?}
    """
    for allowance in checks.allowances:
        problem = _problem(allowance, checks)
        if problem is not None:
            severity, message = problem
            yield Violation(span=allowance.span, message=message, severity=severity)


def _problem(allowance: Allowance, checks: Checks) -> tuple[Severity, str] | None:
    name = allowance.name
    if name not in checks.rules:
        hint = nearest(name, tuple(checks.rules))
        return Severity.WARNING, f"no rule is named {name!r}{hint}"
    if not allowance.reason:
        message = "the comment gives no reason, and allows nothing without one"
        return Severity.WARNING, message
    if any(speaks_for(allowance, finding) for finding in checks.found):
        return None
    if checks.rules[name] is Severity.ERROR:
        return Severity.WARNING, f"{name!r} is an error: it stops the plan and can't be allowed"
    return Severity.NOTE, f"nothing here or on the next line is {name!r}; the comment can go"
