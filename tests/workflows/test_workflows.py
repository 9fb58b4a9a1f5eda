"""Every example workflow checks, runs, and does what its description says."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from dagflow.compiler.report.json_report import to_json
from dagflow.core.findings import Severity
from dagflow.service.bundle import read_bundle
from dagflow.service.check import check
from tests.workflows.desk import FOLDER, NAMES, Desk, answering, serving, signalling

ORDERS = "id,sku,quantity,price\n1,apple,2,0.50\n2,pear,1,1.25\n"
BAD_ROWS = ORDERS + "3,plum,many,1.00\n,fig,1,1.00\n5,kiwi,0,1.00\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_checks_and_says_what_it_is_for(name: str) -> None:
    checked = check(read_bundle(str(FOLDER / f"{name}.yaml")))

    assert not checked.has(Severity.ERROR), checked.report.findings
    assert checked.plan is not None
    assert checked.workflow is not None
    assert checked.workflow.description is not None
    assert len(checked.workflow.description.value) > 150


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_is_run_by_a_test(name: str) -> None:
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))

    assert f'desk.run("{name}"' in tests.replace("\n        ", "")


# ── csv_orders, partner_orders ──


@pytest.mark.usefixtures("sandbox")
def test_csv_orders_books_rows_that_are_all_usable(desk: Desk) -> None:
    summary = desk.run("csv_orders", csv=ORDERS).outputs["summary"]

    assert summary == {"verdict": "book: 2 orders", "cents": 225, "orders": 2, "rejected": []}


@pytest.mark.usefixtures("sandbox")
def test_csv_orders_holds_and_names_the_bad_rows_without_losing_the_others(desk: Desk) -> None:
    summary = desk.run("csv_orders", csv=BAD_ROWS).outputs["summary"]

    assert summary["verdict"] == "hold: 3 rows are not usable"
    assert (summary["orders"], summary["cents"]) == (2, 225)
    assert [it["row"] for it in summary["rejected"]] == [4, 5, 6]  # as a text editor counts
    reasons = [it["reason"] for it in summary["rejected"]]
    assert "many" in reasons[0]
    assert "the id is empty" in reasons[1]
    assert "must be positive" in reasons[2]


@pytest.mark.usefixtures("sandbox")
def test_partner_orders_names_the_partner_whose_file_is_unreadable(desk: Desk) -> None:
    files = [
        {"partner": "north", "csv": ORDERS},
        # a field that csv refuses: longer than its limit of 131,072 characters
        {"partner": "south", "csv": "id,sku,quantity,price\n" + "x" * 140_000},
        {"partner": "east", "csv": ORDERS + "3,fig,2,1.00\n"},
    ]

    day = desk.run("partner_orders", files=files).outputs["day"]

    assert day["unreadable"] == ["south"]
    assert day["cents"] == 225 + 425
    assert [it["partner"] for it in day["partners"]] == ["north", "east"]
    assert [it["verdict"] for it in day["partners"]] == ["book: 2 orders", "book: 3 orders"]


# ── access_log ──


def log_of(good: int, bad: int) -> str:
    line = '10.0.0.{} - - [01/Jan/2026:10:00:00 +0000] "GET {} HTTP/1.1" {} 512 "-" "curl"'
    lines = [line.format(n % 250, "/", 200) for n in range(good)]
    lines += [line.format(n % 250, "/buy" if n % 3 else "/pay", 503) for n in range(bad)]
    return "\n".join([*lines, "not a line of a log", ""])


@pytest.mark.usefixtures("sandbox")
def test_access_log_alerts_above_the_threshold(desk: Desk, alerts: list[Any]) -> None:
    outputs = desk.run("access_log", log=log_of(90, 10)).outputs

    assert outputs == {
        "requests": 100,
        "error_percent": 10,
        "worst": ["/buy", "/pay"],
        "alerted": True,
    }
    assert [(a["title"], a["severity"]) for a in alerts] == [("10 % of requests fail", "high")]


@pytest.mark.usefixtures("sandbox")
def test_access_log_is_quiet_below_the_threshold(desk: Desk, alerts: list[Any]) -> None:
    outputs = desk.run("access_log", log=log_of(97, 3)).outputs

    assert (outputs["requests"], outputs["error_percent"]) == (100, 3)
    assert outputs["alerted"] is False
    assert alerts == []


@pytest.mark.usefixtures("sandbox")
def test_access_log_takes_an_empty_log(desk: Desk, alerts: list[Any]) -> None:
    outputs = desk.run("access_log", log="").outputs

    assert outputs == {"requests": 0, "error_percent": 0, "worst": [], "alerted": False}
    assert alerts == []


# ── incident ──


def test_an_incident_that_is_taken_is_not_raised_again(desk: Desk, alerts: list[Any]) -> None:
    taken = signalling("taken", "taken", {"by": "ann"})

    ended = desk.run("incident", taken, title="disk is full")

    assert ended.outputs["record"] == {"title": "disk is full", "taken": True, "by": "ann"}
    assert ended.state("escalate") == "skipped"
    assert [(a["title"], a["severity"]) for a in alerts] == [("disk is full", "low")]


def test_an_incident_that_nobody_takes_is_raised_higher(desk: Desk, alerts: list[Any]) -> None:
    desk.replace("incident.yaml", "expires: 10m", "expires: 300ms")

    outputs = desk.run("incident", title="disk is full").outputs

    assert outputs["record"] == {"title": "disk is full", "taken": False, "by": "nobody"}
    assert [(a["title"], a["severity"]) for a in alerts] == [
        ("disk is full", "low"),
        ("nobody has taken: disk is full", "high"),
    ]


# ── release ──


def quick_looks(desk: Desk) -> None:
    desk.replace("release.yaml", "wait: {for: 200ms}", "wait: {for: 10ms}")


def test_a_release_that_is_confirmed_goes_everywhere(desk: Desk, deployer: Any) -> None:
    quick_looks(desk)

    ended = desk.run("release", answering("confirm", approve=True), version="2.0.0")

    assert ended.outputs == {"version": "2.0.0", "previous": "1.0.0"}
    assert deployer.versions == {"canary": "2.0.0", "fleet": "2.0.0"}
    assert deployer.log == [{"version": "2.0.0", "outcome": "succeeded"}]


def test_a_release_that_is_rejected_is_taken_back(desk: Desk, deployer: Any) -> None:
    quick_looks(desk)

    ended = desk.run("release", answering("confirm", approve=False), version="2.0.0")

    assert (ended.status, ended.error["class"]) == ("failed", "rejected")
    assert deployer.versions == {"canary": "1.0.0", "fleet": "1.0.0"}
    assert deployer.log == [
        {"rollback": "canary", "to": "1.0.0"},
        {"version": "2.0.0", "outcome": "failed"},
    ]


def test_a_release_that_nobody_confirms_is_taken_back(desk: Desk, deployer: Any) -> None:
    quick_looks(desk)
    desk.replace("release.yaml", "expires: 1h", "expires: 300ms")

    ended = desk.run("release", version="2.0.0")

    assert (ended.status, ended.error["class"]) == ("failed", "rejected")
    assert deployer.versions["canary"] == "1.0.0"
    assert deployer.log[-1] == {"version": "2.0.0", "outcome": "failed"}


def test_a_release_that_the_fleet_refuses_is_taken_back(desk: Desk, deployer: Any) -> None:
    quick_looks(desk)
    deployer.refused.add("fleet")

    ended = desk.run("release", answering("confirm", approve=True), version="2.0.0")

    assert (ended.status, ended.error["class"]) == ("failed", "http_4xx")
    assert deployer.versions == {"canary": "1.0.0", "fleet": "1.0.0"}
    assert deployer.log == [
        {"rollback": "canary", "to": "1.0.0"},
        {"version": "2.0.0", "outcome": "failed"},
    ]


def test_a_release_that_fails_at_the_end_is_taken_back_in_reverse(
    desk: Desk, deployer: Any
) -> None:
    quick_looks(desk)
    desk.replace("release.yaml", "finally:", '  late: {after: fleet, fail: "late"}\n\nfinally:')

    ended = desk.run("release", answering("confirm", approve=True), version="2.0.0")

    assert ended.status == "failed"
    assert [it.get("rollback") for it in deployer.log] == ["fleet", "canary", None]
    assert deployer.versions == {"canary": "1.0.0", "fleet": "1.0.0"}


def test_a_canary_with_errors_is_never_shown_to_a_person(desk: Desk, deployer: Any) -> None:
    quick_looks(desk)
    deployer.errors["canary"] = 7

    ended = desk.run("release", version="2.0.0")

    assert (ended.status, ended.error["class"]) == ("failed", "exhausted")
    assert ended.state("confirm") == "skipped"
    assert deployer.versions["canary"] == "1.0.0"
    assert deployer.log[-1] == {"version": "2.0.0", "outcome": "failed"}


# ── reference_graph ──


def test_the_reference_graph_is_pruned_to_19_steps_and_26_edges() -> None:
    report = check(read_bundle(str(FOLDER / "reference_graph.yaml"))).report
    found = json.loads(json.dumps(to_json(report)))

    assert found["ok"]
    assert found["graph"]["before"] == {"nodes": 27, "edges": 41}
    assert found["graph"]["after"] == {"nodes": 19, "edges": 26}
    removed = [it["kind"] for it in found["graph"]["removed"]]
    assert (removed.count("step"), removed.count("edge")) == (8, 15)
    assert all(it["reason"] for it in found["graph"]["removed"])


EVERYWHERE = {"first": [], "minutes": 0, "then": ["eu", "us", "ap"]}
CANARY = {"first": ["eu"], "minutes": 30, "then": ["us", "ap"]}
NOWHERE = {"first": [], "minutes": 0, "then": []}
GATE = [
    ({}, "100: may ship", EVERYWHERE, []),
    ({"risk": "high"}, "100: may ship", {**CANARY, "minutes": 120}, []),
    ({"size_mb": 900}, "85: may ship", CANARY, []),
    ({"blockers": 1}, "75: held back", NOWHERE, ["defect board"]),
    ({"coverage": 10}, "40: held back", NOWHERE, ["test team"]),
]


@pytest.mark.parametrize(("inputs", "verdict", "rollout", "owners"), GATE)
def test_the_reference_graph_decides_about_a_candidate(
    desk: Desk, inputs: dict[str, Any], verdict: str, rollout: Any, owners: list[str]
) -> None:
    outputs = desk.run("reference_graph", **inputs).outputs

    assert outputs == {
        "summary": f"4.2.0-rc3 scores {verdict}",
        "score": int(verdict.partition(":")[0]),
        "rollout": rollout,
        "owners": owners,
        "pager": "on call for 4.2.0-rc3" if inputs.get("risk") == "high" else "",
    }


# ── with a model ──


@pytest.mark.usefixtures("sandbox", "model")
def test_host_changes_sorts_what_changed_on_this_machine(desk: Desk, alerts: list[Any]) -> None:
    digest = desk.run("host_changes", newest=2, wait=300).outputs["digest"]

    found = digest["changes"]
    assert len(found) <= min(2, digest["read"])
    assert len(found) == 2 or digest["read"] < 2
    assert all(it["kind"] in {"security", "bugfix", "feature", "packaging"} for it in found)
    assert digest["security"] == sum(it["kind"] == "security" for it in found)
    assert digest["alerted"] == (len(alerts) == 1)


@pytest.mark.usefixtures("model")
def test_ticket_triage_puts_a_message_on_a_desk(desk: Desk, alerts: list[Any]) -> None:
    message = "I was charged twice for one order. Please give me the money back."

    ended = desk.run("ticket_triage", message=message, wait=300)

    outputs = ended.outputs
    assert outputs["desk"] in {"billing", "shipping", "technical", "other"}
    urgent = outputs["urgency"] == "high"
    assert outputs["paged"] is urgent
    assert [a["title"] for a in alerts] == (
        [f"{outputs['desk']}: a message needs you now"] if urgent else []
    )
    assert ended.state("file") == ("skipped" if urgent else "succeeded")
    assert ended.state("ask") == "skipped"
    assert ended.view["run"]["used"]["tokens"] > 0


ANSWER = '{"desk": "technical", "urgency": "high", "reason": "the shop is down"}'


class Chat(BaseHTTPRequestHandler):
    """A model server with one answer, so that each way of the guards is gone on any machine."""

    protocol_version = "HTTP/1.1"
    answer = ANSWER
    asked: list[dict[str, Any]] = []  # noqa: RUF012

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.asked.append(json.loads(self.rfile.read(length)))
        chunk = {
            "choices": [{"index": 0, "delta": {"content": self.answer}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 40, "completion_tokens": 20, "total_tokens": 60},
        }
        body = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("approve", [True, False])
def test_at_night_a_person_is_asked_before_anybody_is_paged(
    desk: Desk, alerts: list[Any], *, approve: bool
) -> None:
    with serving(type("Fresh", (Chat,), {"asked": []})) as address:
        desk.replace("ticket_triage.yaml", "{route: local}", served(address))
        ask = answering("ask", approve=approve)

        ended = desk.run("ticket_triage", ask, message="Nobody can buy!", at_night=True)

    assert ended.outputs == {"desk": "technical", "urgency": "high", "paged": approve}
    assert len(alerts) == int(approve)
    assert ended.state("file") == ("skipped" if approve else "succeeded")


def test_at_night_nobody_is_paged_when_nobody_answers(desk: Desk, alerts: list[Any]) -> None:
    desk.replace("ticket_triage.yaml", "expires: 30m", "expires: 300ms")
    with serving(type("Fresh", (Chat,), {"asked": []})) as address:
        desk.replace("ticket_triage.yaml", "{route: local}", served(address))

        ended = desk.run("ticket_triage", message="Nobody can buy!", at_night=True)

    assert ended.outputs["paged"] is False
    assert ended.state("file") == "succeeded"
    assert alerts == []


@pytest.mark.parametrize("urgency", ["high", "low"])
def test_by_day_the_guards_decide_with_the_model_s_answer(
    desk: Desk, alerts: list[Any], urgency: str
) -> None:
    answer = ANSWER.replace("high", urgency)
    with serving(type("Fresh", (Chat,), {"asked": [], "answer": answer})) as address:
        desk.replace("ticket_triage.yaml", "{route: local}", served(address))

        ended = desk.run("ticket_triage", message="The shop is down")

    assert ended.outputs == {
        "desk": "technical",
        "urgency": urgency,
        "paged": urgency == "high",
    }
    assert len(alerts) == int(urgency == "high")


def served(address: str) -> str:
    return f'{{url: "http://{address}/v1", model: fixed}}'
