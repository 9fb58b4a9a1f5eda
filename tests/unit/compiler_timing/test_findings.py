"""What is told of deadlines, schedules, quotas and budgets, and what is not."""

from __future__ import annotations

import json

import pytest

from dagflow.core.findings import Bounds, Finding
from tests.rules.compiling import compiled

ASK = """
dagflow: 1
name: ask
{top}
tools:
  helpdesk: {{openapi: ./helpdesk.openapi.yaml}}
steps:
  fetch:
    tool: helpdesk.getTicket
    with: {{path: {{id: t-1}}}}
    {fetch}
  rest: {{wait: {{for: 2s}}, after: fetch}}
outputs:
  text: ${{{{ steps.fetch.output.body.text }}}}
"""


def history(*windows: dict) -> str:
    return "# file: history.jsonl\n" + "".join(f"{json.dumps(window)}\n" for window in windows)


def ask(*, top: str = "deadline: 5s", fetch: str = "effects: pure", before: str = "") -> str:
    return f"{before}# file: work.yaml\n" + ASK.format(top=top, fetch=fetch)


def bounds(text: str) -> Bounds:
    report = compiled(text).report
    assert report.plan is not None, report.findings
    return report.bounds


def said(text: str, code: str) -> list[tuple[str, str]]:
    return [(f.severity.value, f.message) for f in compiled(text).report.findings if f.code == code]


def only(text: str, code: str) -> Finding:
    (found,) = (f for f in compiled(text).report.findings if f.code == code)
    return found


# ── Deadlines ─────────────────────────────────────────────────────────────────────────────────


def test_a_deadline_that_the_timeouts_keep_is_proven_without_any_record() -> None:
    (verdict,) = bounds(ask(top="deadline: 9s", fetch="timeout: 5s")).deadlines

    assert (verdict.verdict, verdict.low) == ("proven", 1.0)


def test_retries_of_a_tool_prove_nothing_since_its_server_may_ask_for_any_delay() -> None:
    found = bounds(ask(top="deadline: 1d", fetch="retry: {attempts: 2}"))

    assert [(it.verdict, it.missing) for it in found.deadlines] == [("no_data", ("fetch",))]
    assert {each.step: each.time_worst for each in found.each} == {"fetch": None, "rest": 2.0}


def test_nothing_is_guessed_of_a_step_without_records() -> None:
    text = ask(before=history({"steps": {"ask.other": [0.1]}}))
    (verdict,) = bounds(text).deadlines

    assert (verdict.verdict, verdict.missing) == ("no_data", ("fetch",))
    assert bounds(text).percentiles is None


@pytest.mark.parametrize(
    "window",
    [
        {"steps": {"ask.fetch": [1.0]}, "operations": {"helpdesk.getTicket": [9.0]}},
        {"operations": {"helpdesk.getTicket": [1.0]}},
    ],
)
def test_the_steps_own_records_go_before_those_of_its_operation(window: dict) -> None:
    found = bounds(ask(before=history(*[window] * 100)))

    assert found.percentiles == (3.0, 3.0, 3.0)  # with the wait of a fixed length
    assert [each.verdict for each in found.deadlines] == ["safe"]
    assert [(each.step, each.slack) for each in found.slack] == [("fetch", 2.0), ("rest", 2.0)]


def test_with_the_waits_recorded_there_is_a_second_verdict() -> None:
    window = {"steps": {"ask.fetch": [1.0]}, "waits": {"default": [4.0]}}
    found = bounds(ask(before=history(*[window] * 100)))

    assert [(each.scope, each.verdict) for each in found.deadlines] == [
        ("isolated", "safe"),
        ("queued", "cannot"),
    ]
    (finding,) = said(ask(before=history(*[window] * 100)), "DF502")
    assert "with the waiting recorded" in finding[1]


def test_a_step_that_not_every_run_makes_does_not_show_that_runs_are_late() -> None:
    text = ask(top="inputs: {n: integer}\ndeadline: 5s", fetch="when: inputs.n > 0")
    text = text.replace("steps.fetch.output.body.text", 'steps.?fetch.output.orValue("")')
    window = {"steps": {"ask.fetch": [9.0]}}
    (verdict,) = bounds(history(*[window] * 100) + text).deadlines

    assert (verdict.verdict, verdict.low) == ("undecided", 0.0)


def test_a_deadline_that_stands_still_while_someone_decides_is_not_judged() -> None:
    text = """
dagflow: 1
name: ask
deadline: 1m
steps:
  sure: {approve: {message: Sure?, expires: 1h, pause_clock: true}}
"""
    (verdict,) = bounds(history({"steps": {"ask.sure": [5.0]}}) + "# file: w.yaml" + text).deadlines

    assert (verdict.verdict, verdict.missing) == ("no_data", ("sure",))


