"""`runs recover`: what goes on, what is told, and how it exits."""

from __future__ import annotations

import json
import shlex
import sqlite3

import pytest

from tests.acceptance.command import HELLO, Shell


def killed(shell: Shell, *arguments: str) -> str:
    """Begin a run whose process is killed as soon as the run is stored, and return its id."""
    before = {run["id"] for run in listed(shell)}
    assert shell("run", *arguments, DAGFLOW_FAULT="after-append:1").code < 0
    (made,) = {run["id"] for run in listed(shell)} - before
    return str(made)


def listed(shell: Shell) -> list[dict[str, str]]:
    if not (shell.folder / "state" / "dagflow.db").exists():
        return []
    found: list[dict[str, str]] = shell("runs", "ls", "--format", "json").json["runs"]
    return found


ASK = """\
dagflow: 1
name: ask
steps: {ask: {approve: {message: "Go on?", expires: 5m}}}
"""


def test_a_run_that_merely_waits_for_a_person_is_left_and_is_no_failure(shell: Shell) -> None:
    run = killed(shell, shell.write("ask.yaml", ASK))

    answer = shell("runs", "recover")

    (waiting,) = shell("approve", "--format", "json").json["approvals"]
    assert answer.code == 0
    assert f"run {run} waiting" in answer.err
    assert f"waits for a person: dagflow approve {waiting['id']}" in answer.err


INSIDE = {
    "foreach": """\
dagflow: 1
name: inside
steps:
  each:
    foreach:
      {items: "[1, 2]", as: n, max_items: 2, concurrency: 2,
       steps: {ask: {approve: {message: "Go on?"}}}}
""",
    "repeat": """\
dagflow: 1
name: inside
steps:
  again:
    repeat: {max: 3, until: "true", steps: {ask: {approve: {message: "Go on?"}}}}
""",
    "child": """\
dagflow: 1
name: inside
steps: {call: {workflow: {file: ./ask.yaml}}}
""",
    "grandchild in a loop": """\
dagflow: 1
name: inside
steps:
  each:
    foreach:
      {items: "[1, 2]", as: n, max_items: 2, concurrency: 2,
       steps: {call: {workflow: {file: ./child.yaml}}}}
""",
}
NEVER = ASK.replace(", expires: 5m", "")


@pytest.mark.parametrize("where", INSIDE)
def test_a_run_is_left_where_a_person_is_asked_inside(shell: Shell, where: str) -> None:
    shell.write("ask.yaml", NEVER)
    shell.write("child.yaml", INSIDE["child"].replace("inside", "child"))
    run = killed(shell, shell.write("inside.yaml", INSIDE[where]))

    answer = shell("runs", "recover")

    waiting = shell("approve", "--format", "json").json["approvals"]
    assert answer.code == 0
    assert len(waiting) == (1 if where in {"repeat", "child"} else 2)
    assert f"run {run} waiting" in answer.err
    for approval in waiting:
        assert answer.err.count(f"waits for a person: dagflow approve {approval['id']}") == 1


ONCE = """\
dagflow: 1
name: once
steps: {pay: {python: "def main(): return 1", effects: once, output: integer}}
"""


def test_a_run_is_left_of_which_a_person_must_say_what_was_done(shell: Shell) -> None:
    shell.write("once.yaml", ONCE)
    fault = {"DAGFLOW_FAULT": "after-claim"}
    assert shell("run", "once.yaml", "--unsafe-no-sandbox", **fault).code < 0

    answer = shell("runs", "recover", "--unsafe-no-sandbox")
    (run,) = (found["id"] for found in listed(shell))

    assert answer.code == 0
    assert " waiting\n" in answer.err
    command = f"dagflow runs settle {run} pay --done | --not-done"
    assert answer.err.count(f"step pay's outcome is unknown: {command}\n") == 1
    assert "done again" not in answer.err
    assert command in shell("runs", "show", run).out


def unsettled(shell: Shell, flow: str) -> str:
    """Begin a run whose process is killed in its step `pay`, recover it, and return its id."""
    fault = {"DAGFLOW_FAULT": "after-claim"}
    name = shell.write("once.yaml", flow)
    assert shell("run", name, "--unsafe-no-sandbox", **fault).code < 0
    assert shell("runs", "recover", "--unsafe-no-sandbox").code == 0
    return next(found["id"] for found in listed(shell) if found["status"] == "waiting")


PAID = """\
dagflow: 1
name: paid
steps:
  pay: {python: "def main(): return 1", effects: once, output: integer}
  tell: {python: "def main(n): return n + 1", with: {n: "${{ steps.pay.output }}"}, output: integer}
outputs: {n: "${{ steps.tell.output }}"}
"""


def test_a_run_goes_on_with_what_a_person_says_was_done(shell: Shell) -> None:
    run = unsettled(shell, PAID)
    shell.write("given.json", "41")

    settled = shell("runs", "settle", run, "pay", "--done", "--output", "@given.json")
    again = shell("runs", "settle", run, "pay", "--done", "--output", "1")
    ended = shell("runs", "recover", run, "--unsafe-no-sandbox")

    assert (settled.code, again.code) == (0, 5), settled.err
    assert "settled as done\nif no process works on the run, `dagflow runs recover`" in settled.err
    assert "step pay is succeeded: its outcome is not unknown" in again.err
    assert (ended.code, ended.json) == (0, {"n": 42}), ended.err


