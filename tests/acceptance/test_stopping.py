"""Ctrl-C while a run is under way."""

from __future__ import annotations

import signal
import subprocess
from typing import Any

from tests.acceptance.command import Shell

FLOW = """\
dagflow: 1
name: stopping
steps: {a: {transform: "1"}}
finally:
  clean: {wait: 2s}
outputs: {a: "${{ steps.a.output }}"}
"""


def read_to(process: subprocess.Popen[str], words: str) -> None:
    """Read lines of stderr up to one with these words."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"{words!r} is never said")


def test_a_run_that_is_finishing_can_not_be_cancelled_and_says_so(shell: Shell) -> None:
    with shell.start("run", shell.write("w.yaml", FLOW)) as run:
        read_to(run, "clean: waiting(timer)")
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)

    assert (run.returncode, out) == (0, '{\n  "a": 1\n}\n')
    assert "is finishing already; once more leaves the run to `dagflow runs recover`" in err
    assert "Traceback" not in err


CHILD = """\
dagflow: 1
name: child
steps:
  book:
    transform: "'booked'"
    compensate: {python: "def main():\\n    import time; time.sleep(1)"}
  hold: {after: book, wait: 50s}
finally:
  bye: {transform: "'bye'"}
"""
PARENT = """\
dagflow: 1
name: parent
steps:
  kid: {workflow: {file: child.yaml}}
  boom: {after: short, fail: boom}
  short: {wait: 200ms}
on_failure: stop
"""


def child_of(shell: Shell) -> Any:
    """Return the child run, and its steps by their path."""
    rows = shell("runs", "ls", "--workflow", "child", "--format", "json").json["runs"]
    return shell("runs", "show", rows[0]["id"], "--format", "json").json


def undone(shell: Shell) -> list[str]:
    """Return what became of the child run's undoing and clean-up."""
    steps = child_of(shell)["steps"]
    return [steps[path]["status"] for path in ("book.compensate", "bye")]


def test_a_run_does_not_end_before_the_child_runs_that_it_stopped_have_cleaned_up(
    shell: Shell,
) -> None:
    shell.write("child.yaml", CHILD)

    answer = shell("run", shell.write("parent.yaml", PARENT))

    assert answer.code == 1
    assert "stopped child runs clean up: run_" in answer.err
    assert child_of(shell)["run"]["status"] == "cancelled"
    assert undone(shell) == ["succeeded", "succeeded"]


def test_recovery_of_all_cleans_up_after_a_child_run_whose_parent_is_over(shell: Shell) -> None:
    shell.write("child.yaml", CHILD)
    with shell.start("run", shell.write("parent.yaml", PARENT)) as run:
        read_to(run, "stopped child runs clean up")
        run.kill()
        run.wait()

    answer = shell("runs", "recover")

    assert answer.code == 3  # the child run was cancelled
    assert undone(shell) == ["succeeded", "succeeded"]


def test_a_second_ctrl_c_leaves_a_run_that_is_finishing(shell: Shell) -> None:
    with shell.start("run", shell.write("w.yaml", FLOW.replace("2s", "50s"))) as run:
        read_to(run, "clean: waiting(timer)")
        run.send_signal(signal.SIGINT)
        read_to(run, "once more")
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=60)

    assert run.returncode == 130
    assert "Traceback" not in err
