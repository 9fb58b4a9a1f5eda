"""Limits by cgroups v2: one folder an action under a delegated subtree."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dagflow.core.plan import Limits
from dagflow.executor.sandbox.cage import Counters
from dagflow.executor.sandbox.files import kill_members, number, put, remove_group, sweep, table

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "memory", "pids")
PERIOD = 100_000  # microseconds


@dataclass(frozen=True, slots=True)
class GroupV2:
    """One group of the unified hierarchy."""

    path: Path

    def join(self, pid: int) -> None:
        """Put a process in."""
        put(self.path / "cgroup.procs", str(pid))

    def kill(self) -> None:
        """Lift the CPU quota, so that the dying are not throttled, and kill everything inside."""
        with suppress(OSError):
            put(self.path / "cpu.max", "max")
        try:
            put(self.path / "cgroup.kill", "1")
        except OSError:  # before Linux 5.14
            kill_members(self.path / "cgroup.procs")

    def read(self) -> Counters:
        """Return what was counted so far."""
        cpu = table(self.path / "cpu.stat")
        return Counters(
            peak_memory=number(self.path / "memory.peak"),
            cpu_seconds=cpu.get("usage_usec", 0) / 1e6,
            throttled_seconds=cpu.get("throttled_usec", 0) / 1e6,
            oom_kills=table(self.path / "memory.events").get("oom_kill", 0),
            pids_refused=table(self.path / "pids.events").get("max", 0),
        )

    def remove(self) -> None:
        """Remove the group."""
        remove_group(self.path)


@dataclass(frozen=True, slots=True)
class GroupsV2:
    """A subtree in which this process may make groups."""

    parent: Path

    def create(self, name: str, limits: Limits) -> GroupV2:
        """Make a group with every limit written."""
        path = self.parent / name
        path.mkdir()
        group = GroupV2(path)
        try:
            put(path / "memory.max", str(limits.memory))
            with suppress(FileNotFoundError):  # a kernel without swap accounting
                put(path / "memory.swap.max", "0")
            put(path / "memory.oom.group", "1")
            put(path / "cpu.max", f"{max(1000, int(limits.cpu * PERIOD))} {PERIOD}")
            put(path / "pids.max", str(limits.pids))
        except OSError:
            group.remove()
            raise
        return group


def own_path() -> Path:
    """Return the folder of the group that this process is in."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    inside = next(line[3:] for line in lines if line.startswith("0::"))
    return ROOT / inside.lstrip("/")


def open_groups() -> GroupsV2:
    """Find or make a subtree with the controllers enabled, or raise `OSError` naming the file.

    Below the root group a group with controllers may hold no processes itself, so this process
    moves into a leaf of its own first, as a delegated subtree (`Delegate=yes`) allows.
    """
    own = own_path()
    offered = (own / "cgroup.controllers").read_text().split()
    missing = [name for name in CONTROLLERS if name not in offered]
    if missing:
        raise OSError(95, f"controllers not delegated: {', '.join(missing)}", str(own))
    if own != ROOT:
        leaf = own / "dagflow-self"
        leaf.mkdir(exist_ok=True)
        put(leaf / "cgroup.procs", str(os.getpid()))
    put(own / "cgroup.subtree_control", " ".join(f"+{name}" for name in CONTROLLERS))
    parent = own / "dagflow"
    parent.mkdir(exist_ok=True)
    put(parent / "cgroup.subtree_control", " ".join(f"+{name}" for name in CONTROLLERS))
    sweep(parent)
    return GroupsV2(parent)
