"""Reading and writing the small files of cgroupfs and procfs."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path


def put(path: Path, value: str) -> None:
    """Write a kernel file; an error names the file and the value."""
    try:
        path.write_text(value)
    except OSError as error:
        raise OSError(error.errno, f"writing {value!r}: {error.strerror}", str(path)) from error


def number(path: Path) -> int | None:
    """Read a kernel file that holds one number, or None."""
    with suppress(OSError, ValueError):
        return int(path.read_text())
    return None


def table(path: Path) -> dict[str, int]:
    """Read a kernel file of `name number` lines."""
    with suppress(OSError):
        pairs = (line.split() for line in path.read_text().splitlines())
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}  # noqa: PLR2004
    return {}


def kill_members(procs: Path, *, patience: float = 2.0) -> None:
    """SIGKILL every process listed in a `cgroup.procs` file until it is empty."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            pids = [int(pid) for pid in procs.read_text().split()]
        except OSError:
            return
        if not pids:
            return
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def remove_group(path: Path, *, patience: float = 2.0) -> None:
    """Remove an empty group, waiting for the kernel to let go of dead members."""
    end = time.monotonic() + patience
    while path.exists():
        try:
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > end:
                raise
            kill_members(path / "cgroup.procs", patience=0.05)
            time.sleep(0.002)


def sweep(parent: Path) -> None:
    """Remove the groups that a process which is gone left under `parent`."""
    for path in parent.glob("action-*"):
        owner = path.name.split("-")[1]
        if owner.isdigit() and not Path("/proc", owner).exists():
            kill_members(path / "cgroup.procs")
            remove_group(path)
