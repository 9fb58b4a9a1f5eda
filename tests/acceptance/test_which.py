"""What the other acceptance tests call is the code of this tree, from whatever folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dagflow
from tests.acceptance.command import Shell


def test_the_command_that_is_tested_is_that_of_this_tree(shell: Shell) -> None:
    code = "import dagflow; print(dagflow.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=shell.folder, env=shell.environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert Path(done.stdout.strip()) == Path(str(dagflow.__file__))
    assert Path(str(dagflow.__file__)).parents[1] == Path(__file__).parents[2]
