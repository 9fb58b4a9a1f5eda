"""The form of a report."""

from __future__ import annotations

from typing import Final, get_args

from dagflow.api.schemas.form import (
    ANY,
    COUNT,
    DIGEST,
    FLAG,
    NUMBER,
    TEXT,
    closed,
    listed,
    mapped,
    nullable,
    one_of,
    ref,
)
from dagflow.core.findings import Severity, Verdict
from dagflow.core.values import JsonObject

_LINE: Final[JsonObject] = {"type": "integer", "minimum": 1}
_BOUND: Final = nullable(COUNT)
_SECONDS: Final = nullable(NUMBER)
_MEAN: Final = nullable(NUMBER)

REPORT: Final[dict[str, JsonObject]] = {
    "Report": closed(
        {
            "schema_version": {"const": 1},
            "workflow": closed({"name": TEXT, "version": TEXT, "plan": nullable(DIGEST)}),
            "ok": FLAG,
            "findings": listed(ref("Finding")),
            "graph": ref("Graph"),
            "bounds": ref("Bounds"),
            "tools": listed(closed({"id": TEXT, "version": TEXT})),
            "timings": mapped(NUMBER),
        },
        optional="timings",
        doc="What a check found in one workflow. `ok` tells whether there is a plan.",
    ),
    "Finding": closed(
        {
            "code": {"type": "string", "pattern": "^DF[0-9]{3}$"},
            "name": TEXT,
            "severity": one_of(severity.value for severity in Severity),
            "message": TEXT,
            "path": {**TEXT, "description": "JSON Pointer of the place in the document"},
            "span": ref("Span"),
            "related": listed(closed({"message": TEXT, "span": ref("Span")})),
            "flow": listed(closed({"message": TEXT, "span": ref("Span")})),
            "witness": ANY,
            "help": nullable(TEXT),
            "fixes": listed(ref("Fix")),
        },
        doc="One problem at one place.",
    ),
    "Span": closed(
        {
            "file": TEXT,
            "line": _LINE,
            "column": _LINE,
            "end_line": _LINE,
            "end_column": _LINE,
        },
        doc="A place in a file; lines and columns count characters from 1.",
    ),
    "Fix": closed(
        {"description": TEXT, "edits": listed(closed({"span": ref("Span"), "text": TEXT}))},
        doc="Edits that would mend a finding, safe to apply by machine.",
    ),
    "GraphSize": closed({"nodes": COUNT, "edges": COUNT}),
    "Graph": closed(
        {
            "before": ref("GraphSize"),
            "after": ref("GraphSize"),
            "removed": listed(closed({"kind": TEXT, "name": TEXT, "reason": TEXT, "code": TEXT})),
            "fused": listed(listed(TEXT)),
            "merged": listed(closed({"step": TEXT, "into": TEXT})),
        },
        doc="What pruning made of the graph.",
    ),
    "Bounds": closed(
        {
            "steps": _BOUND,
            "tokens": _BOUND,
            "tool_calls": _BOUND,
            "items": _BOUND,
            "time": closed(dict.fromkeys(("best", "worst", "p50", "p95", "p99"), _SECONDS)),
            "peak_memory": _BOUND,
            "peak_concurrency": _BOUND,
            "critical_path": listed(TEXT),
            "deadlines": listed(ref("DeadlineVerdict")),
            "slack": listed(closed({"step": TEXT, "share": NUMBER, "slack": _SECONDS})),
            "each": listed(
                closed(
                    {
                        "step": TEXT,
                        "time_worst": _SECONDS,
                        "tokens": _BOUND,
                        "tool_calls": _BOUND,
                        "memory": _BOUND,
                        "cost": _MEAN,
                    }
                )
            ),
            "cost": nullable(ref("CostBound")),
            "expected": nullable(ref("Expected")),
        },
        doc="What a run can cost at most, and each of its steps; null where nothing bounds it, and"
        " of the percentiles without recorded latencies. Seconds and bytes. `cost` is null where"
        " nothing has a price, `expected` where no use is recorded.",
    ),
    "CostBound": closed(
        {"most": _MEAN, "currency": TEXT, "estimated": FLAG, "unknown": listed(TEXT)},
        doc="What a run costs at most, in units of the currency; null for what `unknown` says."
        " `estimated`: prompts are counted at four characters a token.",
    ),
    "Expected": closed(
        {
            "runs": COUNT,
            **dict.fromkeys(("steps", "tokens", "tool_calls", "items", "cost"), _MEAN),
            "missing": listed(TEXT),
        },
        doc="What a run uses on average, by what its steps used in recorded runs; null where"
        " nothing is recorded of the steps that are `missing`. Tokens with those of prompts.",
    ),
    "DeadlineVerdict": closed(
        {
            "verdict": one_of(get_args(Verdict)),
            "deadline": NUMBER,
            "scope": one_of(("isolated", "queued")),
            "low": NUMBER,
            "high": NUMBER,
            "runs": COUNT,
            "windows": COUNT,
            "seed": COUNT,
            "missing": listed(TEXT),
        },
        doc="Whether runs keep the deadline, and between which shares of them do.",
    ),
}
