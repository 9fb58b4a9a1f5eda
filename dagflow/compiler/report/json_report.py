"""The report as JSON, in the form that `schemas/report.v1.json` publishes."""

from __future__ import annotations

from typing import Final

from dagflow.core.findings import (
    Bounds,
    CostBound,
    DeadlineVerdict,
    Expected,
    Finding,
    Fix,
    Report,
    StepBounds,
)
from dagflow.core.source import Span
from dagflow.core.values import JsonObject, JsonValue

SCHEMA_VERSION: Final = 1


def to_json(report: Report, *, timings: bool = False) -> JsonObject:
    """Return the report as plain JSON; `timings` adds how long each pass took, in seconds."""
    digest = None if report.plan is None else report.plan.digest
    found: JsonObject = {
        "schema_version": SCHEMA_VERSION,
        "workflow": {"name": report.workflow, "version": report.version, "plan": digest},
        "ok": report.ok,
        "findings": [_finding(finding) for finding in report.findings],
        "graph": {
            "before": {"nodes": report.before.nodes, "edges": report.before.edges},
            "after": {"nodes": report.after.nodes, "edges": report.after.edges},
            "removed": [
                {"kind": r.kind, "name": r.name, "reason": r.reason, "code": r.code}
                for r in report.removed
            ],
            "fused": [list(group) for group in report.fused],
            "merged": [{"step": step, "into": other} for step, other in report.merged],
        },
        "bounds": _bounds(report.bounds),
        "tools": [{"id": name, "version": version} for name, version in report.tools],
    }
    if timings:
        found["timings"] = dict(report.timings)
    return found


def _finding(finding: Finding) -> JsonObject:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "path": finding.path,
        "span": _span(finding.span),
        "related": [{"message": r.message, "span": _span(r.span)} for r in finding.related],
        "flow": [{"message": r.message, "span": _span(r.span)} for r in finding.flow],
        "witness": finding.witness,
        "help": finding.help or None,
        "fixes": [_fix(fix) for fix in finding.fixes],
    }


def _span(span: Span) -> JsonObject:
    return {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def _fix(fix: Fix) -> JsonObject:
    edits: list[JsonValue] = [{"span": _span(edit.span), "text": edit.text} for edit in fix.edits]
    return {"description": fix.description, "edits": edits}


def _bounds(bounds: Bounds) -> JsonObject:
    p50, p95, p99 = bounds.percentiles or (None, None, None)
    return {
        "steps": bounds.steps,
        "tokens": bounds.tokens,
        "tool_calls": bounds.tool_calls,
        "items": bounds.items,
        "time": {
            "best": bounds.time_best,
            "worst": bounds.time_worst,
            "p50": p50,
            "p95": p95,
            "p99": p99,
        },
        "peak_memory": bounds.peak_memory,
        "peak_concurrency": bounds.peak_concurrency,
        "critical_path": list(bounds.critical_path),
        "deadlines": [_deadline(verdict) for verdict in bounds.deadlines],
        "slack": [
            {"step": each.step, "share": each.share, "slack": each.slack} for each in bounds.slack
        ],
        "each": [_step(each) for each in bounds.each],
        "cost": None if bounds.cost is None else _cost(bounds.cost),
        "expected": None if bounds.expected is None else _expected(bounds.expected),
    }


def _cost(cost: CostBound) -> JsonObject:
    return {
        "most": cost.most,
        "currency": cost.currency,
        "estimated": cost.estimated,
        "unknown": list(cost.unknown),
    }


def _expected(expected: Expected) -> JsonObject:
    return {
        "runs": expected.runs,
        "steps": expected.steps,
        "tokens": expected.tokens,
        "tool_calls": expected.tool_calls,
        "items": expected.items,
        "cost": expected.cost,
        "missing": list(expected.missing),
    }


def _deadline(verdict: DeadlineVerdict) -> JsonObject:
    return {
        "verdict": verdict.verdict,
        "deadline": verdict.deadline,
        "scope": verdict.scope,
        "low": verdict.low,
        "high": verdict.high,
        "runs": verdict.runs,
        "windows": verdict.windows,
        "seed": verdict.seed,
        "missing": list(verdict.missing),
    }


def _step(each: StepBounds) -> JsonObject:
    return {
        "step": each.step,
        "time_worst": each.time_worst,
        "tokens": each.tokens,
        "tool_calls": each.tool_calls,
        "memory": each.memory,
        "cost": each.cost,
    }
