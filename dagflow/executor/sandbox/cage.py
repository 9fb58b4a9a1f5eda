"""What a sandbox is given, what it must guarantee, and what it says afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from dagflow.core.plan import Limits

OutcomeKind: TypeAlias = Literal["ok", "error", "timeout", "oom", "pids", "output_limit", "sandbox"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One program to run.

    `argv[0]` is an absolute path inside the sandbox, or a name found on its PATH. `files` are
    put into the working folder before the start (name → content). `readable` are folders of the
    host that the program may read, at their own paths. `timeout` is wall time in seconds. What
    the program writes to descriptor 3 is its result.
    """

    argv: tuple[str, ...]
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    readable: tuple[str, ...] = ()
    limits: Limits = Limits()
    timeout: float = 60.0
    network: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an action ended. Everything in it that the action wrote is untrusted bytes.

    `exit_code` is the program's, or minus the signal that ended it. `message` explains every
    kind but "ok". Memory in bytes, times in seconds; None where nothing counts them.
    """

    kind: OutcomeKind
    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    result: bytes = b""
    message: str = ""
    peak_memory: int | None = None
    cpu_seconds: float | None = None
    throttled_seconds: float | None = None


class Cage(Protocol):
    """Runs actions apart from the host and from each other."""

    async def run(self, action: Action) -> Outcome:
        """Run one action to its end and leave nothing of it behind.

        Limits are walls. When the caller is cancelled the action is killed first. Never raises
        for what the action does; a sandbox that can't be set up is the outcome "sandbox".
        """
        ...


@dataclass(frozen=True, slots=True)
class Counters:
    """What a control group counted: bytes, seconds, and how often a wall was hit."""

    peak_memory: int | None = None
    cpu_seconds: float | None = None
    throttled_seconds: float | None = None
    oom_kills: int = 0
    pids_refused: int = 0


class Group(Protocol):
    """One control group: the walls around one action."""

    def join(self, pid: int) -> None:
        """Put a process in. Its children are born inside."""
        ...

    def kill(self) -> None:
        """Kill everything inside at once."""
        ...

    def read(self) -> Counters:
        """Return what was counted so far."""
        ...

    def remove(self) -> None:
        """Remove the group; nothing may be alive inside. Removing twice is fine."""
        ...


class Groups(Protocol):
    """The control groups of a host."""

    def create(self, name: str, limits: Limits) -> Group:
        """Make a group with every limit written, or raise `OSError` naming the file."""
        ...
