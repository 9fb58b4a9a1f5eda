"""What the parser found, for the rules that speak for it."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks
from dagflow.compiler.violation import Violation


def from_parser(checks: Checks, code: str) -> Iterator[Violation]:
    """Yield the parser's findings of one code as violations of the rule with that code."""
    for finding in checks.parsed:
        if finding.code == code:
            yield Violation(
                span=finding.span,
                message=finding.message,
                path=finding.path,
                related=finding.related,
                witness=finding.witness,
                help=finding.help,
                fixes=finding.fixes,
                severity=finding.severity,
            )
