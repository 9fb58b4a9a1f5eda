"""The formats of `dagflow check`, each as a function of what was checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dagflow.core.findings import Severity
from dagflow.core.records import dataclass
from dagflow.service.bundle import Bundle
from dagflow.service.check import Checked


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How a report is to be written."""

    least: Severity = Severity.ERROR
    timings: bool = False
    color: bool = False


Entry = tuple[Bundle, Checked]
"""A file that was checked, and what came of it."""


def _text(entries: Sequence[Entry], asked: Asked) -> str:
    from dagflow.compiler.report.text import render

    texts = []
    for _, checked in entries:
        texts.append(render(checked.report, checked.sources, color=asked.color))
        if asked.timings:
            texts.append(_timings(checked))
    return "".join(texts)


def _timings(checked: Checked) -> str:
    rows = [f"  {name:<12} {seconds * 1000:8.1f} ms" for name, seconds in checked.report.timings]
    return "\n".join(["timings:", *rows, ""])


def _json(entries: Sequence[Entry], asked: Asked) -> str:
    """One report is a document; several are one a line."""
    import json

    from dagflow.compiler.report.json_report import to_json

    reports = [to_json(checked.report, timings=asked.timings) for _, checked in entries]
    if len(reports) == 1:
        return json.dumps(reports[0], ensure_ascii=False, indent=2) + "\n"
    lines = (json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in reports)
    return "".join(f"{line}\n" for line in lines)


def _sarif(entries: Sequence[Entry], _asked: Asked) -> str:
    import json

    from dagflow.compiler.report.sarif import to_sarif
    from dagflow.compiler.rules import ALL

    sources = {name: source for _, each in entries for name, source in each.sources.items()}
    found = to_sarif([checked.report for _, checked in entries], sources, ALL)
    return json.dumps(found, ensure_ascii=False, indent=2) + "\n"


def _junit(entries: Sequence[Entry], asked: Asked) -> str:
    from dagflow.compiler.report.junit import to_junit

    reports = [(bundle.source.name, checked.report) for bundle, checked in entries]
    return to_junit(reports, least=asked.least)


def _github(entries: Sequence[Entry], _asked: Asked) -> str:
    from dagflow.compiler.report.github import to_github

    return "".join(to_github(checked.report) for _, checked in entries)


def _html(entries: Sequence[Entry], _asked: Asked) -> str:
    from dagflow.service.pages import report_page

    bundle, checked = entries[0]
    return report_page(checked, bundle)


FORMATS: Final[Mapping[str, Callable[[Sequence[Entry], Asked], str]]] = {
    "text": _text,
    "json": _json,
    "sarif": _sarif,
    "junit": _junit,
    "github": _github,
    "html": _html,
}
"""Each format, and what writes files that were checked in it; `html` is of one file."""
