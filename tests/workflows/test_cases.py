"""Every example workflow has a test file, whose cases pass and leave no part of it out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dagflow.executor.sandbox.preflight import open_cage
from dagflow.service.testing.running import covered, run_file
from dagflow.service.testing.text import file_text
from tests.workflows.desk import FOLDER, NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_cases_of_a_workflow_pass_and_reach_all_of_it(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = FOLDER / f"{name}.test.yaml"
    cage = None
    if "real:" in file.read_text():
        request.getfixturevalue("sandbox")
        cage = asyncio.run(open_cage(unsafe=False))
    monkeypatch.chdir(FOLDER.parent)

    found = run_file(file.relative_to(Path.cwd()).as_posix(), cage=cage)

    assert found.passed, file_text(found)
    assert len(found.cases) >= 4
    (coverage,) = covered((found,)).values()
    assert (coverage.missing, coverage.needless) == ((), ())
