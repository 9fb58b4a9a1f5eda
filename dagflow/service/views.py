"""Runs as JSON, in the form that the CLI, REST and the pages share."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dagflow.core.clock import instant
from dagflow.core.plan import Plan, steps_of
from dagflow.core.run import Run, StepFailure, StepRecord
from dagflow.core.values import JsonObject
from dagflow.store.rows import Approval, RunRow

SCHEMA_VERSION: Final = 1


def _instant(when: datetime | None) -> str | None:
    return instant(when) if when else None


def split_label(label: str) -> tuple[str, str | None]:
    """Split a state's label into the state and its reason: `waiting(approval)`."""
    state, _, reason = label.rstrip(")").partition("(")
    return state, reason or None


def failure_view(error: StepFailure | None) -> JsonObject | None:
    """Return an error as JSON."""
    if error is None:
        return None
    return {"class": error.error_class, "message": error.message, "attempt": error.attempt}


def went_well(record: StepRecord) -> bool:
    """Tell whether a step succeeded by itself: what an attempt before came to is not its error."""
    return record.state == "succeeded" and not record.recovered


def step_view(record: StepRecord) -> JsonObject:
    """Return one step of a run; `output` is there only when the step has one."""
    status, reason = split_label(record.state)
    view: JsonObject = {
        "status": status,
        "reason": "recovered" if record.recovered else reason,
        "attempts": record.attempt,
        "error": failure_view(None if went_well(record) else record.error),
        "ready_at": _instant(record.ready_at),
        "started_at": _instant(record.started_at),
        "finished_at": _instant(record.finished_at),
    }
    if record.has_output:
        view["output"] = record.output
    if record.errors is not None:
        view["errors"] = record.errors
    if record.due is not None and status == "waiting":
        view["due"] = _instant(record.due)
    return view


def run_view(run: Run, plan: Plan) -> JsonObject:
    """Return a run and its steps, as `dagflow run --format json` and the API show them."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": {
            "id": run.id,
            "workflow": plan.name,
            "version": plan.version,
            "plan": run.plan,
            "status": run.state.value,
            "attempt": run.attempt,
            "inputs": run.inputs,
            "outputs": run.outputs,
            "error": failure_view(run.error),
            "created_at": _instant(run.created_at),
            "started_at": _instant(run.started_at),
            "finished_at": _instant(run.finished_at),
            "deadline_at": _instant(run.deadline_at),
            "used": run.used,
        },
        "steps": steps_view(run, plan),
    }


def steps_view(run: Run, plan: Plan) -> JsonObject:
    """Return every step that has a record, in the order of the plan."""
    ranks = {step.path: rank for rank, step in enumerate(steps_of(plan))}
    order = sorted(run.steps.values(), key=lambda it: (ranks.get(static(it.path), 0), _key(it)))
    return {record.path: step_view(record) for record in order}


def static(path: str) -> str:
    """Return the static path of a run path: `loop[3].grade` is an execution of `loop.grade`."""
    parts = (part.partition("[")[0] for part in path.split("."))
    return ".".join(parts)


def _key(record: StepRecord) -> tuple[int, ...]:
    """Return the item indices and turns in a run path, so that 10 comes after 9."""
    found = (part.partition("[")[2].rstrip("]") for part in record.path.split("."))
    return tuple(int(number) for number in found if number.isdigit())


def run_row_view(row: RunRow) -> JsonObject:
    """Return a run as lists show it."""
    return {
        "id": row.id,
        "workflow": row.workflow,
        "version": row.workflow_version,
        "plan": row.plan,
        "status": row.state,
        "attempt": row.attempt,
        "parent": row.parent or None,
        "error": failure_view(row.error),
        "created_at": _instant(row.created_at),
        "started_at": _instant(row.started_at),
        "finished_at": _instant(row.finished_at),
    }


def approval_view(approval: Approval) -> JsonObject:
    """Return an approval with exactly what it releases, and the hash that the answer must name."""
    return {
        "id": approval.id,
        "run": approval.run_id,
        "step": approval.path,
        "state": approval.state,
        **approval.body,
        "asked_at": _instant(approval.asked_at),
        "expires_at": _instant(approval.expires_at),
        "decided_at": _instant(approval.decided_at),
    }
