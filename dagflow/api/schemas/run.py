"""The forms of a run, of a run in a list, and of what waits for a person."""

from __future__ import annotations

from typing import Final

from dagflow.api.schemas.form import (
    ANY,
    COUNT,
    DIGEST,
    INSTANT,
    OBJECT,
    TEXT,
    closed,
    listed,
    mapped,
    nullable,
    one_of,
    ref,
)
from dagflow.core.errors import ERROR_CLASSES
from dagflow.core.run import RunState, StepState
from dagflow.core.values import JsonObject

ERROR_CLASS: Final = one_of(sorted(ERROR_CLASSES))
RUN_STATE: Final = one_of(state.value for state in RunState)
_WHEN: Final = nullable(INSTANT)
_ERROR: Final = nullable(ref("Failure"))

RUN: Final[dict[str, JsonObject]] = {
    "Run": closed(
        {
            "schema_version": {"const": 1},
            "run": ref("RunHead"),
            "steps": mapped(ref("Step")),
        },
        doc="A run with its steps, by run path (`loop[3].grade`), in the order of the plan.",
    ),
    "RunHead": closed(
        {
            "id": TEXT,
            "workflow": TEXT,
            "version": TEXT,
            "plan": DIGEST,
            "status": ref("RunStatus"),
            "attempt": COUNT,
            "inputs": ANY,
            "outputs": ANY,
            "error": _ERROR,
            "created_at": _WHEN,
            "started_at": _WHEN,
            "finished_at": _WHEN,
            "deadline_at": _WHEN,
            "used": OBJECT,
        },
        doc="The run itself; `outputs` is null until it has succeeded.",
    ),
    "RunStatus": RUN_STATE,
    "Step": closed(
        {
            "status": one_of(state.value for state in StepState),
            "reason": nullable(TEXT),
            "attempts": COUNT,
            "error": _ERROR,
            "ready_at": _WHEN,
            "started_at": _WHEN,
            "finished_at": _WHEN,
            "output": ANY,
            "errors": ANY,
            "due": _WHEN,
        },
        optional="output errors due",
        doc="One execution of a step; `output` is there only when the step has one.",
    ),
    "Failure": closed(
        {"class": ERROR_CLASS, "message": TEXT, "attempt": COUNT}, doc="Why an attempt failed."
    ),
    "RunRow": closed(
        {
            "id": TEXT,
            "workflow": TEXT,
            "version": TEXT,
            "plan": DIGEST,
            "status": ref("RunStatus"),
            "attempt": COUNT,
            "parent": nullable(TEXT),
            "error": _ERROR,
            "created_at": _WHEN,
            "started_at": _WHEN,
            "finished_at": _WHEN,
        },
        doc="A run as lists show it.",
    ),
    "RunList": closed({"runs": listed(ref("RunRow")), "next_cursor": nullable(TEXT)}),
    "StepList": closed({"steps": mapped(ref("Step"))}),
    "Approval": closed(
        {
            "id": TEXT,
            "run": TEXT,
            "step": TEXT,
            "state": TEXT,
            "input": ANY,
            "data": ANY,
            "asked_at": INSTANT,
            "expires_at": _WHEN,
            "decided_at": _WHEN,
        },
        doc="What a person is asked: `input` is exactly what the answer releases, and "
        "`data.hash` is what the answer must name as `arguments`.",
    ),
    "ApprovalList": closed({"approvals": listed(ref("Approval"))}),
}
