"""No false alarm: correct workflows have neither an error nor a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagflow.core.findings import Severity
from dagflow.service.bundle import read_bundle
from dagflow.service.check import check

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_correct_workflow_has_neither_an_error_nor_a_warning(file: Path) -> None:
    report = check(read_bundle(str(file))).report

    told = [f for f in report.findings if f.severity is not Severity.NOTE]
    assert [f"{f.code} {f.span.line}: {f.message}" for f in told] == []
    assert 5 <= report.before.nodes <= 60


def test_there_are_many_of_them() -> None:
    assert len(FILES) >= 30
