"""A baseline: findings that were there when dagflow came, which new checks need not repeat."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from dagflow.compiler.report.fingerprint import fingerprint
from dagflow.core.errors import UsageError
from dagflow.core.findings import Finding, Report
from dagflow.core.records import dataclass
from dagflow.core.source import Source
from dagflow.core.values import JsonObject

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Known:
    """A finding of a baseline, as people read it, and how often it was there."""

    key: str
    name: str
    file: str
    message: str
    count: int = 1


def known_of(findings: Iterable[tuple[Finding, Mapping[str, Source]]]) -> tuple[Known, ...]:
    """Return the entries of a baseline that knows these findings."""
    counts: Counter[str] = Counter()
    first: dict[str, Finding] = {}
    for finding, sources in findings:
        key = fingerprint(finding, sources)
        counts[key] += 1
        first.setdefault(key, finding)
    entries = (
        Known(key, finding.name, finding.span.file, finding.message, counts[key])
        for key, finding in first.items()
    )
    return tuple(sorted(entries, key=lambda each: (each.file, each.name, each.key)))


class Baseline:
    """The entries that are still to be met; what is met is no news."""

    def __init__(self, entries: Iterable[Known]) -> None:
        self._entries = {entry.key: entry for entry in entries}
        self._left = Counter({entry.key: entry.count for entry in self._entries.values()})

    def without_known(self, report: Report, sources: Mapping[str, Source]) -> Report:
        """Return the report with its new findings alone."""
        kept = tuple(f for f in report.findings if not self._met(fingerprint(f, sources)))
        return replace(report, findings=kept)

    def _met(self, key: str) -> bool:
        if self._left[key] <= 0:
            return False
        self._left[key] -= 1
        return True

    def stale(self, files: Iterable[str]) -> tuple[Known, ...]:
        """Return the entries about these files that no finding has met."""
        looked_at = set(files)
        return tuple(
            entry
            for entry in self._entries.values()
            if self._left[entry.key] > 0 and entry.file in looked_at
        )


def to_text(entries: Iterable[Known]) -> str:
    """Write a baseline, sorted, so that a change of it reads well in a review."""
    found = [
        {"key": e.key, "name": e.name, "file": e.file, "message": e.message, "count": e.count}
        for e in entries
    ]
    whole = {"schema_version": SCHEMA_VERSION, "findings": found}
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def from_text(text: str, name: str) -> Baseline:
    """Read a baseline; raises `UsageError` with the reason where it is none."""
    try:
        value = json.loads(text)
        entries = [_entry(item) for item in value["findings"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        remedy = "write it anew with `dagflow check --write-baseline`"
        raise UsageError(f"{name} is no baseline: {error}", remedy=remedy) from None
    return Baseline(entries)


def _entry(item: JsonObject) -> Known:
    count = item.get("count", 1)
    if not isinstance(count, int):
        raise TypeError(f"count is {count!r}, not a number")
    names = ("key", "name", "file", "message")
    key, name, file, message = (str(item[each]) for each in names)
    return Known(key, name, file, message, count)
