"""The log: every change is written in one way and read back exactly, or refused."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta

import pytest

from dagflow.core.errors import ValueRefusedError
from dagflow.core.events import RUN_FIELDS, STEP_FIELDS, decode, encode
from dagflow.core.plan import BudgetLimits
from dagflow.core.run import (
    Change,
    Run,
    RunChanged,
    RunState,
    SignalArrived,
    SignalTaken,
    StepChanged,
    StepFailure,
    StepRecord,
    StepsReset,
)
from dagflow.core.values import JsonObject, read_json
from dagflow.executor.replay import replay
from tests.unit.executor.plans import START, Driver, foreach, plan, retry, step

AT = datetime(2026, 3, 1, 7, 30, 0, 123456, tzinfo=UTC)
FAILURE = StepFailure(error_class="network", message="é", attempt=2, retry_after=1.5)

CHANGES: tuple[Change, ...] = (
    StepChanged(path="l[3].a", before="pending", after="ready", at=AT),
    StepChanged(
        path="a",
        before="running",
        after="succeeded",
        at=AT,
        set={
            "output": {"n": 7615917337495251231, "x": 0.1, "z": None},
            "has_output": True,
            "error": FAILURE,
            "due": None,
            "finished_at": AT + timedelta(microseconds=1),
            "token": 4,
            "data": {"next": 1},
        },
    ),
    RunChanged(
        before=RunState.RUNNING,
        after=RunState.FINISHING,
        at=AT,
        set={"outcome": "failed", "error": FAILURE, "used": {"tokens": 3}, "paused": False},
    ),
    SignalArrived(name="go", payload=[1, "two"], at=AT),
    SignalTaken(name="go", path="w", at=AT),
    SignalTaken(name="go", path=None, at=AT),
    StepsReset(path="l", steps=("l[0].x", "l[1].x"), at=AT),
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: type(c).__name__)
def test_a_change_survives_json_exactly(change: Change):
    import json

    assert decode(read_json(json.dumps(encode(change)))) == change


def test_an_instant_in_another_zone_is_the_same_instant():
    local = AT.astimezone(tz=None)
    assert decode(encode(SignalArrived(name="n", payload=None, at=local))).at == AT


def broken() -> list[JsonObject]:
    good = encode(CHANGES[1])
    run = encode(CHANGES[2])
    return [
        {},
        {**good, "change": "leap"},
        {**good, "extra": 1},
        {name: value for name, value in good.items() if name != "at"},
        {**good, "before": "sleeping"},
        {**good, "at": "2026-03-01T07:30:00Z"},
        {**good, "at": "2026-03-01T07:30:00.123456+00:00"},
        {**good, "at": "2026-13-01T07:30:00.123456Z"},
        {**good, "set": {"colour": 1}},
        {**good, "set": {"token": "4"}},
        {**good, "set": {"token": True}},
        {**good, "set": {"output": 2**63}},
        {**good, "set": {"data": 1}},
        {**good, "set": {"error": {"class": "network"}}},
        {
            **good,
            "set": {"error": {"class": "odd", "message": "", "attempt": 1, "retry_after": None}},
        },
        {**good, "path": 3},
        {**run, "after": "gone"},
        {**encode(CHANGES[-1]), "steps": "l[0].x"},
    ]


@pytest.mark.parametrize("value", broken(), ids=range(len(broken())))
def test_anything_else_is_refused(value: JsonObject):
    with pytest.raises(ValueRefusedError):
        decode(value)


def test_every_field_that_can_change_has_a_codec():
    derived = {"path", "state", "ended"}
    assert set(STEP_FIELDS) == {f.name for f in fields(StepRecord)} - derived
    fixed = {"id", "plan", "inputs", "version", "attempt", "root", "parent", "prefix", "created_at"}
    counted = {f.name for f in fields(Run) if not f.init}
    folded = {"state", "steps", "signals"}
    assert set(RUN_FIELDS) == {f.name for f in fields(Run)} - fixed - counted - folded


def test_a_recorded_log_replays_to_the_same_run():
    made = plan(foreach("l", "[1, 2]", step("l.x"), retry=retry(2)), step("b", needs="l"))
    run = Driver(made).begin()
    run.ok("l[0].x", 1)
    run.bad("l[1].x")
    run.drain()
    submitted = Run(id="r1", plan="", inputs={}, created_at=START)
    again = replay(submitted, [decode(encode(change)) for change in run.log])
    assert again == run.run
    assert submitted.steps == {}


def test_a_run_made_from_stored_records_counts_what_a_replayed_one_does():
    loop = foreach("l", "[1, 2]", step("l.x"), concurrency=2)
    asks = [step(name, "llm", body={"max_tokens": 6}) for name in "bc"]
    run = Driver(plan(loop, *asks, budget=BudgetLimits(tokens=10))).begin()
    run.ok("l[0].x", 1)
    run.claim("b")
    run.claim("c")
    run.ok("b")
    assert run.run.held_back
    assert run.run.let_go
    stored = Run(id="r1", plan="", inputs={}, steps=run.run.steps)
    for name in ("done", "active", "busy", "ended", "holding", "running", "held_back", "let_go"):
        assert getattr(stored, name) == getattr(run.run, name), name
