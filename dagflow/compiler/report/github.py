"""The report as commands that GitHub Actions makes annotations of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dagflow.core.findings import Finding, Report, Severity

_COMMANDS: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "notice",
}


def to_github(report: Report) -> str:
    """Return a line for each finding; a runner shows it beside the line of the file."""
    return "".join(f"{_command(finding)}\n" for finding in report.findings)


def _command(finding: Finding) -> str:
    span = finding.span
    properties = {
        "file": span.file,
        "line": str(span.line),
        "col": str(span.column),
        "endLine": str(span.end_line),
        "endColumn": str(span.end_column),
        "title": f"{finding.code} {finding.name}",
    }
    if span.end_line != span.line:
        del properties["endColumn"]  # the runner takes columns within one line only
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = f"{finding.message}\n{finding.help}" if finding.help else finding.message
    return f"::{_COMMANDS[finding.severity]} {told}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
