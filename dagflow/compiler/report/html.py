"""The report as one self-contained page: findings beside the source, graph before and after."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping

from dagflow.compiler.report.spending import money
from dagflow.compiler.report.steps_table import signature, steps_table
from dagflow.compiler.timing.words import said
from dagflow.core.findings import Bounds, Finding, GraphSize, Related, Report, Severity
from dagflow.core.page import badge, facts, page, table, text
from dagflow.core.source import Source
from dagflow.core.text import abridged, counted, sized


def render(
    report: Report, source: Source, *, about: str = "", before: str = "", after: str = ""
) -> str:
    """Return the page. `before` and `after` are SVG drawings of the graph, or ""."""
    body = "\n".join(
        part
        for part in (
            _head(report, about),
            _index(report),
            _drawings(report, before, after),
            steps_table(report),
            _removed(report),
            _fused(report),
            _tools(report),
            _source(report, source),
        )
        if part
    )
    return page(f"{report.workflow} — validation report", body)


def _head(report: Report, about: str) -> str:
    verdict = badge("ok") if report.ok else badge("refused", "error")
    rows = [
        ("plan", f"<code>{text(report.plan.digest if report.plan else '—')}</code>"),
        ("findings", _counts(report.findings)),
        ("graph", text(_sizes(report))),
        *(signature(report.plan) if report.plan is not None else ()),
        *_bounds(report.bounds),
    ]
    name = f"<h1>{text(report.workflow)} {verdict}</h1>"
    description = f'<p class="about">{text(about)}</p>' if about else ""
    return f"<header>{name}{description}{facts(rows)}</header>"


def _index(report: Report) -> str:
    """Return the list of findings, each with the way to its place."""
    if not report.findings:
        return ""
    rows = "".join(
        f'<li><a href="#F{number}">{text(finding.message)}</a> '
        f"{badge(f'{finding.severity.value} {finding.code}', finding.severity.value)}</li>"
        for number, finding in enumerate(report.findings, start=1)
    )
    return f"<section><h2>Findings</h2><ol>{rows}</ol></section>"


def _counts(findings: tuple[Finding, ...]) -> str:
    found = Counter(finding.severity for finding in findings)
    said = " ".join(
        badge(counted(found[severity], severity.value), severity.value)
        for severity in Severity
        if found[severity]
    )
    return said or "none"


def _sizes(report: Report) -> str:
    if report.after == report.before:
        return _size(report.before)
    return f"{_size(report.before)}; {_size(report.after)} after pruning"


def _size(graph: GraphSize) -> str:
    return f"{counted(graph.nodes, 'step')}, {counted(graph.edges, 'edge')}"


def _bounds(bounds: Bounds) -> list[tuple[str, str]]:
    known = [
        ("steps at most", bounds.steps),
        ("generated tokens at most", bounds.tokens),
        ("tool calls at most", bounds.tool_calls),
        ("items at most", bounds.items),
        ("steps on workers at a time", bounds.peak_concurrency),
    ]
    rows = [(name, text(f"{value:,}")) for name, value in known if value is not None]
    if bounds.peak_memory:
        rows.append(("memory at a time", text(sized(bounds.peak_memory))))
    if bounds.time_worst is not None:
        rows.append(("time at most", text(f"{bounds.time_worst:g} s")))
    rows += [(name, text(value)) for name, value in money(bounds)]
    if bounds.critical_path:
        rows.append(("critical path", text(" → ".join(bounds.critical_path))))
    if bounds.percentiles is not None:
        shown = " · ".join(f"{seconds:g} s" for seconds in bounds.percentiles)
        rows.append(("time as recorded, p50 · p95 · p99", text(shown)))
    rows += [("deadline", text(said(verdict))) for verdict in bounds.deadlines]
    return rows


def _drawings(report: Report, before: str, after: str) -> str:
    changed = report.before != report.after
    parts = []
    if after:
        caption = "the plan, after pruning" if changed else "the plan"
        parts.append(f"<figure>{after}<figcaption>{caption}</figcaption></figure>")
    if before and changed:
        figure = f"<figure>{before}<figcaption>as written</figcaption></figure>"
        parts.append(f"<details><summary>Graph before pruning</summary>{figure}</details>")
    return f"<section><h2>Graph</h2>{''.join(parts)}</section>" if parts else ""


def _removed(report: Report) -> str:
    if not report.removed:
        return ""
    rows = [
        (text(removal.kind), f"<code>{text(removal.name)}</code>", text(removal.reason))
        for removal in report.removed
    ]
    shown = table(("what", "name", "why"), rows)
    summary = counted(len(rows), "removal")
    return (
        f"<section><h2>Pruned</h2><details><summary>{summary}</summary>{shown}</details></section>"
    )


def _fused(report: Report) -> str:
    if not report.fused:
        return ""
    chains = (" → ".join(f"<code>{text(step)}</code>" for step in chain) for chain in report.fused)
    rows = "".join(f"<li>{chain}</li>" for chain in chains)
    return (
        "<section><h2>Fused</h2><p>Each chain is one dispatch, and is recorded together.</p>"
        f"<ul>{rows}</ul></section>"
    )


def _tools(report: Report) -> str:
    if not report.tools:
        return ""
    rows = [(text(name), f"<code>{text(version)}</code>") for name, version in report.tools]
    return f"<section><h2>Tools, pinned</h2>{table(('operation', 'version'), rows)}</section>"


def _source(report: Report, source: Source) -> str:
    notes: defaultdict[int, list[str]] = defaultdict(list)
    elsewhere = []
    for number, finding in enumerate(report.findings, start=1):
        shown = _finding(finding, number, source.name)
        if finding.span.file == source.name:
            notes[finding.span.line].append(shown)
        else:
            elsewhere.append(shown)
    lines = source.text.removesuffix("\n").split("\n")
    rows = "".join(_line(number, line, notes) for number, line in enumerate(lines, start=1))
    listing = f'<table class="source"><tbody>{rows}</tbody></table>'
    return f"<section><h2>{text(source.name)}</h2>{''.join(elsewhere)}{listing}</section>"


def _line(number: int, line: str, notes: Mapping[int, list[str]]) -> str:
    found = notes.get(number, [])
    mark = ' class="hit"' if found else ""
    row = f'<tr{mark} id="L{number}"><td class="line">{number}</td><td>{text(line)}</td></tr>'
    return row + "".join(f"<tr><td></td><td>{note}</td></tr>" for note in found)


def _finding(finding: Finding, number: int, file: str) -> str:
    head = f"<strong>{text(finding.severity.value)}[{text(finding.code)}]</strong>"
    parts = [f"<p>{head} {text(finding.message)} <code>{text(finding.name)}</code></p>"]
    parts += [
        f'<p class="help">{text(related.message)}: {_place(related, file)}</p>'
        for related in finding.related
    ]
    if finding.flow:
        places = (f"<li>{text(each.message)}: {_place(each, file)}</li>" for each in finding.flow)
        parts.append(f'<ol class="help">{"".join(places)}</ol>')
    if finding.witness is not None:
        witness = json.dumps(finding.witness, ensure_ascii=False)
        parts.append(f'<p class="help">witness: <code>{text(abridged(witness))}</code></p>')
    if finding.help:
        parts.append(f'<p class="help">help: {text(finding.help)}</p>')
    parts += [
        f'<p class="help">fix: {text(fix.description)} (<code>--fix</code>)</p>'
        for fix in finding.fixes
    ]
    style = finding.severity.value
    return f'<div id="F{number}" class="finding {style}">{"".join(parts)}</div>'


def _place(related: Related, file: str) -> str:
    """Return a place, with the way to it where it is on this page."""
    span = related.span
    if span.file == file:
        return f'<a href="#L{span.line}">line {span.line}</a>'
    return text(f"{span.file}:{span.line}:{span.column}")
