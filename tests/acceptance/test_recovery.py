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
