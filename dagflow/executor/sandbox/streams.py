"""Talking to an action: its stdin, what it writes, and its end, each with a bound.

The pipes are our own rather than asyncio's: its `Process.wait` does not return before every pipe
of its own has ended, and one that is full, or held open by a stranger, never does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass, field
from typing import Final

RESULT_CAP: Final = 16 * 1024 * 1024


@dataclass(slots=True)
class Streams:
    """What an action wrote so far, with the walls on how much."""

    cap: int
    chunks: dict[str, bytearray] = field(
        default_factory=lambda: {
            "stdout": bytearray(),
            "stderr": bytearray(),
            "result": bytearray(),
        }
    )
    overflow: str = ""

    async def drain(self, name: str, descriptor: int, stop: asyncio.Event) -> None:
        """Read a pipe to its end; past the cap, say so and stop the action."""
        cap = RESULT_CAP if name == "result" else self.cap
        reader, transport = await _reader(descriptor)
        try:
            while data := await reader.read(65_536):
                room = cap - len(self.chunks[name])
                self.chunks[name] += data[: max(0, room)]
                if len(data) > room:
                    self.overflow = name
                    stop.set()
                    return
        finally:
            transport.close()


async def _reader(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader, transport


async def feed(process: asyncio.subprocess.Process, stdin: bytes) -> None:
    """Give the action its stdin; one that doesn't read is none of our trouble."""
    pipe = process.stdin
    assert pipe is not None
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            pipe.write(stdin)
            await pipe.drain()
    finally:
        pipe.close()


async def until_end(
    process: asyncio.subprocess.Process, stop: asyncio.Event, seconds: float
) -> str:
    """Wait for the end, the wall clock or a full pipe, whichever is first."""
    ended = asyncio.create_task(process.wait())
    full = asyncio.create_task(stop.wait())
    waits = {ended, full}
    try:
        done, _ = await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waits:
            task.cancel()
    if not done:
        return "timeout"
    return "output_limit" if full in done else ""


async def settled(feeder: asyncio.Task[None], readers: list[asyncio.Task[None]]) -> None:
    """Let the readers come to the ends of their pipes, once the action is dead.

    Nobody should be left to hold a pipe open; where somebody does, it is not waited for.
    """
    feeder.cancel()
    await asyncio.wait(readers, timeout=1.0)
    for reader in readers:
        reader.cancel()
    await asyncio.gather(feeder, *readers, return_exceptions=True)