def test_the_seed_is_that_of_the_text_and_gives_the_same_report() -> None:
    text = ask(top="deadline: 4s", before=history(*({"steps": {"ask.fetch": [1.9, 2.1]}},) * 50))

    one, two = bounds(text), bounds(text)

    assert one == two
    assert one.deadlines[0].seed != bounds(text + "# more\n").deadlines[0].seed


def test_the_way_that_takes_too_long_is_shown() -> None:
    text = """
dagflow: 1
name: slow
deadline: 10s
steps:
  first: {wait: {for: 10s}}
  second: {wait: {for: 5s}, after: first}
"""
    assert [each.message for each in only(text, "DF501").flow] == [
        "'first' waits 10 s",
        "'second' waits 5 s, 15 s in all",
    ]


# ── Schedules ─────────────────────────────────────────────────────────────────────────────────


def scheduled(schedule: str, steps: str = "rest: {wait: {for: 1s}}") -> str:
    return f"dagflow: 1\nname: work\ntriggers: {{schedule: {schedule}}}\nsteps:\n  {steps}\n"


@pytest.mark.parametrize(
    ("schedule", "severity", "message"),
    [
        ('{cron: "0 2 * * *", zone: Mars/Olympus}', "error", "no time zone is named"),
        ('{cron: "0 2 * * *", zone: Europe/Berln}', "error", "did you mean 'Europe/Berlin'?"),
        ('{cron: "0 7 31 4 *"}', "error", "never fires"),
        ('{cron: "often"}', "error", "five fields are needed"),
        ('{cron: "*/10 2 * * *", zone: Europe/Berlin}', "warning", "(no run starts)"),
        ('{cron: "*/10 2 * * *", zone: Europe/Berlin}', "warning", "(12 runs start)"),
        ('{cron: "0 2 * * *", zone: America/New_York}', "warning", "on 2026-03-08"),
        ('["0 7 * * *", "0 7 30 2 *"]', "error", "`0 7 30 2 *` never fires"),
    ],
)
def test_odd_schedules_are_told(schedule: str, severity: str, message: str) -> None:
    ((found, text),) = said(scheduled(schedule), "DF504")

    assert (found, message in text) == (severity, True), text


@pytest.mark.parametrize(
    "schedule",
    [
        '{cron: "0 7 * * 1-5", zone: Europe/Berlin}',
        '{cron: "30 2 * * 1-5", zone: Europe/Berlin}',  # the clock changes on Sundays
        '{cron: "*/5 * * * *", zone: Europe/Berlin}',
        '{cron: "0 * * * *", zone: America/New_York}',
        '{cron: "30 2 * * *"}',
        '{cron: "0 0 29 2 *"}',
        '{cron: "30 2 * * *", zone: Asia/Tokyo}',
    ],
)
def test_schedules_that_fire_as_one_would_think_are_not_told(schedule: str) -> None:
    assert said(scheduled(schedule), "DF504") == []


@pytest.mark.parametrize(
    ("triggers", "message"),
    [
        ("{schedule: {zone: UTC}}", "`schedule` has no `cron`"),
        ("{shedule: {cron: '0 7 * * *'}}", "did you mean `schedule`?"),
        ("{schedule: {cron: '0 7 * * *', overlap: drop}}", "overlap"),
        ("{http: {input: {}}}", "did you mean `inputs`?"),
    ],
)
def test_triggers_have_a_shape(triggers: str, message: str) -> None:
    text = f"dagflow: 1\nname: a\ntriggers: {triggers}\nsteps:\n  b: {{wait: {{for: 1s}}}}\n"
    ((severity, found),) = said(text, "DF002")

    assert (severity, message in found) == ("error", True), found


REPORT = """
dagflow: 1
name: report
triggers: {{schedule: {{cron: "{cron}", overlap: {overlap}}}}}
steps:
  count: {{python: 'def main(): return 1', output: integer, timeout: 1h}}
outputs: {{count: "${{{{ steps.count.output }}}}"}}
"""


def report(cron: str, site: str, *took: float, overlap: str = "skip") -> str:
    windows = history({"steps": {"report.count": list(took)}})
    site = f"# file: site.yaml\ndagflow_site: 1\n{site}\n"
    return f"{site}{windows}# file: work.yaml" + REPORT.format(cron=cron, overlap=overlap)


ONE = "workers: {only: {}}\n"


@pytest.mark.parametrize(("overlap", "severity"), [("skip", "warning"), ("queue", "error")])
def test_work_that_needs_more_workers_than_there_are_piles_up(overlap: str, severity: str) -> None:
    text = report("*/5 * * * *", ONE, 400.0, overlap=overlap)
    ((found, message),) = said(text, "DF503")

    assert found == severity
    assert "keeps 1.33 workers busy, and there are 1" in message


