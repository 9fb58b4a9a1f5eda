"""`runs recover`: what goes on, what is told, and how it exits."""

from __future__ import annotations

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

    assert answer.code == 0
    assert " waiting\n" in answer.err


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
