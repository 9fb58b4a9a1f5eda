"""DF003: comments that allow a finding, and don't do it well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dagflow.compiler.allow import speaks_for
from dagflow.compiler.rule import Allowance, Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Edit, Fix, Severity
from dagflow.core.source import Span
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
            fixes = (_removed(allowance, checks),) if severity is Severity.NOTE else ()
            yield Violation(span=allowance.span, message=message, severity=severity, fixes=fixes)


def _removed(allowance: Allowance, checks: Checks) -> Fix:
    """Return the change that takes a comment out, with its line where it has one to itself."""
    span = allowance.span
    line = checks.source.line(span.line)
    if line[: span.column - 1].strip():
        begin = len(line[: span.column - 1].rstrip()) + 1
        place = replace(span, column=begin)
    else:
        place = Span(span.line, 1, span.line + 1, 1, span.file)
    return Fix("take the comment out", (Edit(place, ""),))


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
