"""The report as a compiler would print it: source line, caret, help, and a line of summary."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from dagflow.compiler.report.spending import mean_said, most_said
from dagflow.compiler.timing.words import SHOWN, said
from dagflow.core.findings import Finding, GraphSize, Report, Severity
from dagflow.core.source import Source, Span
from dagflow.core.text import abridged, clean, counted

RESET: Final = "\x1b[0m"
STYLES: Final[Mapping[str, str]] = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "note": "\x1b[1;36m",
    "bold": "\x1b[1m",
    "frame": "\x1b[34m",
    "ok": "\x1b[1;32m",
}

LONGEST_LINE: Final = 200
"""Characters of a source line that are quoted, at most."""


def render(report: Report, sources: Mapping[str, Source], *, color: bool = False) -> str:
    """Write the report; `sources` are the texts by file name, for the quoted lines."""
    paint = _Paint(color=color)
    blocks = [_finding(finding, sources, paint) for finding in report.findings]
    parts = [*blocks, *_removals(report, paint), *_spending(report, paint)]
    parts += _deadlines(report, paint)
    return "\n".join([*parts, _summary(report, paint)]) + "\n"


class _Paint:
    def __init__(self, *, color: bool) -> None:
        self._color = color

    def __call__(self, style: str, text: str) -> str:
        return f"{STYLES[style]}{text}{RESET}" if self._color else text


def _finding(finding: Finding, sources: Mapping[str, Source], paint: _Paint) -> str:
    severity = finding.severity.value
    head = paint(severity, f"{severity}[{finding.code}]")
    lines = [
        f"{head} {paint('bold', clean(finding.message))}  ({finding.name})",
        *_quote(finding.span, sources, paint, severity, marker="-->"),
    ]
    for related in finding.related:
        lines.append(f"  {paint('frame', '=')} {clean(related.message)}:")
        lines += _quote(related.span, sources, paint, "note", marker=":::")
    for number, place in enumerate(finding.flow, 1):
        at = f"{place.span.file}:{place.span.line}:{place.span.column}"
        lines.append(f"  {paint('frame', '=')} {number}. {clean(place.message)} ({clean(at)})")
    if finding.witness is not None:
        witness = json.dumps(finding.witness, ensure_ascii=False)
        lines.append(f"  {paint('frame', '=')} witness: {clean(abridged(witness))}")
    if finding.help:
        lines += _help(finding.help, paint)
    return "\n".join([*lines, ""])


def _help(text: str, paint: _Paint) -> list[str]:
    first, *rest = clean(text).splitlines()
    return [f"  {paint('frame', '=')} help: {first}", *(f"          {line}" for line in rest)]


def _quote(
    span: Span, sources: Mapping[str, Source], paint: _Paint, style: str, *, marker: str
) -> Iterator[str]:
    yield f"  {paint('frame', marker)} {span.file}:{span.line}:{span.column}"
    source = sources.get(span.file)
    text = source.line(span.line) if source else ""
    if not text.strip():
        return
    end = span.end_column if span.end_line == span.line else len(text) + 1
    text, column, end = _window(text, span.column, end)
    gutter = " " * len(str(span.line))
    bar = paint("frame", "|")
    caret = "^" * max(1, min(end, len(text) + 1) - column)
    indent = "".join("\t" if char == "\t" else " " for char in text[: column - 1])
    yield f" {gutter} {bar}"
    yield f" {paint('frame', str(span.line))} {bar} {clean(text)}"
    yield f" {gutter} {bar} {indent}{paint(style, caret)}"


def _window(text: str, column: int, end: int) -> tuple[str, int, int]:
    """Return what is shown of a line, and where the two columns are in it."""
    if len(text) <= LONGEST_LINE:
        return text, column, end
    begin = max(0, column - 1 - LONGEST_LINE // 4)
    shown = text[begin : begin + LONGEST_LINE]
    before = "…" if begin else ""
    after = "…" if begin + LONGEST_LINE < len(text) else ""
    moved = len(before) - begin
    return f"{before}{shown}{after}", column + moved, min(end + moved, len(before + shown) + 1)


def _removals(report: Report, paint: _Paint) -> list[str]:
    shown = [removal for removal in report.removed if removal.kind != "transition"]
    if not shown:
        return []
    lines = [f"{paint('bold', 'pruned')}:"]
    lines += [
        f"  {removal.kind} {clean(removal.name)}: {clean(removal.reason)}"
        + (f" [{removal.code}]" if removal.code else "")
        for removal in shown
    ]
    lines += [f"  fused {' → '.join(map(clean, chain))}: one dispatch" for chain in report.fused]
    return [*lines, ""]


def _spending(report: Report, paint: _Paint) -> list[str]:
    """Say what a run uses, where there are prices or records."""
    bounds = report.bounds
    lines = []
    if bounds.cost is not None or bounds.expected is not None:
        lines.append(f"  at most {clean(most_said(bounds))}")
    if bounds.expected is not None:
        currency = bounds.cost.currency if bounds.cost is not None else ""
        lines.append(f"  on average {clean(mean_said(bounds.expected, currency))}")
    return [f"{paint('bold', 'a run uses')}:", *lines, ""] if lines else []


def _deadlines(report: Report, paint: _Paint) -> list[str]:
    """Say what is known of the deadline, and what most stands in its way."""
    bounds = report.bounds
    if not bounds.deadlines:
        return []
    lines = [f"{paint('bold', 'deadline')}:"]
    lines += [f"  {clean(said(verdict))}" for verdict in bounds.deadlines]
    if bounds.percentiles is not None:
        p50, p95, p99 = bounds.percentiles
        lines.append(f"  recorded: p50 {p50:g} s, p95 {p95:g} s, p99 {p99:g} s")
        tight = sorted(bounds.slack, key=lambda each: -each.share)[:SHOWN]
        lines += [
            f"  {clean(each.step)}: on the longest way of {each.share:.0%} of runs,"
            f" {each.slack:g} s to spare"
            for each in tight
            if each.share and each.slack is not None
        ]
    return [*lines, ""]


def _summary(report: Report, paint: _Paint) -> str:
    counts = Counter(finding.severity for finding in report.findings)
    said = ", ".join(
        counted(counts[severity], severity.value) for severity in Severity if counts[severity]
    )
    if report.plan is None:
        return f"{paint('error', 'refused')} {clean(report.workflow)}: {said or 'no plan'}"
    graph = _size(report.before)
    if report.after != report.before:
        graph += f" → {_size(report.after)} after pruning"
    if report.fused:
        steps = sum(map(len, report.fused))
        graph += f", {steps} of them in {counted(len(report.fused), 'fused chain')}"
    line = f"{paint('ok', 'ok')} {clean(report.workflow)}: {graph}"
    return f"{line}; {said or 'no findings'}"


def _size(graph: GraphSize) -> str:
    return f"{counted(graph.nodes, 'step')}, {counted(graph.edges, 'edge')}"


def quoted(
    span: Span, sources: Mapping[str, Source], *, color: bool = False, style: str = "error"
) -> list[str]:
    """Return a place with its line of the file, as findings show it."""
    return list(_quote(span, sources, _Paint(color=color), style, marker="-->"))
