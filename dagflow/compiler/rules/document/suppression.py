"""DF003: comments that allow a finding, and don't do it well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dagflow.compiler.allow import speaks_for
from dagflow.compiler.proofs.labels.sinks import labelled
from dagflow.compiler.proofs.labels.trails import Label
from dagflow.compiler.rule import Allowance, Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Edit, Fix, Severity
from dagflow.core.source import Span
from dagflow.core.words import nearest


def _trusting(checks: Checks) -> Iterator[Violation]:
    """Find steps that trust what they take without a reason, or where nothing needs it."""
    for facts in checks.model.steps() if checks.model is not None else ():
        for each in (facts, facts.compensate):
            if each is None or each.step.trust is None or checks.labels is None:
                continue
            trust, step = each.step.trust, each.path
            if not trust.value.strip():
                message = "`trust` gives no reason, and trusts nothing without one"
                yield Violation(span=trust.span, message=message, step=step)
            elif not any(labelled(checks.labels, each, _any)):
                message = f"{step!r} takes no text from outside: `trust` can go"
                yield Violation(span=trust.span, message=message, step=step, severity=Severity.NOTE)


def _any(_label: Label) -> bool:
    return True


@rule("DF003", "suppression", Severity.WARNING, "report", later=("graph", _trusting))
def suppression(checks: Checks) -> Iterator[Violation]:
    """A comment, or `trust`, allows something without a reason, or something that isn't there.

    `# dagflow: allow NAME — reason` takes a warning or a note off its own line and the next. The
    reason is for whoever reads the file next; without one the comment does nothing. An error
    stops the plan and can't be allowed. The same holds for `trust: <why>` of a step that takes
    text from outside.

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

    Bad:

        dagflow: 1
        name: run
        steps:
          which:
            wait: {signal: command, expires: 1h}
            output: {program: string}
          it:
            shell: ["${{ steps.which.output.program }}"]  # DF902: text from outside would be the…
            trust: ""  # DF003: `trust` gives no reason, and trusts nothing without one

    Good:

        dagflow: 1
        name: run
        steps:
          which:
            wait: {signal: command, expires: 1h}
            output: {program: string}
          it:
            shell: ["${{ steps.which.output.program }}"]
            trust: only our own operators can send the signal
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
