"""No sandbox at all: for hosts that can't make one, when the user says so in so many words."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from pathlib import Path

from dagflow.core.processes import spawned
from dagflow.executor.sandbox.cage import Action, Outcome, OutcomeKind
from dagflow.executor.sandbox.process import PATH
from dagflow.executor.sandbox.streams import Streams, feed, settled, until_end

NAMES = ("stdout", "stderr", "result")


class UnsafeCage:
    """Runs actions as plain child processes: wall time and output are bounded, nothing else is."""

    async def run(self, action: Action) -> Outcome:
        """Run one action in a folder of its own and kill its process group at the end."""
        with tempfile.TemporaryDirectory(prefix="dagflow-work-") as folder:
            _fill(folder, action)
            return await self._run(action, folder)

    async def _run(self, action: Action, folder: str) -> Outcome:
        pipes = {name: os.pipe() for name in NAMES}
        try:
            process = await _start(action, folder, {name: pipes[name][1] for name in NAMES})
        except BaseException as error:
            for name in NAMES:
                os.close(pipes[name][0])
            if not isinstance(error, OSError):
                raise
            return Outcome(kind="error", exit_code=127, message=str(error))
        finally:
            for name in NAMES:
                os.close(pipes[name][1])
        stop = asyncio.Event()
        streams = Streams(action.limits.output)
        readers = [asyncio.create_task(streams.drain(name, pipes[name][0], stop)) for name in NAMES]
        feeder = asyncio.create_task(feed(process, action.stdin))
        try:
            reason = await until_end(process, stop, action.timeout)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            await settled(feeder, readers)
        return _outcome(action, reason, process.returncode or 0, streams)


async def _start(action: Action, folder: str, ends: dict[str, int]) -> asyncio.subprocess.Process:
    # The shell only moves the result to descriptor 3; no value reaches its text.
    shell = ("/bin/sh", "-c", f'exec "$@" 3>/proc/self/fd/{ends["result"]}', "sh")
    return await spawned(
        *shell, *action.argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=ends["stdout"],
        stderr=ends["stderr"],
        pass_fds=(ends["result"],),
        cwd=folder,
        env={"PATH": PATH, "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8"},
        start_new_session=True,
    )  # fmt: skip


def _fill(folder: str, action: Action) -> None:
    for name, content in action.files.items():
        Path(folder, name).write_bytes(content)


def _outcome(action: Action, reason: str, code: int, streams: Streams) -> Outcome:
    kind: OutcomeKind
    if reason == "timeout":
        kind, message = "timeout", f"not finished after {action.timeout:g} s"
    elif streams.overflow:
        kind, message = "output_limit", f"{streams.overflow} is longer than its limit"
    elif code != 0:
        ending = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
        kind, message = "error", ending
    else:
        kind, message = "ok", ""
    return Outcome(
        kind=kind,
        exit_code=code,
        stdout=bytes(streams.chunks["stdout"]),
        stderr=bytes(streams.chunks["stderr"]),
        result=bytes(streams.chunks["result"]),
        message=message,
    )
