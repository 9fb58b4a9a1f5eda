"""Applies the safe fixes of findings to a file's text, and never leaves it worse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from dagflow.core.findings import Edit, Finding, Fix, Report, Severity
from dagflow.core.records import dataclass
from dagflow.core.source import Source

ROUNDS: Final = 10
"""How often a text is fixed and looked at again: one fix may bring another to light."""

Check = Callable[[str], Report]
"""Checks a text."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """What fixing came to: the text, and the fixes that were made, in order."""

    text: str
    made: tuple[str, ...]


def fix(text: str, name: str, check: Check) -> Fixed:
    """Apply the fixes of a text's findings until there are none, or none helps.

    A fix is kept when the text has no more errors than before; else it is left out.
    """
    made: list[str] = []
    refused: set[tuple[str, str]] = set()
    for _ in range(ROUNDS):
        report = check(text)
        wanted = [f for f in _fixes(report.findings, name) if (f.description, text) not in refused]
        chosen = _apart(wanted)
        if not chosen:
            break
        after = apply(text, chosen)
        if _errors(check(after)) <= _errors(report):
            text, made = after, [*made, *(each.description for each in chosen)]
            continue
        one = _helping(text, chosen, check, _errors(report))
        refused.update((each.description, text) for each in chosen if each is not one)
        if one is None:
            break
        text, made = apply(text, [one]), [*made, one.description]
    return Fixed(text, tuple(made))


def _helping(text: str, fixes: Sequence[Fix], check: Check, errors: int) -> Fix | None:
    """Return the first fix that by itself makes nothing worse."""
    return next((one for one in fixes if _errors(check(apply(text, [one]))) <= errors), None)


def _errors(report: Report) -> int:
    return sum(finding.severity is Severity.ERROR for finding in report.findings)


def _fixes(findings: Iterable[Finding], name: str) -> list[Fix]:
    """Return the first fix of each finding that changes this file alone."""
    return [
        finding.fixes[0]
        for finding in findings
        if finding.fixes and all(edit.span.file == name for edit in finding.fixes[0].edits)
    ]


def _apart(fixes: Iterable[Fix]) -> list[Fix]:
    """Return the fixes, without those that touch what an earlier one changes."""
    chosen: list[Fix] = []
    taken: list[Edit] = []
    for fix_ in fixes:
        if not any(_overlap(edit, other) for edit in fix_.edits for other in taken):
            chosen.append(fix_)
            taken += fix_.edits
    return chosen


def _overlap(one: Edit, two: Edit) -> bool:
    first, second = sorted((_range(one), _range(two)))
    return second[0] < first[1] or first == second


def _range(edit: Edit) -> tuple[tuple[int, int], tuple[int, int]]:
    span = edit.span
    return (span.line, span.column), (span.end_line, span.end_column)


def apply(text: str, fixes: Iterable[Fix]) -> str:
    """Return the text with the edits of fixes that do not overlap."""
    source = Source("", text)
    starts = [*_line_starts(source.text), len(text)]
    edits = sorted((edit for each in fixes for edit in each.edits), key=_range, reverse=True)
    for edit in edits:
        begin, end = (starts[line - 1] + column - 1 for line, column in _range(edit))
        text = text[:begin] + edit.text + text[end:]
    return text


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for index, char in enumerate(text):
        if char == "\n":
            starts.append(index + 1)
    return starts
