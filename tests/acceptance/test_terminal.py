"""On a terminal a run is a live table; elsewhere plain lines."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.acceptance.command import Shell

FLOW = """\
dagflow: 1
name: t
inputs: {n: {type: integer, default: 1}}
steps:
  nap: {wait: 600ms}
  sum:
    after: nap
    transform: inputs.n + 1
  rare:
    when: inputs.n > 5
    transform: inputs.n * 2
outputs: {sum: "${{ steps.sum.output }}", rare: "${{ steps.?rare.output.orValue(0) }}"}
"""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_a_terminal(shell: Shell, *arguments: str, **more: str) -> tuple[int, str]:
    ours, theirs = pty.openpty()
    kept = {k: v for k, v in shell.environment(TERM="xterm-256color").items() if k != "NO_COLOR"}
    env = {**kept, **more}
    process = subprocess.Popen(
        [sys.executable, "-m", "dagflow", *arguments],
        cwd=shell.folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    with suppress(OSError):  # EIO: the other end is closed
        while data := os.read(ours, 65_536):
            seen += data
    os.close(ours)
    return process.wait(30), seen.decode()


def test_a_run_is_a_table_that_is_redrawn_with_states_and_times(shell: Shell) -> None:
    shell.write("t.yaml", FLOW)

    code, seen = on_a_terminal(shell, "run", "t.yaml")

    text = ESCAPES.sub("", seen)
    assert code == 0
    assert "\x1b[" in seen
    assert re.search(r"nap +waiting\(timer\) +0\.\d s", text)
    assert re.search(r"nap +succeeded +0\.[5-9] s", text)
    assert re.search(r"sum +succeeded", text)
    assert re.search(r"rare +skipped\(guard\)", text)
    assert '"sum": 2' in text


def test_colours_stay_away_when_asked(shell: Shell) -> None:
    shell.write("t.yaml", FLOW.replace("inputs.n + 1", "inputs.m + 1"))

    plain = shell("check", "t.yaml")
    coloured = shell("check", "t.yaml", NO_COLOR="", FORCE_COLOR="1")

    assert "\x1b[" not in plain.out
    assert "\x1b[1;31m" in coloured.out


def test_nothing_from_a_file_can_command_the_terminal(shell: Shell) -> None:
    shell.write("t.yaml", FLOW.replace("name: t", 'name: "t\\e]0;owned\\a"'))

    answer = shell("check", "t.yaml")

    assert answer.code == 1
    assert "\x1b" not in answer.out
    assert "\x07" not in answer.out


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize(
    "arguments", [("check", "t.yaml"), ("check", "missing.yaml"), ("runs", "show", "nothing")]
)
def test_a_terminal_without_colours_gets_none(
    shell: Shell, env: dict[str, str], arguments: tuple[str, ...]
) -> None:
    shell.write("t.yaml", FLOW)

    assert "\x1b[" in on_a_terminal(shell, *arguments)[1]
    assert "\x1b[" not in on_a_terminal(shell, *arguments, **env)[1]
