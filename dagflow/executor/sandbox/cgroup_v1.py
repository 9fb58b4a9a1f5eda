"""Limits by cgroups v1: one folder an action in the hierarchy of each controller."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dagflow.core.plan import Limits
from dagflow.executor.sandbox.cage import Counters
from dagflow.executor.sandbox.files import kill_members, number, put, remove_group, sweep, table

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "cpu", "cpuacct", "pids")
PERIOD = 100_000  # microseconds


@dataclass(frozen=True, slots=True)
class GroupV1:
    """One group: a folder for each controller."""

    paths: dict[str, Path]

    def join(self, pid: int) -> None:
        """Put a process in."""
        for path in self.paths.values():
            put(path / "cgroup.procs", str(pid))

    def kill(self) -> None:
        """Lift the CPU quota, so that the dying are not throttled, and kill everything inside."""
        with suppress(OSError):
            put(self.paths["cpu"] / "cpu.cfs_quota_us", "-1")
        with suppress(OSError):
            put(self.paths["pids"] / "pids.max", "0")
        kill_members(self.paths["pids"] / "cgroup.procs")

    def read(self) -> Counters:
        """Return what was counted so far."""
        memory, pids = self.paths["memory"], self.paths["pids"]
        used = number(self.paths["cpuacct"] / "cpuacct.usage") or 0
        throttled = table(self.paths["cpu"] / "cpu.stat").get("throttled_time", 0)
        return Counters(
            peak_memory=number(memory / "memory.max_usage_in_bytes"),
            cpu_seconds=used / 1e9,
            throttled_seconds=throttled / 1e9,
            oom_kills=table(memory / "memory.oom_control").get("oom_kill", 0),
            pids_refused=table(pids / "pids.events").get("max", 0),
        )

    def remove(self) -> None:
        """Remove the group from every hierarchy."""
        for path in self.paths.values():
            remove_group(path)


@dataclass(frozen=True, slots=True)
class GroupsV1:
    """The folders under which this process may make groups, by controller."""

    parents: dict[str, Path]

    def create(self, name: str, limits: Limits) -> GroupV1:
        """Make a group with every limit written."""
        group = GroupV1({controller: path / name for controller, path in self.parents.items()})
        try:
            for path in group.paths.values():
                path.mkdir()
            memory, cpu = group.paths["memory"], group.paths["cpu"]
            put(memory / "memory.limit_in_bytes", str(limits.memory))
            with suppress(FileNotFoundError):  # a kernel without swap accounting
                put(memory / "memory.memsw.limit_in_bytes", str(limits.memory))
            put(cpu / "cpu.cfs_period_us", str(PERIOD))
            put(cpu / "cpu.cfs_quota_us", str(max(1000, int(limits.cpu * PERIOD))))
            put(group.paths["pids"] / "pids.max", str(limits.pids))
        except OSError:
            group.remove()
            raise
        return group


def own_path(controller: str) -> Path:
    """Return the folder of this process's group in a controller's hierarchy."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, inside = line.split(":", 2)
        if controller in controllers.split(","):
            return ROOT / controller / inside.lstrip("/")
    raise FileNotFoundError(2, "no such controller in /proc/self/cgroup", controller)


def open_groups() -> GroupsV1:
    """Make the parent folders, or raise `OSError` naming the one that can't be made."""
    parents = {}
    for controller in CONTROLLERS:
        parent = own_path(controller) / "dagflow"
        parent.mkdir(exist_ok=True)
        sweep(parent)
        parents[controller] = parent
    return GroupsV1(parents)
