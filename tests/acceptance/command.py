"""Calling the real command line in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """A folder to call commands in, with an environment that keeps state inside it."""

    folder: Path

    def environment(self, **more: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DAGFLOW_")}
        database = str(self.folder / "state" / "dagflow.db")
        return {**kept, "DAGFLOW_DATABASE": database, "NO_COLOR": "1", **more}

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return name

    def __call__(self, *arguments: str, stdin: str = "", timeout: float = 60, **env: str) -> Answer:
        done = subprocess.run(
            [sys.executable, "-m", "dagflow", *arguments],
            cwd=self.folder,
            env=self.environment(**env),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Answer(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def start(self, *arguments: str, **env: str) -> Iterator[subprocess.Popen[str]]:
        """Give a command that goes on; it is killed if it still does at the end."""
        process = subprocess.Popen(
            [sys.executable, "-m", "dagflow", *arguments],
            cwd=self.folder,
            env=self.environment(**env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


HELLO = """\
dagflow: 1
name: hello
inputs:
  name: {type: string, maxLength: 100}
  times: {type: integer, minimum: 1, maximum: 9, default: 1}
steps:
  greet:
    transform: '"hello " + inputs.name'
  shout:
    when: inputs.times > 1
    transform: steps.greet.output + "!"
outputs:
  text: ${{ steps.greet.output }}
  loud: ${{ steps.?shout.output.orValue("") }}
"""
