"""The report as SARIF 2.1.0, which code hosts and editors read (OASIS, 2020)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote

from dagflow.compiler.report.fingerprint import fingerprint
from dagflow.compiler.rule import Rule
from dagflow.core.findings import Finding, Fix, Related, Report, Severity
from dagflow.core.source import Source, Span
from dagflow.core.values import JsonObject, JsonValue
from dagflow.version import VERSION

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
RULE_PAGES: Final = "https://dagflow.dev/docs/rules/"

_LEVELS: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "note",
}


def to_sarif(
    reports: Sequence[Report], sources: Mapping[str, Source], rules: Iterable[Rule]
) -> JsonObject:
    """Return one SARIF log of the reports, with the rules that they speak of.

    Columns are code points, paths are relative as the files were named. A finding that a comment
    allows is there with its suppression, as SARIF means it.
    """
    results = [result for report in reports for result in _results(report, sources)]
    told = {str(result["ruleId"]) for result in results}
    listed = [_rule(rule) for rule in rules if rule.code in told]
    index = {str(rule["id"]): number for number, rule in enumerate(listed)}
    for result in results:
        result["ruleIndex"] = index[str(result["ruleId"])]
    driver: JsonObject = {
        "name": "dagflow",
        "version": VERSION,
        "informationUri": "https://dagflow.dev/docs",
        "rules": list(listed),
    }
    run: JsonObject = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": list(results),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> JsonObject:
    first, *rest = rule.doc.strip().split("\n\n")
    about = " ".join(first.split())
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": about},
        "fullDescription": {"text": " ".join([about, *" ".join(rest[:1]).split()])},
        "helpUri": f"{RULE_PAGES}{rule.code}",
        "help": {"text": f"dagflow explain {rule.code}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _results(report: Report, sources: Mapping[str, Source]) -> list[JsonObject]:
    seen: Counter[str] = Counter()
    kept = ((finding, False) for finding in report.findings)
    allowed = ((finding, True) for finding in report.allowed)
    found = sorted((*kept, *allowed), key=lambda pair: (pair[0].span, pair[0].code))
    return [_result(finding, sources, seen, is_allowed=gone) for finding, gone in found]


def _result(
    finding: Finding, sources: Mapping[str, Source], seen: Counter[str], *, is_allowed: bool
) -> JsonObject:
    key = fingerprint(finding, sources)
    seen[key] += 1
    result: JsonObject = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [_location(finding.span)],
        "partialFingerprints": {"dagflow/v1": f"{key}:{seen[key]}"},
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_told(place)} for number, place in enumerate(finding.related)
        ]
    if finding.flow:
        steps: list[JsonValue] = [{"location": _told(place)} for place in finding.flow]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if finding.fixes:
        result["fixes"] = [_fix(fix) for fix in finding.fixes]
    if finding.witness is not None:
        result["properties"] = {"witness": finding.witness}
    if is_allowed:
        result["suppressions"] = [{"kind": "inSource"}]
    return result


def _message(finding: Finding) -> str:
    return f"{finding.message}\n{finding.help}" if finding.help else finding.message


def _told(place: Related) -> JsonObject:
    return {**_location(place.span), "message": {"text": place.message}}


def _location(span: Span) -> JsonObject:
    return {"physicalLocation": {"artifactLocation": _artifact(span), "region": _region(span)}}


def _artifact(span: Span) -> JsonObject:
    return {"uri": quote(PurePosixPath(span.file).as_posix(), safe="/:")}


def _region(span: Span) -> JsonObject:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _fix(fix: Fix) -> JsonObject:
    files: dict[str, list[JsonValue]] = {}
    for edit in fix.edits:
        replacement: JsonObject = {
            "deletedRegion": _region(edit.span),
            "insertedContent": {"text": edit.text},
        }
        files.setdefault(edit.span.file, []).append(replacement)
    changes: list[JsonValue] = [
        {"artifactLocation": {"uri": quote(file, safe="/:")}, "replacements": replacements}
        for file, replacements in files.items()
    ]
    return {"description": {"text": fix.description}, "artifactChanges": changes}
