"""Every step of a plan in a table: what it gives, what it can come to, and how it bears on time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from dagflow.compiler.report.notation import notation
from dagflow.core.findings import Report, StepBounds, StepSlack
from dagflow.core.page import badge, table, text
from dagflow.core.plan import Plan, PlanStep, steps_of
from dagflow.core.text import abridged, counted, sized
from dagflow.core.values import Schema

MOST: Final = 2_000
"""Rows of the table: what is longer is for programs, and stands in the JSON report."""

_LONG: Final = 120
"""Characters of a type that are shown at once."""

_HEADS: Final = ("step", "kind", "effects", "gives", "time at most", "tokens", "calls", "memory")


def steps_table(report: Report) -> str:
    """Return the section of the steps, "" where there is no plan."""
    plan = report.plan
    if plan is None:
        return ""
    count = sum(1 for _ in steps_of(plan))
    has_slack = bool(report.bounds.slack)
    heads = (*_HEADS, "on the longest way", "to spare") if has_slack else _HEADS
    shown = table(heads, islice(_rows(report, plan), MOST))
    more = count - MOST
    rest = f"<p>{text(counted(more, 'more step'))}: see the JSON report.</p>" if more > 0 else ""
    return f"<section><h2>Steps</h2>{shown}{rest}</section>"


def signature(plan: Plan) -> list[tuple[str, str]]:
    """Return what the workflow takes and gives, as facts of the page."""
    return [("takes", _type(plan.inputs_schema)), ("gives", _type(plan.outputs_schema))]


def _rows(report: Report, plan: Plan) -> Iterator[tuple[str, ...]]:
    bounds = {each.step: each for each in report.bounds.each}
    slack = {each.step: each for each in report.bounds.slack}
    critical = frozenset(report.bounds.critical_path)
    for step in steps_of(plan):
        row = (
            _name(step, is_critical=step.path in critical),
            text(step.kind),
            text(step.effects),
            _type(step.output_schema),
            *_cost(bounds.get(step.path)),
        )
        yield (*row, *_slack(slack, step.path)) if slack else row


def _name(step: PlanStep, *, is_critical: bool) -> str:
    mark = f" {badge('critical', 'critical')}" if is_critical else ""
    return f'<a href="#L{step.line}"><code>{text(step.path)}</code></a>{mark}'


def _type(schema: Schema) -> str:
    said = notation(schema)
    if len(said) <= _LONG:
        return f"<code>{text(said)}</code>"
    short = f"<code>{text(said[:_LONG])}…</code>"
    whole = f"<code>{text(abridged(said, 8_000))}</code>"
    return f"<details><summary>{short}</summary>{whole}</details>"


def _cost(found: StepBounds | None) -> tuple[str, ...]:
    if found is None:
        return ("", "", "", "")
    time = "no bound" if found.time_worst is None else f"{found.time_worst:g} s"
    memory = "no bound" if found.memory is None else sized(found.memory) if found.memory else ""
    return text(time), _count(found.tokens), _count(found.tool_calls), text(memory)


def _count(value: int | None) -> str:
    return "no bound" if value is None else f"{value:,}" if value else ""


def _slack(found: Mapping[str, StepSlack], step: str) -> tuple[str, ...]:
    if step not in found:
        return ("", "")
    spare = found[step].slack
    return text(f"{found[step].share:.0%} of runs"), "" if spare is None else text(f"{spare:g} s")
