"""`dagflow check --watch`: checks again when a file changes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

import click

from dagflow.cli.exits import OK
from dagflow.cli.output import say
from dagflow.cli.reporting import Entry
from dagflow.core.errors import DagflowError
from dagflow.service.watching import Watch, files_of

EVERY: Final = 0.3
"""How often the files are looked at, in seconds."""


def watch_files(
    once: Callable[[], tuple[int, list[Entry]]],
    files: Sequence[str],
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Check, and check again whenever a file that was read changes; ends when interrupted."""
    read = list(files)
    try:
        while True:
            watch = Watch(read)  # before the check: a change during it is seen, too
            read = _read(once) or read
            watch = Watch(read, known=watch)
            say("watching; stop with Ctrl-C")
            while not watch.changed():
                sleep(EVERY)
            if sys.stdout.isatty():
                click.clear()
    except KeyboardInterrupt:
        return OK


def _read(once: Callable[[], tuple[int, list[Entry]]]) -> list[str]:
    """Check once and return the files that were read, none where that failed."""
    try:
        _, entries = once()
    except DagflowError as error:
        say(f"error: {error.message}")
        return []
    return [file for bundle, _ in entries for file in files_of(bundle)]
