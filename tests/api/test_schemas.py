"""The published schemas hold for what dagflow really writes, and for nothing else."""

from __future__ import annotations

import asyncio
import json
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from dagflow.api.schemas import DEFINITIONS, PUBLISHED, published
from dagflow.compiler.report.json_report import to_json
from dagflow.core import plan_json
from dagflow.core.plan import Plan
from dagflow.service.bundle import read_bundle
from dagflow.service.check import check
from dagflow.service.views import run_view
from tests.acceptance.command import Shell
from tests.api.served import HELLO, WAITS, Client
from tests.scenarios.flows import House, Script, compiled, eventually, failing
from tests.scenarios.test_course import CLEANS, LATE

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted(path for path in (ROOT / "workflows").glob("*.yaml") if "." not in path.stem)
FAULTY = sorted(
    path
    for path in (ROOT / "tests" / "golden" / "faulty").glob("*.yaml")
    if ".openapi" not in path.name
)


@cache
def schema(file: str) -> Any:
    """Return a published schema, as its file has it."""
    read = json.loads((ROOT / "schemas" / file).read_text("utf-8"))
    return jsonschema_rs.validator_for(read, validate_formats=True)


@cache
def component(name: str) -> Any:
    """Return one named form as a schema."""
    whole = {"$ref": f"#/$defs/{name}", "$defs": DEFINITIONS}
    return jsonschema_rs.validator_for(whole, validate_formats=True)


def misfits(validator: Any, value: Any) -> list[str]:
    return [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(value)]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_reports_and_plans_of_the_examples_fit(path: Path) -> None:
    found = check(read_bundle(str(path)))
    assert found.plan is not None

    assert misfits(schema("report.v1.json"), to_json(found.report)) == []
    assert misfits(schema("report.v1.json"), to_json(found.report, timings=True)) == []
    assert misfits(schema("plan.v1.json"), plan_json.to_json(found.plan)) == []


def test_reports_with_findings_fit() -> None:
    assert FAULTY
    for path in FAULTY:
        report = to_json(check(read_bundle(str(path))).report)

        assert report["findings"], path.name
        assert misfits(schema("report.v1.json"), report) == [], path.name


RICH = """\
dagflow: 1
name: rich
inputs: {n: integer}
steps:
  first:
    {python: 'def main(): return 1', output: integer,
     retry: {attempts: 2, backoff: 1ms, on: [user]}}
  each:
    foreach:
      items: "[1, 2]"
      as: it
      max_items: 2
      tolerate: 2
      steps: {one: {python: 'def main(): return 1', output: integer}}
  turn: {repeat: {max: 3, until: turn == 1, steps: {t: {transform: turn}}}}
  handled: {python: 'def main(): return 1', output: integer, on_error: [{continue: 7}]}
  ask: {approve: {message: go?, expires: 1h}}
  off: {when: inputs.n > 5, transform: '1'}
outputs: {off: "${{ steps.off.status }}", all: "${{ steps.each.output }}"}
"""


async def _lived() -> list[tuple[Any, list[Any], list[Any]]]:
    """Return views, logs and approvals of runs in which much happens."""
    failed: list[int] = []

    async def once(attempt: Any, context: Any) -> int:
        if not failed:
            failed.append(1)
            raise failing()
        return 1

    script = Script({"first": once, "one": failing(), "handled": failing(), "a": 1})
    found = []
    house = House(script=script)

    def see(run_id: str, plan: Plan) -> None:
        view = run_view(house.runs.get(run_id), plan)
        events = [{"seq": it.seq, **it.body} for it in house.store.events(run_id)]
        found.append((view, events, list(house.runs.approvals(run_id))))

    async with house.at_work():
        plan = compiled(RICH)
        run_id = house.runs.submit(plan, {"n": 1})
        await eventually(lambda: house.runs.approvals(run_id))
        await eventually(lambda: house.runs.get(run_id).busy == 0)
        see(run_id, plan)
        house.runs.pause(run_id)
        see(run_id, plan)
        house.runs.resume(run_id)
        house.runs.decide(house.runs.approvals(run_id)[0].id, approve=True, by="ann")
        await house.end(run_id)
        see(run_id, plan)
        for text in (CLEANS, LATE):
            plan = compiled(text)
            run_id = house.runs.submit(plan, {})
            if text is LATE:
                await eventually(partial(finishing, house, run_id))
                house.runs.signal(run_id, "go", {"n": 1})
            await house.end(run_id)
            see(run_id, plan)
    return found


