"""The report as JUnit XML, as CI servers read it: a suite a file, a case a finding."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from dagflow.core.findings import Finding, Report, Severity

_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 can't say, not even escaped."""


def to_junit(reports: Sequence[tuple[str, Report]], *, least: Severity = Severity.ERROR) -> str:
    """Return the XML of reports by file; findings at or above `least` are failures.

    A file without any has one case that passed, so that a server sees that it was looked at.
    """
    order = list(Severity)
    suites = [_suite(file, report, order[: order.index(least) + 1]) for file, report in reports]
    tests = sum(max(1, len(report.findings)) for _, report in reports)
    failed = sum(_failures(report, order[: order.index(least) + 1]) for _, report in reports)
    head = f'<testsuites name="dagflow check" tests="{tests}" failures="{failed}" errors="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>", ""])


def _failures(report: Report, failing: Sequence[Severity]) -> int:
    return sum(finding.severity in failing for finding in report.findings)


def _suite(file: str, report: Report, failing: Sequence[Severity]) -> str:
    cases = [_case(file, finding, failing) for finding in report.findings]
    if not cases:
        cases = [f"    <testcase classname={_attribute(file)} name={_attribute('no findings')}/>"]
    failed = _failures(report, failing)
    head = (
        f'  <testsuite name={_attribute(file)} tests="{len(cases)}" '
        f'failures="{failed}" errors="0" skipped="0">'
    )
    return "\n".join([head, *cases, "  </testsuite>"])


def _case(file: str, finding: Finding, failing: Sequence[Severity]) -> str:
    span = finding.span
    name = f"{finding.code} {finding.name} at {span.line}:{span.column}"
    head = (
        f"    <testcase classname={_attribute(file)} name={_attribute(name)} "
        f'file={_attribute(span.file)} line="{span.line}"'
    )
    text = f"{span.file}:{span.line}:{span.column}: {finding.message}"
    if finding.help:
        text += f"\nhelp: {finding.help}"
    if finding.severity not in failing:
        out = f"{finding.severity.value}: {text}"
        return f"{head}><system-out>{_text(out)}</system-out></testcase>"
    kind = _attribute(finding.severity.value)
    message = _attribute(finding.message)
    return f"{head}><failure type={kind} message={message}>{_text(text)}</failure></testcase>"


def _text(value: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", value))


def _attribute(value: str) -> str:
    return quoteattr(_FORBIDDEN.sub("\ufffd", value), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
