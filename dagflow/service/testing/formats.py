"""Results for programs: JSON, and JUnit's XML, which continuous integration shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from dagflow.compiler.report.text import render
from dagflow.core.source import Span
from dagflow.core.values import JsonObject, JsonValue
from dagflow.service.testing.coverage import Coverage
from dagflow.service.testing.failure import Failure
from dagflow.service.testing.running import CaseResult, FileResult, report_of
from dagflow.service.testing.text import failure_lines

SCHEMA_VERSION: Final = 1


def as_json(results: tuple[FileResult, ...], found: Mapping[str, Coverage]) -> JsonObject:
    """Return everything as JSON; the same files give the same bytes."""
    return {
        "schema_version": SCHEMA_VERSION,
        "passed": all(result.passed for result in results),
        "files": [_file(result) for result in results],
        "coverage": {
            name: {
                "reached": it.reached,
                "total": it.total,
                "not_reached": list[JsonValue](it.missing),
            }
            for name, it in found.items()
        },
    }


def _file(result: FileResult) -> JsonObject:
    return {
        "file": result.name,
        "passed": result.passed,
        "findings": [
            {"code": it.code, "message": it.message, "help": it.help, **_place(it.span)}
            for it in result.findings
        ],
        "cases": [_case(case) for case in result.cases],
    }


def _case(case: CaseResult) -> JsonObject:
    failures: list[JsonValue] = [_failure(failure) for failure in case.failures]
    return {
        "name": case.name, "passed": case.passed, "run": case.ended, **_place(case.span),
        "failures": failures,
    }  # fmt: skip


def _failure(failure: Failure) -> JsonObject:
    return {
        "message": failure.message, "expected": failure.expected or None,
        "got": failure.got or None, "help": failure.help or None, **_place(failure.span),
    }  # fmt: skip


def _place(span: Span) -> JsonObject:
    return {"file": span.file, "line": span.line, "column": span.column}


def as_junit(results: tuple[FileResult, ...]) -> str:
    """Return everything as JUnit's XML: a suite a file, an error where a file could not be run."""
    cases = sum(max(len(result.cases), bool(result.findings)) for result in results)
    failed = sum(not case.passed for result in results for case in result.cases)
    refused = sum(bool(result.findings) for result in results)
    counts = f'tests="{cases}" failures="{failed}" errors="{refused}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="dagflow" {counts}>']
    for result in results:
        lines += _suite(result)
    return "\n".join([*lines, "</testsuites>", ""])


def _suite(result: FileResult) -> list[str]:
    failed = sum(not case.passed for case in result.cases)
    name = quoteattr(_allowed(result.name))
    if result.findings:
        said = escape(_allowed(render(report_of(result), result.sources)))
        first = quoteattr(_allowed(result.findings[0].message))
        return [f'  <testsuite name={name} tests="1" failures="0" errors="1">',
                f'    <testcase name="(file)" classname={name}>',
                f"      <error message={first}>{said}</error>",
                "    </testcase>", "  </testsuite>"]  # fmt: skip
    lines = [
        f'  <testsuite name={name} tests="{len(result.cases)}" failures="{failed}" errors="0">'
    ]
    for case in result.cases:
        head = f"    <testcase name={quoteattr(_allowed(case.name))} classname={name}"
        if case.passed:
            lines.append(f"{head}/>")
            continue
        said = "\n".join(line for it in case.failures for line in failure_lines(it, result.sources))
        first = quoteattr(_allowed(case.failures[0].message))
        lines += [f"{head}>", f"      <failure message={first}>{escape(_allowed(said))}</failure>",
                  "    </testcase>"]  # fmt: skip
    return [*lines, "  </testsuite>"]


def _allowed(text: str) -> str:
    """Return the text without characters that XML 1.0 can't carry."""
    return "".join(
        it if it in "\t\n" or (it >= " " and it not in "\ufffe\uffff") else "�" for it in text
    )