def finishing(house: House, run_id: str) -> bool:
    return house.runs.get(run_id).outcome != ""


def test_runs_logs_and_approvals_fit() -> None:
    lived = asyncio.run(_lived())
    kinds = {event["change"] for _, events, _ in lived for event in events}
    states = {step["status"] for view, _, _ in lived for step in view["steps"].values()}

    assert {"step", "run", "signal", "signal_taken"} <= kinds
    assert {"succeeded", "failed", "skipped", "waiting"} <= states
    for view, events, _ in lived:
        assert misfits(schema("run.v1.json"), view) == []
        for event in events:
            assert misfits(schema("events.v1.json"), event) == []


def test_what_the_command_line_writes_fits(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    file = shell.write("hello.yaml", HELLO)

    report = shell("check", file, "--format", "json").json
    run = shell("run", file, "-i", "name=x", "--format", "json").json
    plan = shell("plan", file).json

    assert misfits(schema("report.v1.json"), report) == []
    assert misfits(schema("run.v1.json"), run) == []
    assert misfits(schema("plan.v1.json"), plan) == []


def test_what_the_api_answers_fits(api: Client) -> None:
    run_id = api.start("asks", {"ticket": "T"})
    answers = {
        "Run": f"/v1/runs/{run_id}",
        "RunList": "/v1/runs",
        "StepList": f"/v1/runs/{run_id}/steps",
        "EventPage": f"/v1/runs/{run_id}/events",
        "ApprovalList": f"/v1/approvals?run={run_id}",
        "WorkflowList": "/v1/workflows",
        "RegisteredSource": "/v1/workflows/hello",
        "VersionList": "/v1/workflows/hello/versions",
        "Report": "/v1/workflows/hello/report",
        "Health": "/health/live",
    }
    for name, path in answers.items():
        assert misfits(component(name), api.get(path).json) == [], name
    for problem in (
        api.get("/v1/runs/none"),
        api.submit("hello"),
        api.put("bad", "dagflow: 1\nname: bad\nsteps: 1\n"),
        api.get("/v1/runs?limit=0"),
    ):
        assert misfits(component("Problem"), problem.json) == []
    with api.stream(run_id) as stream:
        assert misfits(schema("events.v1.json"), json.loads(next(iter(stream)).data)) == []


def test_a_plan_that_is_not_whole_does_not_fit() -> None:
    plan = plan_json.to_json(compiled(WAITS))
    for spoil in (
        lambda it: it.pop("constraints"),
        lambda it: it.update(more=1),
        lambda it: it["steps"][0].pop("kind"),
        lambda it: it["steps"][0].update(timeout="1s"),
        lambda it: it["steps"][0]["retry"].update(on=["tired"]),
    ):
        spoilt: Any = deepcopy(plan)
        spoil(spoilt)

        assert misfits(schema("plan.v1.json"), spoilt)


def test_an_event_of_another_form_does_not_fit() -> None:
    event = {
        "seq": 1, "change": "step", "path": "a", "before": "pending", "after": "ready",
        "at": "2026-01-01T00:00:00.000000Z", "set": {"attempt": 1},
    }  # fmt: skip
    assert misfits(schema("events.v1.json"), event) == []
    for change in ({"after": "tired"}, {"set": {"colour": "red"}}, {"at": "noon"}, {"change": "x"}):
        assert misfits(schema("events.v1.json"), {**event, **change}), change


def test_every_field_that_a_change_may_set_is_published() -> None:
    from dagflow.core.events import RUN_FIELDS, STEP_FIELDS

    published_fields: Any = published("events.v1.json")["$defs"]

    assert set(published_fields["StepFields"]["properties"]) == set(STEP_FIELDS)
    assert set(published_fields["RunFields"]["properties"]) == set(RUN_FIELDS)


@pytest.mark.parametrize("file", PUBLISHED)
def test_a_published_schema_is_valid_and_refers_to_nothing_outside(file: str) -> None:
    text = json.dumps(published(file))

    jsonschema_rs.meta.validate(published(file))
    assert all(ref.startswith("#/$defs/") for ref in _references(json.loads(text)))


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [ref for item in value.values() for ref in _references(item)]
    return [ref for item in value for ref in _references(item)] if isinstance(value, list) else []