def test_on_one_worker_the_longest_responses_are_told_where_one_is_late() -> None:
    site = ONE + "loads: {imports: {every: 5m, time: 2m}}"
    (found,) = said(report("*/10 * * * *", site, 199.0, 200.0), "DF503")
    assert found[0] == "warning"
    assert "'imports' may be over too late" in found[1]  # a step that runs is not stopped
    assert "imports: C 120 s, T 300 s, D 300 s, R longer" in found[1]
    assert "report: C 200 s, T 600 s, D 600 s, R 440 s" in found[1]

    assert said(report("*/10 * * * *", site, 179.0, 180.0), "DF503") == []


def test_more_workers_carry_more() -> None:
    assert said(report("*/5 * * * *", "workers: {some: {count: 2}}", 290.0), "DF503") == []
    assert said(report("*/5 * * * *", "workers: {some: {queues: other}}", 400.0), "DF503") == []


# ── Quotas ────────────────────────────────────────────────────────────────────────────────────

TRAIN = """
dagflow: 1
name: train
{top}
steps:
  train: {{python: 'def main(): return 1', output: integer, {more}}}
outputs: {{n: "${{{{ steps.train.output }}}}"}}
"""
SITE = """# file: site.yaml
dagflow_site: 1
workers:
  small: {count: 4, memory: 1GiB, cpu: 2, labels: [linux], queues: [default, quick]}
  large: {memory: 16GiB, cpu: 8, labels: [linux, gpu]}
# file: work.yaml"""


def train(more: str, top: str = "") -> str:
    return SITE + TRAIN.format(more=more, top=top)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (train("quota: {memory: 17GiB}"), "with the queue 'default' have 17 GiB of memory"),
        (train("quota: {cpu: 9}"), "have 9 cores"),
        (train("quota: {share: 9}"), "have 9 cores"),
        (train("queue: slow"), "no workers have the queue 'slow'"),
        (train("placement: tpu"), "have the label 'tpu'"),
        (train("placement: {zone: west}"), "have the label 'zone=west'"),
        (train("queue: quick, placement: [gpu]"), "with the queue 'quick' have the label 'gpu'"),
        (train("queue: quick", "defaults: {quota: {memory: 2GiB}}"), "have 2 GiB of memory"),
    ],
)
def test_what_no_class_of_workers_has_is_impossible(text: str, message: str) -> None:
    ((severity, found),) = said(text, "DF705")

    assert (severity, message in found) == ("error", True), found


@pytest.mark.parametrize(
    "more",
    ["quota: {memory: 16GiB}", "placement: [linux, gpu]", "queue: quick", "quota: {pids: 9000}"],
)
def test_what_some_class_of_workers_has_is_possible(more: str) -> None:
    assert said(train(more), "DF705") == []


def test_without_a_site_nothing_is_impossible() -> None:
    assert said(TRAIN.format(more="quota: {memory: 900GiB}, placement: gpu", top=""), "DF705") == []


# ── Budgets ───────────────────────────────────────────────────────────────────────────────────

CALLS = """
dagflow: 1
name: calls
inputs: {{n: integer}}
budget: {{tool_calls: {limit}}}
tools:
  helpdesk: {{openapi: ./helpdesk.openapi.yaml}}
steps:
  route: {{switch: [{{when: inputs.n > 0, then: [a, b]}}, {{else: c}}]}}
  a: {{tool: helpdesk.getTicket, with: {{path: {{id: a}}}}}}
  b: {{tool: helpdesk.getTicket, with: {{path: {{id: b}}}}}}
  c: {{tool: helpdesk.getTicket, with: {{path: {{id: c}}}}, retry: {{attempts: {attempts}}}}}
outputs:
  all: ${{{{ [steps.?a.output, steps.?b.output, steps.?c.output].size() }}}}
"""


@pytest.mark.parametrize(
    ("limit", "attempts", "code", "message"),
    [
        (0, 1, "DF703", "makes 1 tool calls, and may make 0"),
        (1, 1, "DF706", "a run may make 2 tool calls without any retry, and the budget has 1"),
        (3, 4, "DF706", "a run may make 2 tool calls, and 3 more when 'c' needs all its"),
    ],
)
def test_the_dearest_and_the_cheapest_branch_count(
    limit: int, attempts: int, code: str, message: str
) -> None:
    text = CALLS.format(limit=limit, attempts=attempts)
    found = [(f.code, f.message) for f in compiled(text).report.findings if f.code[:3] == "DF7"]

    assert [code for code, _ in found] == [code]
    assert message in found[0][1]


def test_a_budget_that_has_room_is_not_told() -> None:
    assert said(CALLS.format(limit=2, attempts=1), "DF706") == []
    assert said(CALLS.format(limit=5, attempts=4), "DF706") == []
