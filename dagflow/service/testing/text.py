"""Results in plain text: a line a case, and below those what went otherwise, at its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from dagflow.compiler.report.text import RESET, STYLES, quoted, render
from dagflow.core.source import Source
from dagflow.core.text import clean, counted
from dagflow.service.testing.coverage import Coverage
from dagflow.service.testing.failure import Failure
from dagflow.service.testing.running import CaseResult, FileResult, report_of

OK: Final = "ok"
FAILED: Final = "FAILED"
SHOWN: Final = 12
"""Parts that were not reached, named at most."""


def file_text(result: FileResult, *, color: bool = False) -> str:
    """Write what became of a test file."""
    if result.findings:
        return render(report_of(result), result.sources, color=color)
    lines = [clean(result.name)]
    for case in result.cases:
        lines += _case(case, result.sources, color=color)
    return "\n".join(lines) + "\n"


def _case(case: CaseResult, sources: Mapping[str, Source], *, color: bool) -> Iterator[str]:
    mark = _painted("ok", f"{OK:<6}", color) if case.passed else _painted("error", FAILED, color)
    yield f"  {mark}  {clean(case.name)}"
    for failure in case.failures:
        yield ""
        yield from (f"    {line}".rstrip() for line in failure_lines(failure, sources, color=color))
    if case.failures:
        if case.ended:
            yield f"      = {_painted('bold', 'the run', color)}: {clean(case.ended)}"
        yield ""


def failure_lines(
    failure: Failure, sources: Mapping[str, Source], *, color: bool = False
) -> Iterator[str]:
    """Yield the lines of a failure: what, where, what was expected and what came."""
    yield f"{_painted('error', 'error', color)}: {_painted('bold', clean(failure.message), color)}"
    yield from quoted(failure.span, sources, color=color)
    if failure.expected or failure.got:
        yield f"  = expected: {clean(failure.expected)}"
        yield f"  = got:      {clean(failure.got)}"
    if failure.help:
        yield f"  = help: {clean(failure.help)}"


def _painted(style: str, text: str, color: bool) -> str:
    return f"{STYLES[style]}{text}{RESET}" if color else text


def coverage_text(name: str, found: Coverage, *, everything: bool = False) -> str:
    """Write what no case came to, and what one came to on the quiet; "" where there is nothing."""
    needless = ", ".join(found.needless)
    told = f"note: {clean(name)}: reached, though `not_reached` has it: {needless}\n"
    return (told if needless else "") + _missing(name, found, everything=everything)


def _missing(name: str, found: Coverage, *, everything: bool) -> str:
    if not found.missing:
        return ""
    shown = found.missing if everything else found.missing[:SHOWN]
    more = len(found.missing) - len(shown)
    rest = f" and {more} more" if more else ""
    return f"note: {clean(name)}: not reached: {', '.join(shown)}{rest}\n"


def summary_text(results: tuple[FileResult, ...], *, color: bool = False) -> str:
    """Write how many cases passed and failed, on one line."""
    cases = [case for result in results for case in result.cases]
    failed = sum(not case.passed for case in cases)
    refused = sum(bool(result.findings) for result in results)
    said = [f"{counted(len(cases) - failed, 'case')} passed"]
    said += [f"{failed:,} failed"] if failed else []
    said += [f"{counted(refused, 'file')} could not be run"] if refused else []
    line = f"{', '.join(said)}, in {counted(len(results), 'file')}"
    good = not failed and not refused
    return f"{_painted('ok' if good else 'error', OK if good else FAILED, color)} {line}\n"
