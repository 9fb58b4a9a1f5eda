"""Submitting, looking at and steering runs."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from dagflow.core.errors import StepError
from dagflow.core.values import JsonValue
from dagflow.executor.steps import WORK
from dagflow.executor.steps.base import Attempt, StepContext
from tests.api.served import HELLO, WAITS, Client, eventually, served

BIG = 7615917337495251231


def test_a_run_is_submitted_found_and_finished(api: Client) -> None:
    answer = api.submit("hello", {"name": "you"})
    run_id = answer.json["run"]["id"]
    done = api.until(run_id, "succeeded")

    assert answer.status == 202
    assert answer.headers["location"] == f"/v1/runs/{run_id}"
    assert done["run"]["outputs"] == {"text": "hello you"}
    assert api.get(answer.headers["location"]).json == done
    assert api.get(f"/v1/runs/{run_id}/steps").json["steps"] == done["steps"]


def test_a_body_that_is_no_object_is_refused_in_plain_words(api: Client) -> None:
    answer = api.post("/v1/runs", [])

    assert (answer.status, answer.code) == (422, "invalid-request")
    assert "the body should be a JSON object" in json.dumps(answer.json)


def test_a_caller_may_wait_for_the_end(api: Client) -> None:
    answer = api.submit("hello", {"name": "w"}, Prefer="respond-async, wait=20")

    assert answer.json["run"]["status"] == "succeeded"
    assert answer.headers["preference-applied"] == "wait=20"


def test_a_wait_ends_when_its_time_is_up(api: Client) -> None:
    start = time.monotonic()
    answer = api.submit("waits", Prefer="wait=1")

    assert 0.9 < time.monotonic() - start < 10
    assert answer.json["run"]["status"] == "waiting"
    odd = api.submit("waits", Prefer="wait=\u00b2")
    assert odd.status == 202
    for one in (answer, odd):
        api.post(f"/v1/runs/{one.json['run']['id']}/cancel")


def test_the_same_key_starts_one_run_also_at_the_same_time(api: Client) -> None:
    found: list[str] = []

    def submit() -> None:
        answer = api.submit("hello", {"name": "k"}, Idempotency_Key="at-once")
        found.append(answer.json["run"]["id"])

    threads = [threading.Thread(target=submit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_key_used_for_another_body_is_refused(api: Client) -> None:
    first = api.submit("hello", {"name": "a"}, Idempotency_Key="one")
    other = api.submit("hello", {"name": "b"}, Idempotency_Key="one")
    spelled = api.post(
        "/v1/runs", b'{ "inputs":{"name":"a"}, "workflow":"hello" }', Idempotency_Key="one"
    )

    assert (other.status, other.code) == (422, "key-reused")
    assert "new key" in other.json["remedy"]
    assert spelled.json["run"]["id"] == first.json["run"]["id"]


@pytest.mark.parametrize(
    ("inputs", "at"),
    [
        ({"name": "x", "times": 10}, "/inputs/times"),
        ({"name": "x", "times": "2"}, "/inputs/times"),
        ({"name": "x", "times": 9223372036854775808}, ""),
    ],
)
def test_wrong_inputs_are_told_by_their_place(api: Client, inputs: object, at: str) -> None:
    answer = api.submit("hello", inputs)

    if at:
        assert answer.status == 422
        assert [it["pointer"] for it in answer.json["errors"]] == [at]
    else:
        assert (answer.status, answer.code) == (400, "bad-json")
        assert "64-bit" in answer.json["detail"]


def test_missing_and_unknown_inputs_are_named(api: Client) -> None:
    missing, unknown = api.submit("hello"), api.submit("hello", {"name": "x", "nmae": "y"})

    assert (missing.status, unknown.status) == (422, 422)
    assert "name" in missing.json["detail"]
    assert "nmae" in unknown.json["detail"]


def test_an_unknown_workflow_version_or_run_is_not_found(api: Client) -> None:
    version = api.post("/v1/runs", {"workflow": "hello", "version": "9", "inputs": {"name": "x"}})

    assert api.submit("no_such").status == 404
    assert version.status == 404
    for path in ("", "/steps", "/events"):
        assert api.get(f"/v1/runs/r-none{path}").status == 404
    for act in ("cancel", "pause", "resume", "signals/go"):
        assert api.post(f"/v1/runs/r-none/{act}").status == 404
    assert api.get("/v1/approvals/none").status == 404


def test_a_deadline_shortens_the_runs(api: Client) -> None:
    answer = api.post("/v1/runs", {"workflow": "waits", "deadline": 0.3})
    run = api.until(answer.json["run"]["id"], "timed_out")["run"]

    assert run["error"]["class"] == "timeout"


def test_cancel_pause_and_resume(api: Client) -> None:
    run_id = api.start("waits")
    paused = api.post(f"/v1/runs/{run_id}/pause")
    resumed = api.post(f"/v1/runs/{run_id}/resume")
    not_paused = api.post(f"/v1/runs/{run_id}/resume")
    cancelled = api.post(f"/v1/runs/{run_id}/cancel", {"by": "me", "reason": "enough"})

    assert (paused.status, paused.json["run"]["status"]) == (202, "paused")
    assert resumed.json["run"]["status"] == "waiting"
    assert (not_paused.status, not_paused.code) == (409, "conflict")
    assert cancelled.json["run"]["status"] == "cancelled"
    assert api.post(f"/v1/runs/{run_id}/cancel").status == 409
    assert api.post(f"/v1/runs/{run_id}/pause").status == 409


def test_a_signal_is_consumed_or_refused(api: Client) -> None:
    run_id = api.start("waits")
    place = f"/v1/runs/{run_id}/signals"
    wrong = api.post(f"{place}/go", {"payload": {"n": "x"}})
    unknown = api.post(f"{place}/stop", {"payload": {"n": 1}})
    right = api.post(f"{place}/go", {"payload": {"n": BIG}})
    done = api.until(run_id, "succeeded")
    late = api.post(f"{place}/go", {"payload": {"n": 1}})

    assert (wrong.status, unknown.status, right.status, late.status) == (422, 409, 202, 409)
    assert done["run"]["outputs"] == {"n": BIG}


PAYS = """\
dagflow: 1
name: pays
steps:
  each:
    foreach:
      items: '["a", "b"]'
      as: who
      max_items: 2
      concurrency: 2
      steps:
        pay:
          python: "def main(): return 1"
          effects: once
          retry: {attempts: 2}
          on_error: [{on: conflict, continue: 0}]
          output: integer
      collect: steps.pay.output
