"""The pages for users are true: their workflows check and give what is said, their links lead."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from dagflow.cli import COMMANDS
from dagflow.compiler.report.text import render
from dagflow.core.findings import Severity
from dagflow.core.steps import KINDS
from dagflow.core.workflow import Step, Workflow
from dagflow.service.bundle import read_bundle
from dagflow.service.check import Checked, check
from dagflow.service.plans import load_plan
from dagflow.service.testing.running import FileResult
from dagflow.service.testing.running import run_file as run_tests
from dagflow.service.testing.text import file_text
from tests.docs.pages import EXAMPLES, PAGES, ROOT, Example, Report, links
from tests.workflows.desk import run_file

README = (ROOT / "README.md").read_text()
LANGUAGE = (ROOT / "docs" / "language.md").read_text()


def written(example: Example, folder: Path, name: str = "workflow.yaml", text: str = "") -> str:
    """Write an example with the files beside it, and return its file."""
    for other, body in example.files.items():
        (folder / other).write_text(body)
    (folder / name).write_text(text or example.text)
    return name


def checked_at(folder: Path, name: str) -> Checked:
    return check(read_bundle(str(folder / name)))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda it: it.id)
def test_a_workflow_of_a_page_has_no_findings(example: Example, tmp_path: Path) -> None:
    found = checked_at(tmp_path, written(example, tmp_path))

    assert not found.has(Severity.WARNING), render(found.report, found.sources)
    assert found.plan is not None


RUNS = [(example, *run) for example in EXAMPLES for run in example.runs]


@pytest.mark.parametrize(
    ("example", "inputs", "outputs"), RUNS, ids=[f"{run[0].id} {run[1]}" for run in RUNS]
)
def test_a_workflow_of_a_page_gives_what_the_page_says(
    example: Example, inputs: str, outputs: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = written(example, tmp_path)
    plan = load_plan(str(tmp_path / name)).plan
    assert plan is not None
    if any(KINDS[step.kind].sandboxed for step in plan.steps):
        request.getfixturevalue("sandbox")

    ended = run_file(tmp_path / name, json.loads(inputs), tmp_path / "runs.db")

    assert ended.outputs == json.loads(outputs)


REPORTS = [(example, report) for example in EXAMPLES for report in example.reports]


@pytest.mark.parametrize(("example", "report"), REPORTS, ids=[it[0].id for it in REPORTS])
def test_a_workflow_is_refused_with_the_words_of_the_page(
    example: Example, report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert report.old in example.text
    monkeypatch.chdir(tmp_path)
    written(example, tmp_path, report.name, example.text.replace(report.old, report.new))

    found = check(read_bundle(report.name))

    said = [line.rstrip() for line in render(found.report, found.sources).splitlines()]
    shown = [line.rstrip() for line in report.shown.splitlines()]
    assert said[: len(shown)] == shown


TESTED = [example for example in EXAMPLES if example.tests]


def results_of(example: Example, folder: Path, text: str) -> FileResult:
    written(example, folder)
    (folder / "workflow.test.yaml").write_text(text)
    return run_tests("workflow.test.yaml")


@pytest.mark.parametrize("example", TESTED, ids=lambda it: it.id)
def test_the_tests_of_a_page_pass_and_fail_with_its_words(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for text in example.tests:
        found = results_of(example, tmp_path, text)
        assert found.passed, file_text(found)
    for result in example.results:
        assert result.old in example.tests[-1]
        before, _, after = example.tests[-1].rpartition(result.old)
        found = results_of(example, tmp_path, f"{before}{result.new}{after}")
        said = [line.rstrip() for line in file_text(found).splitlines()]
        shown = [line.rstrip() for line in result.shown.strip().splitlines()]
        assert said[: len(shown)] == shown


def test_pages_have_examples_that_are_checked_run_and_refused() -> None:
    assert len(EXAMPLES) > 10
    assert len(RUNS) > 6
    assert len(REPORTS) > 1
    assert sum(len(example.results) for example in TESTED) > 0
    assert {example.page for example in EXAMPLES} >= {"README.md", "docs/language.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_that_exist(page: Path) -> None:
    assert [to for to in links(page) if not (page.parent / to).exists()] == []


def test_the_readme_has_every_command_and_no_other() -> None:
    table = README.partition("## Commands")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `dagflow ([a-z]+)", table, re.MULTILINE)

    assert sorted(named) == sorted(COMMANDS)


def test_make_targets_that_pages_name_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"^    make ([a-z-]+)", page.read_text(), re.MULTILINE):
            assert f"\n{target}:" in makefile, f"{page.name} names make {target}"


def fields_of(record: type) -> set[str]:
    """Return the fields of a record as they are written in a file."""
    unwritten = {"source", "root", "span", "kind", "body"}
    return {f.name.rstrip("_") for f in fields(record) if f.name not in unwritten}


def named_in(heading: str) -> set[str]:
    """Return what the first column of the table under a heading names."""
    section = LANGUAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]*) \|", section, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}


def test_the_language_page_has_every_field_of_a_file() -> None:
    assert named_in("The file") == fields_of(Workflow)


def test_the_language_page_has_every_field_of_a_step() -> None:
    assert named_in("A step") == fields_of(Step) - {"name"}


def test_the_language_page_has_every_kind_with_an_example() -> None:
    heads = re.findall(r"^### (.+)$", LANGUAGE, re.MULTILINE)
    assert {name for head in heads for name in head.split(", ")} == set(KINDS)
    shown = "".join(example.text for example in EXAMPLES if example.page == "docs/language.md")
    assert [kind for kind in KINDS if f"{kind}:" not in shown] == []


def test_the_language_page_has_every_field_of_every_kind() -> None:
    missing = [
        f"{kind.name}.{name}"
        for kind in KINDS.values()
        for name in fields_of(kind.body)
        if not re.search(rf"[`{{ ,]{name}[`:}},]", LANGUAGE)
        # what stands under the kind's own key has no name in a file
        and name not in {kind.shorthand, "branches", "code", "network", "version"}
    ]

    assert missing == []
