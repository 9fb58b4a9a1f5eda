"""The cage of this version: a launcher, namespaces and a control group for each action."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import json
import os
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dagflow.core.processes import spawned
from dagflow.executor.sandbox import seccomp
from dagflow.executor.sandbox.cage import Action, Counters, Group, Groups, Outcome, OutcomeKind
from dagflow.executor.sandbox.streams import Streams, feed, settled, until_end

LAUNCHER: Final = Path(__file__).with_name("launch.py")
FIRST_UID: Final = 2_000_000_000  # a range that no distribution hands out
SLOTS: Final = 10_000
PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_NUMBERS: Final = itertools.count()
"""Of the actions of this process, whichever cage runs them: two never share a group or user."""


def python_folders() -> tuple[str, ...]:
    """Return the folders that hold this interpreter and are not under /usr."""
    found = {os.path.realpath(sys.base_prefix), os.path.realpath(sys.base_exec_prefix)}
    return tuple(sorted(path for path in found if not path.startswith("/usr")))


def python_program() -> str:
    """Return the interpreter that actions run: the one under this one's virtual environment."""
    return os.path.realpath(sys.executable)


@dataclass(slots=True)
class ProcessCage:
    """Runs each action behind `launch.py`. Made by `preflight.open_cage`, which proves it first."""

    groups: Groups
    root: str

    async def run(self, action: Action) -> Outcome:
        """Run one action to its end and leave nothing of it behind."""
        if action.network:
            return _refused("network inside a sandboxed step is not offered; call a tool step")
        number = next(_NUMBERS)
        name = f"action-{os.getpid()}-{number}"
        try:
            group = self.groups.create(name, action.limits)
        except OSError as error:
            return _refused(f"control group: {error}")
        try:
            return await self._supervise(action, group, self._uid(number))
        except OSError as error:
            return _refused(str(error))
        finally:
            group.kill()
            group.remove()

    @staticmethod
    def _uid(number: int) -> int | None:
        return FIRST_UID + number % SLOTS if os.getuid() == 0 else None

    async def _supervise(self, action: Action, group: Group, uid: int | None) -> Outcome:
        orders = json.dumps(self._orders(action, uid)).encode()
        pipes = {name: os.pipe() for name in ("orders", "result", "status")}
        theirs = (pipes["orders"][0], pipes["result"][1], pipes["status"][1])
        out, err = os.pipe(), os.pipe()
        ours = (out[0], err[0], pipes["orders"][1], pipes["result"][0], pipes["status"][0])
        try:
            process = await spawned(
                python_program(), "-I", "-S", str(LAUNCHER), *map(str, theirs),
                stdin=asyncio.subprocess.PIPE, stdout=out[1], stderr=err[1],
                pass_fds=theirs, env={"PATH": PATH}, start_new_session=True,
            )  # fmt: skip
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            raise
        finally:
            for descriptor in (*theirs, out[1], err[1]):
                os.close(descriptor)
        group.join(process.pid)
        stop = asyncio.Event()
        streams = Streams(action.limits.output)
        status = Streams(4096)
        readers = [
            asyncio.create_task(streams.drain("stdout", out[0], stop)),
            asyncio.create_task(streams.drain("stderr", err[0], stop)),
            asyncio.create_task(streams.drain("result", pipes["result"][0], stop)),
            asyncio.create_task(status.drain("result", pipes["status"][0], asyncio.Event())),
        ]
        feeder = asyncio.create_task(_feed(process, pipes["orders"][1], orders, action.stdin))
        try:
            reason = await until_end(process, stop, action.timeout)
        finally:
            group.kill()
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            await settled(feeder, readers)
        said = bytes(status.chunks["result"])
        return classify(reason or ("output_limit" if streams.overflow else ""), said, group.read(),
                        streams, action)  # fmt: skip

    def _orders(self, action: Action, uid: int | None) -> dict[str, object]:
        return {
            "argv": list(action.argv),
            "env": {
                "PATH": PATH,
                "HOME": "/workspace",
                "TMPDIR": "/workspace/tmp",
                "LANG": "C.UTF-8",
            },
            "files": {name: data.decode("latin-1") for name, data in action.files.items()},
            "readable": [*python_folders(), *action.readable],
            "workspace": action.limits.workspace,
            "cpu_seconds": action.limits.time,
            "root": self.root,
            "proc": "hidepid=2",
            "uid": uid,
            "seccomp": seccomp.program().decode("latin-1"),
        }


async def _feed(
    process: asyncio.subprocess.Process, orders_fd: int, orders: bytes, stdin: bytes
) -> None:
    """Hand over the orders, then stdin; an action that doesn't read is none of our trouble."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(BrokenPipeError):
        await loop.run_in_executor(None, _write_all, orders_fd, orders)
    await feed(process, stdin)


def _write_all(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as pipe:
        pipe.write(data)


def classify(
    reason: str, said: bytes, counters: Counters, streams: Streams, action: Action
) -> Outcome:
    """Name the outcome: the first of these that applies.

    The supervisor's reason · the OOM counter (an exit code says nothing of it) · a failed setup ·
    refused forks with a bad exit · a bad exit · ok.
    """
    report = _status(said)
    exit_code = report.get("exit", -9)
    assert isinstance(exit_code, int)
    kind: OutcomeKind
    if reason == "timeout":
        kind, message = "timeout", f"not finished after {action.timeout:g} s"
    elif reason == "output_limit":
        kind, message = "output_limit", f"{streams.overflow} is longer than its limit"
    elif counters.oom_kills:
        kind, message = "oom", f"needed more than its {_size(action.limits.memory)} of memory"
    elif "setup" in report:
        kind, message = "sandbox", str(report["setup"])
    elif counters.pids_refused and exit_code != 0:
        kind, message = "pids", f"needed more than its {action.limits.pids} processes"
    elif exit_code != 0:
        kind, message = "error", _ending(exit_code, said)
    else:
        kind, message = "ok", ""
    return Outcome(
        kind=kind,
        exit_code=exit_code,
        stdout=bytes(streams.chunks["stdout"]),
        stderr=bytes(streams.chunks["stderr"]),
        result=bytes(streams.chunks["result"]),
        message=message,
        peak_memory=counters.peak_memory,
        cpu_seconds=counters.cpu_seconds,
        throttled_seconds=counters.throttled_seconds,
    )


def _status(said: bytes) -> dict[str, object]:
    with contextlib.suppress(ValueError):
        found = json.loads(said)
        if isinstance(found, dict):
            return found
    return {}


def _ending(exit_code: int, said: bytes) -> str:
    if not said:
        return "the sandbox ended before the action did"
    return f"killed by signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"


def _size(count: int) -> str:
    return f"{count / 2**20:g} MiB"


def _refused(message: str) -> Outcome:
    return Outcome(kind="sandbox", exit_code=-1, message=message)


def mount_point() -> str:
    """Return the empty folder over which every action's own root is mounted.

    One folder an account, kept: each action mounts over it in a mount namespace of its own.
    """
    folder = Path(tempfile.gettempdir()) / f"dagflow-root-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise OSError(errno.EPERM, "belongs to somebody else", str(folder))
    return str(folder)