outputs: {paid: "${{ steps.each.output }}"}
"""


async def unanswered(attempt: Attempt, _: StepContext) -> JsonValue:
    """Do work of which nobody knows whether it was done."""
    raise StepError("network", f"no answer to {attempt.path}")


def test_a_step_of_unknown_outcome_is_settled_once_by_a_person(tmp_path: Path) -> None:
    with served(tmp_path, work={**WORK, "python": unanswered}) as api:
        run_id = api.start(api.register(PAYS))
        api.until(run_id, "waiting")
        place = f"/v1/runs/{run_id}/steps/each%5B{{}}%5D.pay/settle"
        done = {"succeeded": True, "output": BIG, "by": "ann"}

        refused = [
            api.post("/v1/runs/run_none/steps/pay/settle", done).status,
            api.post(f"/v1/runs/{run_id}/steps/pay/settle", done).status,
            api.post(f"/v1/runs/{run_id}/steps/each/settle", done).status,
            api.post(f"/v1/runs/{run_id}/steps/each.pay/settle", {"succeeded": True}).status,
            api.post(place.format(0), {**done, "output": "one"}).status,
            api.post(place.format(0), {**done, "succeeded": False}).status,
        ]
        first = api.post(place.format(0), done).status
        again = api.post(place.format(0), done).status
        other = api.post(place.format(1), {"succeeded": False, "by": "ann"}).status

        assert refused == [404, 404, 409, 422, 422, 422]
        assert (first, again, other) == (202, 409, 202)
        assert api.until(run_id, "succeeded")["run"]["outputs"] == {"paid": [BIG, 0]}


def test_an_approval_is_answered_once_and_for_what_was_shown(api: Client) -> None:
    run_id = api.start("asks", {"ticket": "T1"})
    (asked,) = api.get(f"/v1/approvals?run={run_id}").json["approvals"]
    place = f"/v1/approvals/{asked['id']}"
    answer = {"approve": True, "by": "ann", "arguments": asked["data"]["hash"]}

    anonymous = api.post(place, {**answer, "by": ""})
    unseen = api.post(place, {"approve": True, "by": "ann"})
    other = api.post(place, {**answer, "arguments": "sha256:00"})
    right = api.post(place, answer)
    again = api.post(place, {**answer, "approve": False})

    assert (anonymous.status, unseen.status, other.status) == (422, 422, 409)
    assert (right.status, right.json["state"]) == (200, "succeeded")
    assert again.status == 409
    assert api.until(run_id, "succeeded")["run"]["outputs"] == {"by": "ann"}
    assert api.get(f"/v1/approvals?run={run_id}").json["approvals"] == []
    assert api.get(place).json["decided_at"]


def test_runs_are_listed_by_pages_that_do_not_shift(api: Client) -> None:
    name = api.register(HELLO.replace("name: hello", "name: paged", 1))
    ids = [api.submit(name, {"name": str(i)}, Prefer="wait=20").json["run"]["id"] for i in range(5)]
    first = api.get("/v1/runs?workflow=paged&limit=2")
    api.start(name, {"name": "later"})
    found = [row["id"] for row in first.json["runs"]]
    cursor = first.json["next_cursor"]
    while cursor:
        page = api.get(f"/v1/runs?workflow=paged&limit=2&cursor={cursor}").json
        found += [row["id"] for row in page["runs"]]
        cursor = page["next_cursor"]

    assert found == ids[::-1]
    assert 'rel="next"' in first.headers["link"]
    follow = first.headers["link"].partition(">")[0].lstrip("<")
    assert [row["id"] for row in api.get(follow).json["runs"]] == found[2:4]


def test_runs_are_filtered_by_state(api: Client) -> None:
    name = api.register(WAITS.replace("name: waits", "name: filtered", 1))
    run_id = api.start(name)

    waiting = api.get("/v1/runs?workflow=filtered&status=waiting&status=failed").json["runs"]
    failed = api.get("/v1/runs?workflow=filtered&status=failed").json["runs"]
    api.post(f"/v1/runs/{run_id}/cancel")

    assert [row["id"] for row in waiting] == [run_id]
    assert failed == []


@pytest.mark.parametrize(
    "query",
    ["status=done", "limit=0", "limit=201", "limit=x", "cursor=zzz", f"cursor={'9' * 30}.x",
     "cursor=1.", f"workflow={'w' * 64}"],
)  # fmt: skip
def test_a_list_refuses_what_it_does_not_know(api: Client, query: str) -> None:
    assert api.get(f"/v1/runs?{query}").status == 422


@pytest.mark.parametrize("number", [BIG, 2**63 - 1, -(2**63)])
def test_integers_are_exact_in_and_out(api: Client, number: int) -> None:
    flow = (
        "dagflow: 1\nname: exact\ninputs: {n: integer}\nsteps:\n"
        "  same: {when: inputs.n != 0, transform: inputs.n}\n"
        'outputs: {n: "${{ steps.?same.output.orValue(0) }}"}\n'
    )
    answer = api.submit(api.register(flow), {"n": number}, Prefer="wait=20")
    run_id = answer.json["run"]["id"]
    texts = [
        answer.body,
        api.get(f"/v1/runs/{run_id}").body,
        api.get(f"/v1/runs/{run_id}/steps").body,
        api.get(f"/v1/runs/{run_id}/events").body,
    ]
    with api.stream(run_id) as stream:
        texts.append("".join(message.data for message in stream).encode())

    assert all(str(number).encode() in text for text in texts)
    assert answer.json["run"]["outputs"] == {"n": number}


def test_a_run_goes_on_with_its_plan_when_the_workflow_changes(api: Client) -> None:
    """Scenario 23: a definition that changes while a run waits does not change the run."""
    name = api.register(WAITS.replace("name: waits", "name: pinned", 1))
    run_id = api.start(name)
    plan = api.get(f"/v1/runs/{run_id}").json["run"]["plan"]
    api.post(f"/v1/runs/{run_id}/pause")
    api.register(
        "dagflow: 1\nname: pinned\nsteps:\n  other: {transform: '1'}\n  more: {transform: '2'}\n"
    )
    api.post(f"/v1/runs/{run_id}/resume")
    api.post(f"/v1/runs/{run_id}/signals/go", {"payload": {"n": 5}})
    done = api.until(run_id, "succeeded")

    assert done["run"]["outputs"] == {"n": 5}
    assert done["run"]["plan"] == plan
    assert set(done["steps"]) == {"go", "tell"}
    assert api.get("/v1/workflows/pinned").json["plan"] != plan


def test_answers_are_compact_json_in_utf8(api: Client) -> None:
    answer = api.submit("hello", {"name": "żółw 🐢\u2028"}, Prefer="wait=20")

    assert "żółw 🐢\u2028".encode() in answer.body
    assert (
        answer.body == json.dumps(answer.json, ensure_ascii=False, separators=(",", ":")).encode()
    )


def test_two_people_answering_at_once_give_one_answer(api: Client) -> None:
    run_id = api.start("asks", {"ticket": "T2"})
    (asked,) = eventually(lambda: api.get(f"/v1/approvals?run={run_id}").json["approvals"])
    codes: list[int] = []

    def answer(approve: bool) -> None:
        body = {"approve": approve, "by": "x", "arguments": asked["data"]["hash"]}
        codes.append(api.post(f"/v1/approvals/{asked['id']}", body).status)

    threads = [threading.Thread(target=answer, args=(i % 2 == 0,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(codes) == [200, 409, 409, 409, 409, 409]
