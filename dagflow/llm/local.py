"""The model of an embedded run: a process that starts when it is needed and ends with the run."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from dagflow.core.errors import UnavailableError, UsageError
from dagflow.core.processes import spawned
from dagflow.llm.installed import DEFAULT_MODEL, check_libraries, model_file

START_SECONDS: Final = 120.0
"""The first start on a machine converts the model; others take a few seconds."""
STOP_SECONDS: Final = 5.0
TOLD: Final = 2_000
USAGE_CODE: Final = 2

_KEPT: Final = frozenset(
    {
        "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH",
        "DAGFLOW_CACHE", "XDG_CACHE_HOME", "OMP_NUM_THREADS", "OMP_WAIT_POLICY",
        "CUDA_VISIBLE_DEVICES",
    }
)  # fmt: skip
"""All that the child sees of our environment: keys and tokens stay here."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a local model answers, and the key that only we know."""

    url: str
    model: str
    api_key: str


class LocalModel:
    """One inference process for all steps of a run (or of a server's whole life).

    It starts with the first `address()`, and again when it has died. It ends with `stop()`, and
    also when this process dies in whatever way: it holds the other end of a pipe to us.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        arguments: tuple[str, ...] = (),
        start_seconds: float = START_SECONDS,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._model = model
        self._arguments = arguments
        self._start_seconds = start_seconds
        self._environ = {name: environ[name] for name in _KEPT if name in environ}
        self._lock = asyncio.Lock()
        self._process: Process | None = None
        self._address: Address | None = None
        self._errors: asyncio.Task[str] | None = None

    async def address(self) -> Address:
        """Return where the model answers, once it does; callers at the same time share it.

        Raises `UsageError` when model or libraries aren't installed, `UnavailableError` when the
        process doesn't come up in time.
        """
        async with self._lock:
            if self._address is not None and self._runs():
                return self._address
            await self._end()
            self._address = await self._start()
            return self._address

    def _runs(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def _start(self) -> Address:
        # looked at here first: a missing model is told without waiting for a process
        check_libraries()
        model_file(self._model)
        key = secrets.token_urlsafe(24)
        self._process = process = await self._spawn(key)
        try:
            async with asyncio.timeout(self._start_seconds):
                line = await _stdout(process).readline()
        except TimeoutError:
            await self._end()
            raise UnavailableError(
                f"the local model was not ready within {self._start_seconds:g} s",
                remedy="start `dagflow llm` yourself to see why, and give its url as the model's",
            ) from None
        except BaseException:
            await self._end()
            raise
        if not line:
            raise await self._failed()
        told = json.loads(line)
        return Address(told["url"], told["model"], key)

    async def _spawn(self, key: str) -> Process:
        command = [sys.executable, "-P", "-m", "dagflow.llm", "--embedded", "--port", "0"]
        process = await spawned(
            *command, "--model", self._model, *self._arguments,
            stdin=PIPE, stdout=PIPE, stderr=PIPE, env={**self._environ, "DAGFLOW_LLM_KEY": key},
            # a Ctrl-C is ours: we end the process when we have told the run
            start_new_session=True,
        )  # fmt: skip
        self._errors = asyncio.create_task(_last_words(process))
        return process

    async def _failed(self) -> UnavailableError | UsageError:
        process, errors = self._process, self._errors
        code = await process.wait() if process else None
        said = await errors if errors else ""
        await self._end()
        message = f"the local model ended with code {code} before it was ready: {said.strip()}"
        return UsageError(message) if code == USAGE_CODE else UnavailableError(message)

    async def stop(self) -> None:
        """End the process, if there is one. It may be started again."""
        async with self._lock:
            await self._end()

    async def _end(self) -> None:
        process, self._process, self._address = self._process, None, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if self._errors is not None:
            await self._errors


def _stdout(process: Process) -> asyncio.StreamReader:
    assert process.stdout is not None
    return process.stdout


async def _last_words(process: Process) -> str:
    """Read stderr to its end, so that the child never waits for us, and keep the last of it."""
    assert process.stderr is not None
    kept = b""
    while piece := await process.stderr.read(4096):
        kept = (kept + piece)[-TOLD:]
    return kept.decode(errors="replace")
