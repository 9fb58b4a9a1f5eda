"""The form of a run's log: its changes, in the writing of `dagflow.core.events`."""

from __future__ import annotations

from typing import Final

from dagflow.api.schemas.form import (
    ANY,
    COUNT,
    FLAG,
    INSTANT,
    NUMBER,
    OBJECT,
    TEXT,
    closed,
    listed,
    nullable,
    one_of,
    ref,
)
from dagflow.api.schemas.run import ERROR_CLASS, RUN_STATE
from dagflow.core.run import STATES
from dagflow.core.values import JsonObject

_STATE: Final = one_of(STATES)
_ERROR: Final = nullable(ref("RecordedFailure"))


def _some(table: dict[str, JsonObject]) -> JsonObject:
    """Return the schema of an object with any of these fields; each is given by its words."""
    fields = {name: schema for words, schema in table.items() for name in words.split()}
    return closed(fields, optional=" ".join(fields))


def _change(kind: str, doc: str, fields: dict[str, JsonObject]) -> JsonObject:
    return closed({"seq": {**COUNT, "minimum": 1}, "change": {"const": kind}, **fields}, doc=doc)


EVENTS: Final[dict[str, JsonObject]] = {
    "Event": {
        "description": "One change of a run; `seq` is its place in the log, from 1.",
        "oneOf": [
            ref("StepChanged"),
            ref("RunChanged"),
            ref("SignalArrived"),
            ref("SignalTaken"),
            ref("StepsReset"),
        ],
    },
    "StepChanged": _change(
        "step",
        "A step moved (or stayed), and these fields of its record changed.",
        {"path": TEXT, "before": _STATE, "after": _STATE, "at": INSTANT, "set": ref("StepFields")},
    ),
    "StepFields": _some(
        {
            "attempt generation token": COUNT,
            "worker goto": TEXT,
            "has_output recovered handled held_back let_go": FLAG,
            "input output errors": ANY,
            "data counted": OBJECT,
            "error": _ERROR,
            "lease_until due ready_at started_at finished_at deadline_at": nullable(INSTANT),
        }
    ),
    "RunChanged": _change(
        "run",
        "The run moved, and these fields of it changed.",
        {"before": RUN_STATE, "after": RUN_STATE, "at": INSTANT, "set": ref("RunFields")},
    ),
    "RunFields": _some(
        {
            "order": COUNT,
            "outcome": TEXT,
            "cancel_requested paused": FLAG,
            "outputs": ANY,
            "used budget": OBJECT,
            "error": _ERROR,
            "started_at finished_at deadline_at cleanup_deadline_at clock_stopped_at paused_at": (
                nullable(INSTANT)
            ),
        }
    ),
    "SignalArrived": _change(
        "signal",
        "A signal joined the queue of its name.",
        {"name": TEXT, "payload": ANY, "at": INSTANT},
    ),
    "SignalTaken": _change(
        "signal_taken",
        "A signal went to a step, or was left over at the end (`path` null).",
        {"name": TEXT, "path": nullable(TEXT), "at": INSTANT},
    ),
    "StepsReset": _change(
        "steps_reset",
        "The composite at `path` begins again: these steps in it are pending as at first.",
        {"path": TEXT, "steps": listed(TEXT), "at": INSTANT},
    ),
    "RecordedFailure": closed(
        {
            "class": ERROR_CLASS,
            "message": TEXT,
            "attempt": COUNT,
            "retry_after": nullable(NUMBER),
        }
    ),
    "EventPage": closed(
        {"events": listed(ref("Event")), "next": COUNT},
        doc="`next` is the `after` of the page that follows.",
    ),
}
