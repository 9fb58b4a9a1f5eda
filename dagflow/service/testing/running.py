"""Runs test files: each case from its text to what went otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dagflow.compiler.source.text import decode
from dagflow.core.errors import DagflowError, UsageError
from dagflow.core.findings import Finding, Report, Severity
from dagflow.core.plan import Plan
from dagflow.core.source import Source, Span
from dagflow.service.testing.cases import Case, CaseFile
from dagflow.service.testing.coverage import Coverage, coverage
from dagflow.service.testing.expecting import failure_text, top_of, unmet
from dagflow.service.testing.failure import FailedError, Failure
from dagflow.service.testing.fitting import misfits
from dagflow.service.testing.reading import read_cases, trouble
from dagflow.service.testing.script import script_of
from dagflow.service.testing.stage import Stage
from dagflow.service.testing.subject import Subject, load
from dagflow.service.testing.trace import Reached

SUFFIX: Final = ".test.yaml"
MAX_FILE: Final = 1024 * 1024
Chosen = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of a case. `ended` says how the run ended and which way it went."""

    name: str
    span: Span
    failures: tuple[Failure, ...] = ()
    ended: str = ""

    @property
    def passed(self) -> bool:
        """Tell whether everything went as expected."""
        return not self.failures


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of a test file.

    `findings` say why it could not be run, of the file itself or of its workflow; `sources` are the
    texts that places are in. `plan` and `reached` are for what several files come to together.
    """

    name: str
    findings: tuple[Finding, ...] = ()
    cases: tuple[CaseResult, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    workflow: str = ""
    plan: Plan | None = None
    reached: frozenset[Reached] = frozenset()
    spared: frozenset[str] = frozenset()

    @property
    def passed(self) -> bool:
        """Tell whether the file could be run and every case passed."""
        return not self.findings and all(case.passed for case in self.cases)


def run_file(path: str, *, cage: object = None, chosen: Chosen = lambda _: True) -> FileResult:
    """Run the cases of a test file that are chosen by name. `cage` is for code that runs for real.

    Raises `UsageError` when the file can't be read.
    """
    source, findings = _source(path)
    read = read_cases(source)
    sources = {source.name: source}
    found = (*findings, *read.findings)
    if found or read.file is None:
        return FileResult(path, found, sources=sources)
    try:
        workflow = _workflow(path, read.file)
        subject, checked = load(workflow)
    except UsageError as error:
        place = read.file.span if read.file.workflow is None else read.file.workflow.span
        return FileResult(path, (trouble(error.message, place, error.remedy),), sources=sources)
    sources = {**checked.sources, **sources}
    if subject is None:
        errors = tuple(it for it in checked.report.findings if it.severity is Severity.ERROR)
        return FileResult(path, errors, sources=sources)
    wrong = misfits(read.file, subject)
    if wrong:
        return FileResult(path, wrong, sources=sources)
    services = {"module_paths": subject.folders} | ({"cage": cage} if cage is not None else {})
    results: list[CaseResult] = []
    reached: set[Reached] = set()
    for case in read.file.cases:
        if chosen(f"{path}: {case.name.value}"):
            result, came_to = asyncio.run(_play(case, read.file, subject, services))
            results.append(result)
            reached |= came_to
    return FileResult(
        path, (), tuple(results), sources, str(Path(workflow).resolve()), subject.plan,
        frozenset(reached), frozenset(it.value for it in read.file.not_reached),
    )  # fmt: skip


async def _play(
    case: Case, file: CaseFile, subject: Subject, services: Mapping[str, object]
) -> tuple[CaseResult, set[Reached]]:
    script = script_of(case, file.defaults, subject)
    stage = Stage(script, services)
    name = case.name
    try:
        played = await stage.play()
    except FailedError as error:
        way = " → ".join(top_of(stage.trace))
        result = CaseResult(
            name.value, name.span, (error.failure,), f"came to {way}" if way else ""
        )
        return result, stage.trace.reached
    except DagflowError as error:
        said = f"the run broke: {error.message}"
        failure = Failure(said, name.span, help=error.remedy)
        return CaseResult(name.value, name.span, (failure,)), stage.trace.reached
    failures = (*unmet(case, played, subject), *script.left_over())
    run = played.run
    said = (
        run.state.value if run.error is None else f"{run.state.value} ({failure_text(run.error)})"
    )
    ended = f"{said}: {' → '.join(top_of(played.trace)) or 'no step began'}"
    return CaseResult(name.value, name.span, failures, ended), stage.trace.reached


def _source(path: str) -> tuple[Source, tuple[Finding, ...]]:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from error
    if len(data) > MAX_FILE:
        raise UsageError(f"{path} is larger than 1 MiB", remedy="split it into several test files")
    return decode(path, data)


def _workflow(path: str, file: CaseFile) -> str:
    """Return the workflow's file, from the working folder."""
    beside = Path(path).parent
    if file.workflow is not None:
        return _shown(beside / file.workflow.value)
    name = Path(path).name.removesuffix(SUFFIX)
    if name == Path(path).name:
        raise UsageError("the file names no `workflow`", remedy="add `workflow: ./NAME.yaml`")
    return _shown(beside / f"{name.partition('.')[0]}.yaml")


def _shown(path: Path) -> str:
    inside = path.is_absolute() and path.is_relative_to(Path.cwd())
    return (path.relative_to(Path.cwd()) if inside else path).as_posix()


def covered(results: tuple[FileResult, ...]) -> dict[str, Coverage]:
    """Return what the files come to together, of each workflow that they test."""
    plans: dict[str, Plan] = {}
    reached: dict[str, set[Reached]] = {}
    spared: dict[str, set[str]] = {}
    for result in results:
        if result.plan is not None:
            plans.setdefault(result.workflow, result.plan)
            reached.setdefault(result.workflow, set()).update(result.reached)
            spared.setdefault(result.workflow, set()).update(result.spared)
    return {
        _shown(Path(name)): coverage(plan, reached[name], spared[name])
        for name, plan in plans.items()
    }


def report_of(result: FileResult) -> Report:
    """Return why a file could not be run as a report, to be written like that of a check."""
    return Report(workflow=result.name, version="", plan=None, findings=result.findings)
