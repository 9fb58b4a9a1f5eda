"""Joins: whether a pending step may run, can't any more, or has to wait."""

from __future__ import annotations

from typing import Literal, TypeAlias

from dagflow.core.plan import Join
from dagflow.core.run import StepRecord
from dagflow.executor.machine.draft import Draft
from dagflow.executor.machine.index import WIDE, Edge, Site
from dagflow.executor.machine.paths import within

Verdict: TypeAlias = Literal["go", "skip", "wait"]


def is_taken(edge: Edge, producer: StepRecord, target: Site) -> bool:
    """Tell whether a final producer's edge is taken. A cancelled producer's edges never are."""
    state, on = producer.state, edge.on
    if state == "cancelled":
        return False
    if "done" in on:
        return True
    if state == "succeeded":
        return "success" in on or _is_chosen(edge, producer)
    if state in {"failed", "timed_out"}:
        return "failure" in on or ("goto" in on and producer.goto == target.step.path)
    return "skipped" in on


def _is_chosen(edge: Edge, switch: StepRecord) -> bool:
    output = switch.output
    return bool(edge.branches) and isinstance(output, dict) and output["branch"] in edge.branches


def verdict(draft: Draft, site: Site, frame: str, cause: str) -> Verdict:
    """Decide over a step's producers; `cause` is the one that just ended ("" for a whole look)."""
    if site.width > WIDE:
        return _wide(draft, site, frame, cause)
    return _look(draft, site, frame)[0]


def _look(draft: Draft, site: Site, frame: str) -> tuple[Verdict, int, int, int]:
    """Look at every producer: (verdict, edges taken, edges undecided, producers undecided)."""
    taken, failed = 0, False
    undecided: set[str] = set()
    steps = draft.run.steps
    open_edges = 0
    for edge in site.edges.values():
        producer = steps.get(within(frame, edge.name))
        if producer is None or not producer.is_final:
            open_edges += 1
            if site.step.join.mode != "at_least":
                undecided.add(edge.name)
        elif is_taken(edge, producer, site):
            taken += 1
    for name in site.needs:
        producer = steps.get(within(frame, name))
        if producer is None or not producer.is_final:
            undecided.add(name)
        elif producer.state != "succeeded":
            failed = True
    for name in site.awaits:
        producer = steps.get(within(frame, name))
        if producer is None or not producer.is_final:
            undecided.add(name)
    found: Verdict = "skip" if failed else judge(site, taken, open_edges, len(undecided))
    return found, taken, open_edges, len(undecided)


def judge(site: Site, taken: int, open_edges: int, undecided: int) -> Verdict:
    """Decide from counts; required producers that ended did succeed."""
    if site.edges:
        control = _control(site.step.join, taken, open_edges, len(site.edges))
        if control != "go":
            return control
    return "wait" if undecided else "go"


def _control(join: Join, taken: int, open_edges: int, edges: int) -> Verdict:
    """Decide over the control edges alone, as soon as that is possible."""
    needed = {"all": edges, "any": 1, "at_least": join.n}[join.mode]
    if taken + open_edges < needed:
        return "skip"
    if taken < needed or (join.mode == "any" and open_edges):
        return "wait"
    return "go"


def _wide(draft: Draft, site: Site, frame: str, cause: str) -> Verdict:
    """Decide by counts kept in the record, so that a step with n producers costs n looks in all.

    The first look counts everything; `upto` is the number of steps that had ended then, and
    only what ends later is counted again.
    """
    path = within(frame, site.name)
    counts = draft.record(path).data
    if not counts or not cause:
        found, taken, open_edges, undecided = _look(draft, site, frame)
    else:
        producer = draft.run.steps[within(frame, cause)]
        if producer.ended <= _number(counts["upto"]):
            return "wait"
        taken, open_edges, undecided = (
            _number(counts[name]) for name in ("taken", "open", "undecided")
        )
        edge = site.edges.get(cause)
        if edge is not None:
            open_edges -= 1
            taken += is_taken(edge, producer, site)
        undecided -= _is_awaited(site, cause)
        unmet = cause in site.needs and producer.state != "succeeded"
        found = "skip" if unmet else judge(site, taken, open_edges, undecided)
    if found == "wait":
        upto = _number(counts["upto"]) if counts and cause else draft.run.ended
        draft.note(
            path,
            data={"taken": taken, "open": open_edges, "undecided": undecided, "upto": upto},
        )
    return found


def _is_awaited(site: Site, name: str) -> bool:
    if site.step.join.mode != "at_least" and name in site.edges:
        return True
    return name in site.needs or name in site.awaits


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
