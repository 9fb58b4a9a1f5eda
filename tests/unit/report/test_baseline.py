"""A baseline hides what it knows, and no more."""

from __future__ import annotations

import pytest

from dagflow.core.errors import UsageError
from dagflow.core.findings import Finding, Report, Severity
from dagflow.core.source import Source, Span
from dagflow.service.baseline import Baseline, from_text, known_of, to_text

SOURCES = {"f": Source("f", "one\ntwo\nthree\ntwo\n")}


def finding(line: int, name: str = "unused") -> Finding:
    return Finding("DF004", name, Severity.WARNING, "m", Span(line, 1, line, 2, "f"), path="/a")


def report(*findings: Finding) -> Report:
    return Report(workflow="w", version="", plan=None, findings=findings)


def baseline(*findings: Finding) -> Baseline:
    return from_text(to_text(known_of((each, SOURCES) for each in findings)), "b.json")


def test_known_finding_is_hidden_though_its_line_moved() -> None:
    known = baseline(finding(2))

    left = known.without_known(report(finding(4)), SOURCES)

    assert left.findings == ()


def test_second_finding_like_a_known_one_is_news() -> None:
    known = baseline(finding(2))

    left = known.without_known(report(finding(2), finding(4)), SOURCES)

    assert left.findings == (finding(4),)


def test_finding_on_another_line_or_of_another_rule_is_news() -> None:
    known = baseline(finding(2))

    left = known.without_known(report(finding(1), finding(2, "cycle")), SOURCES)

    assert len(left.findings) == 2


def test_entry_that_nothing_met_is_stale_for_files_that_were_looked_at() -> None:
    known = baseline(finding(2), finding(3))
    known.without_known(report(finding(2)), SOURCES)

    assert [entry.name for entry in known.stale(["f"])] == ["unused"]
    assert known.stale(["g"]) == ()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"findings": [{}]}', '{"findings": [1]}'])
def test_file_that_is_no_baseline_is_refused_with_the_way_out(text: str) -> None:
    with pytest.raises(UsageError, match="is no baseline"):
        from_text(text, "b.json")
