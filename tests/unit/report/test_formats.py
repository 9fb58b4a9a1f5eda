"""Reports for machines: valid in their formats, with every finding at its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from sarif_pydantic import Sarif

from dagflow.cli.reporting import FORMATS, Asked, Entry
from dagflow.compiler.report.github import to_github
from dagflow.compiler.report.junit import to_junit
from dagflow.compiler.report.sarif import to_sarif
from dagflow.compiler.rules import ALL
from dagflow.core.findings import Edit, Finding, Fix, Related, Report, Severity
from dagflow.core.source import Source, Span
from dagflow.service.bundle import read_bundle
from dagflow.service.check import check

FAULTY = Path(__file__).parents[2] / "golden" / "faulty"
PLACE = Span(3, 5, 3, 9, "flows/a b.yaml")


def made(**fields: object) -> Finding:
    """Return a finding with all that one may have."""
    whole: dict[str, object] = {
        "code": "DF401", "name": "guard-never", "severity": Severity.ERROR,
        "message": "never true, é 100%", "span": PLACE, "path": "/steps/x/when",
        "help": "first: this, then\nthat",
    }  # fmt: skip
    return Finding(**{**whole, **fields})  # type: ignore[arg-type]


def report(*findings: Finding, allowed: tuple[Finding, ...] = ()) -> Report:
    return Report(workflow="w", version="", plan=None, findings=findings, allowed=allowed)


def sarif(*findings: Finding, allowed: tuple[Finding, ...] = ()) -> Any:
    found: Any = to_sarif([report(*findings, allowed=allowed)], {}, ALL)
    Sarif.model_validate(found)
    return found["runs"][0]


def checked() -> list[Entry]:
    files = sorted(FAULTY.glob("*.yaml"))[:60]
    bundles = [read_bundle(str(file)) for file in files if ".openapi." not in file.name]
    return [(bundle, check(bundle)) for bundle in bundles]


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "html"])
def test_every_finding_of_the_golden_files_is_in_every_format(form: str) -> None:
    entries = checked()

    text = FORMATS[form](entries, Asked())

    findings = [finding for _, each in entries for finding in each.report.findings]
    assert len(findings) > 50
    assert all(finding.code in text for finding in findings)


def test_sarif_of_the_golden_files_is_valid() -> None:
    entries = checked()

    found = json.loads(FORMATS["sarif"](entries, Asked()))

    Sarif.model_validate(found)
    results = found["runs"][0]["results"]
    rules = found["runs"][0]["tool"]["driver"]["rules"]
    assert [rules[r["ruleIndex"]]["id"] for r in results] == [r["ruleId"] for r in results]
    keys = [r["partialFingerprints"]["dagflow/v1"] for r in results]
    assert len(set(keys)) == len(keys)


def test_sarif_tells_place_way_and_fix() -> None:
    step = Related("it comes from here", Span(1, 1, 1, 4, "flows/a b.yaml"))
    fix = Fix("write it so", (Edit(PLACE, "better"),))

    run = sarif(made(flow=(step,), related=(step,), fixes=(fix,), witness={"inputs": {"x": 1}}))

    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "flows/a%20b.yaml"}
    assert place["region"] == {
        "startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 9,
    }  # fmt: skip
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert flow[0]["location"]["message"]["text"] == "it comes from here"
    replacement = result["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert replacement["insertedContent"] == {"text": "better"}
    assert result["properties"] == {"witness": {"inputs": {"x": 1}}}


def test_sarif_knows_a_finding_again_when_lines_move() -> None:
    before, after = Source(PLACE.file, "\n\n  - x"), Source(PLACE.file, "\n\n\n\n  - x")
    moved = made(span=Span(5, 5, 5, 9, PLACE.file))

    logs: list[Any] = [
        to_sarif([report(finding)], {PLACE.file: source}, ALL)
        for finding, source in ((made(), before), (moved, after))
    ]
    keys = [log["runs"][0]["results"][0]["partialFingerprints"] for log in logs]

    assert keys[0] == keys[1]


def test_sarif_holds_what_a_comment_allows_as_suppressed() -> None:
    run = sarif(allowed=(made(severity=Severity.WARNING),))

    (result,) = run["results"]
    assert result["suppressions"] == [{"kind": "inSource"}]


def test_junit_is_xml_with_a_failure_for_what_fails_only() -> None:
    dark = made(message='<&"\x1b[31m red', severity=Severity.ERROR)
    light = made(severity=Severity.WARNING)

    text = to_junit([("a.yaml", report(dark, light)), ("b.yaml", report())])

    root = ET.fromstring(text)
    assert (root.get("tests"), root.get("failures")) == ("3", "1")
    (failure,) = root.iter("failure")
    assert failure.get("message") == '<&"\ufffd[31m red'
    assert [suite.get("name") for suite in root] == ["a.yaml", "b.yaml"]


def test_junit_counts_warnings_as_failures_where_they_fail() -> None:
    text = to_junit([("a.yaml", report(made(severity=Severity.WARNING)))], least=Severity.WARNING)

    assert ET.fromstring(text).get("failures") == "1"


def test_github_command_escapes_what_would_end_it() -> None:
    line = to_github(report(made(span=Span(3, 5, 3, 9, "a,b:c.yaml"))))

    assert line == (
        "::error file=a%2Cb%3Ac.yaml,line=3,col=5,endLine=3,endColumn=9,"
        "title=DF401 guard-never::never true, é 100%25%0Afirst: this, then%0Athat\n"
    )
