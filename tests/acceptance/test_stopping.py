"""Ctrl-C while a run is under way."""

from __future__ import annotations

import signal
import subprocess

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


def test_a_second_ctrl_c_leaves_a_run_that_is_finishing(shell: Shell) -> None:
    with shell.start("run", shell.write("w.yaml", FLOW.replace("2s", "50s"))) as run:
        read_to(run, "clean: waiting(timer)")
        run.send_signal(signal.SIGINT)
        read_to(run, "once more")
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=60)

    assert run.returncode == 130
    assert "Traceback" not in err
