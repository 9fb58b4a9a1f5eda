"""Streams that are closed, full, or that nobody reads to the end."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.acceptance.command import HELLO, Shell

NAPS = """\
dagflow: 1
name: naps
steps: {a: {wait: 300ms}, b: {after: a, wait: 300ms}}
"""


def said(shell: Shell, script: str) -> tuple[int, str]:
    """Run a shell's script in which `dagflow` is the command; return its exit code and output."""
    command = f'set -o pipefail; dagflow() {{ {sys.executable} -m dagflow "$@"; }}'
    done = subprocess.run(
        ["bash", "-c", f"{command}\n{script}"],
        cwd=shell.folder, env=shell.environment(), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize("reader", ["head -c 0", "head -c 1"])
@pytest.mark.parametrize("both", ["", "2>&1"])
@pytest.mark.parametrize(
    ("command", "code"),
    [("check hello.yaml", 0), ("check bad.yaml", 1), ("check missing.yaml", 2), ("--help", 0)],
)
def test_a_reader_that_goes_away_does_not_change_the_exit_code(
    shell: Shell, command: str, code: int, both: str, reader: str
) -> None:
    shell.write("hello.yaml", HELLO)
    shell.write("bad.yaml", "dagflow: 2\n")

    assert said(shell, f"dagflow {command} {both} | {reader} > /dev/null") == (code, "")


def test_a_run_whose_events_nobody_reads_goes_on_to_its_end(shell: Shell) -> None:
    shell.write("naps.yaml", NAPS)

    assert said(shell, "dagflow run naps.yaml --format jsonl | head -n 1 > /dev/null")[0] == 0
    assert " succeeded " in shell("runs", "ls").out


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_a_run_needs_no_stream(shell: Shell, closed: str) -> None:
    shell.write("hello.yaml", HELLO)

    assert said(shell, f"dagflow run hello.yaml -i name=x {closed}")[0] == 0
    assert said(shell, f"dagflow check missing.yaml {closed}")[0] == 2


def test_a_full_disk_under_stdout_is_told_and_one_under_stderr_is_not(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)

    assert said(shell, "dagflow check hello.yaml > /dev/full")[0] == 6
    assert said(shell, "dagflow run hello.yaml -i name=x 2> /dev/full")[0] == 0
    assert said(shell, "dagflow check missing.yaml 2> /dev/full")[0] == 2