def test_a_step_that_a_person_says_was_not_done_fails(shell: Shell) -> None:
    run = unsettled(shell, ONCE)

    settled = shell("runs", "settle", run, "pay", "--not-done", "--by", "ann", "--format", "json")

    assert (settled.code, settled.err) == (0, "settled as not done\n")
    assert settled.json["run"]["status"] == "failed"
    error = settled.json["steps"]["pay"]["error"]
    assert (error["class"], error["message"]) == ("conflict", "settled as not done by ann")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["pay"], 2, "say what came of it: either --done or --not-done"),
        (["pay", "--done", "--not-done"], 2, "say what came of it: either --done or --not-done"),
        (["pay", "--done"], 2, "the output given for step pay does not fit"),
        (["pay", "--done", "--output", '"x"'], 2, "the output given for step pay does not fit"),
        (["pay", "--done", "--output", "x"], 2, "the output 'x' is not JSON"),
        (["pay", "--done", "--output", "@none"], 2, "none: no such file"),
        (["pay", "--not-done", "--output", "1"], 2, "settled as not done has no output"),
        (["pray", "--done"], 5, "the plan has no step 'pray'"),
    ],
)
def test_a_word_that_does_not_settle_a_step_is_refused(
    unsettled_run: tuple[Shell, str], words: list[str], code: int, said: str
) -> None:
    shell, run = unsettled_run

    answer = shell("runs", "settle", run, *words)

    assert answer.code == code
    assert said in answer.err
    steps = shell("runs", "show", run, "--format", "json").json["steps"]
    assert steps["pay"]["reason"] == "unknown_outcome"


@pytest.fixture(scope="module")
def unsettled_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shell, str]:
    shell = Shell(tmp_path_factory.mktemp("unsettled"))
    return shell, unsettled(shell, ONCE)


def test_a_run_tells_what_its_child_runs_want_settled_and_goes_on(shell: Shell) -> None:
    shell.write("once.yaml", LOST)
    with shell.start("run", shell.write("parent.yaml", PARENT), "--unsafe-no-sandbox") as process:
        assert process.stderr
        command = ""
        while not command:
            line = process.stderr.readline()
            assert line, "the run ended without asking"
            if line.startswith("step each[0].pay's outcome is unknown: "):
                command = line.partition(": dagflow ")[2].partition(" --done")[0]
        settled = shell(*shlex.split(command), "--done", "--output", "1")
        out, err = process.communicate(timeout=60)

    assert settled.code == 0, settled.err
    assert (process.returncode, json.loads(out)) == (0, {"n": [1]}), err


LOST = """\
dagflow: 1
name: once
steps:
  each:
    foreach:
      items: "[1]"
      as: n
      max_items: 1
      steps:
        pay:
          python: |
            import time
            def main(): time.sleep(60)
          effects: once
          timeout: 200ms
          retry: {attempts: 2, on: [timeout]}
          output: integer
      collect: steps.pay.output
outputs: {n: "${{ steps.each.output }}"}
"""
PARENT = """\
dagflow: 1
name: parent
steps: {call: {workflow: {file: ./once.yaml}}}
outputs: {n: "${{ steps.call.output.n }}"}
"""


def test_a_run_tells_what_its_child_runs_ask(shell: Shell) -> None:
    shell.write("ask.yaml", NEVER)
    shell.write("child.yaml", INSIDE["child"].replace("inside", "child"))
    shell.write("inside.yaml", INSIDE["grandchild in a loop"])
    told: list[str] = []
    with shell.start("run", "inside.yaml") as process:
        assert process.stderr
        while len(told) < 2:
            line = process.stderr.readline()
            assert line, "the run ended without asking"
            if line.startswith("waits for a person: dagflow approve "):
                told.append(line.split()[-1])
        assert [shell("approve", one, "--yes").code for one in told] == [0, 0]
        assert process.wait(60) == 0
    assert len(set(told)) == 2


def test_a_run_is_left_whose_child_is_paused(shell: Shell) -> None:
    shell.write("ask.yaml", NEVER)
    run = killed(shell, shell.write("inside.yaml", INSIDE["child"]))
    shell("runs", "recover")
    (child,) = {found["id"] for found in listed(shell)} - {run}
    shell("runs", "pause", child)

    assert shell("runs", "recover").code == 0


@pytest.mark.parametrize(
    ("damage", "which"),
    [
        ("UPDATE event SET body = '{' WHERE run_id = ?", "events"),
        ("""UPDATE event SET body = '{"change": "new"}' WHERE run_id = ?""", "a newer change"),
        ("DELETE FROM event WHERE run_id = ? AND seq = 1", "a lost change"),
        ("UPDATE run_inputs SET body = '{' WHERE run_id = ?", "inputs"),
    ],
)
def test_a_run_that_can_not_be_read_is_told_and_the_others_go_on(
    shell: Shell, damage: str, which: str
) -> None:
    shell.write("hello.yaml", HELLO)
    bad, good = (killed(shell, "hello.yaml", "-i", f"name={name}") for name in "ab")
    with sqlite3.connect(shell.folder / "state" / "dagflow.db") as database:
        database.execute(damage, (bad,))

    answer = shell("runs", "recover")
    again = shell("runs", "recover", bad)

    assert (answer.code, again.code) == (6, 6), which
    assert f"run {bad} can't go on: the record of run {bad} can't be read" in answer.err
    assert "help: restore the database from a backup" in answer.err
    assert f"run {good} succeeded" in answer.err
    assert f"the record of run {bad} can't be read" in again.err
    assert shell("runs", "show", bad).code == 6
