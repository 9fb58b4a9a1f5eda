"""No sandbox at all: for hosts that can't make one, when the user says so in so many words."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from pathlib import Path

from dagflow.executor.sandbox.cage import Action, Outcome
from dagflow.executor.sandbox.process import PATH, RESULT_CAP


class _TooMuchError(Exception):
    """The action wrote more than it may."""


class UnsafeCage:
    """Runs actions as plain child processes: wall time and output are bounded, nothing else is."""

    async def run(self, action: Action) -> Outcome:
        """Run one action in a folder of its own and kill its process group at the end."""
        with tempfile.TemporaryDirectory(prefix="dagflow-work-") as folder:
            _fill(folder, action)
            return await self._run(action, folder)

    async def _run(self, action: Action, folder: str) -> Outcome:
        with tempfile.TemporaryFile() as result:
            # The shell only moves the result to descriptor 3; no value reaches its text.
            shell = ("/bin/sh", "-c", f'exec "$@" 3>/proc/self/fd/{result.fileno()}', "sh")
            try:
                process = await asyncio.create_subprocess_exec(
                    *shell, *action.argv,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    pass_fds=(result.fileno(),),
                    cwd=folder,
                    env={"PATH": PATH, "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8"},
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                return Outcome(kind="error", exit_code=127, message=str(error))
            try:
                async with asyncio.timeout(action.timeout):
                    written = await _conversation(process, action)
            except TimeoutError:
                message = f"not finished after {action.timeout:g} s"
                return Outcome(kind="timeout", exit_code=-9, message=message)
            except _TooMuchError:
                message = "output is longer than its limit"
                return Outcome(kind="output_limit", exit_code=-9, message=message)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
            result.seek(0)
            return _outcome(process.returncode or 0, *written, result.read())


async def _conversation(process: asyncio.subprocess.Process, action: Action) -> tuple[bytes, bytes]:
    """Give the action its stdin, and return what it wrote. Raises `_TooMuchError`."""
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    feeder = asyncio.create_task(_feed(stdin, action.stdin))
    try:
        cap = action.limits.output
        out, err = await asyncio.gather(_read(stdout, cap), _read(stderr, cap))
        await process.wait()
        return out, err
    finally:
        feeder.cancel()
        await asyncio.gather(feeder, return_exceptions=True)


async def _feed(pipe: asyncio.StreamWriter, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        pipe.write(data)
        await pipe.drain()
    pipe.close()


async def _read(pipe: asyncio.StreamReader, cap: int) -> bytes:
    """Read to the end. Raises `_TooMuchError` as soon as there is more than `cap`."""
    found = bytearray()
    while data := await pipe.read(65_536):
        found += data
        if len(found) > cap:
            raise _TooMuchError
    return bytes(found)


def _fill(folder: str, action: Action) -> None:
    for name, content in action.files.items():
        Path(folder, name).write_bytes(content)


def _outcome(code: int, stdout: bytes, stderr: bytes, result: bytes) -> Outcome:
    if len(result) > RESULT_CAP:
        message = "the result is longer than its limit"
        return Outcome(kind="output_limit", exit_code=code, message=message)
    message = "" if code == 0 else f"exit code {code}" if code > 0 else f"killed by signal {-code}"
    return Outcome(
        kind="ok" if code == 0 else "error",
        exit_code=code,
        stdout=stdout,
        stderr=stderr,
        result=result,
        message=message,
    )
