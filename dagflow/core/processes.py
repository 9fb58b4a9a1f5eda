"""Starting a process so that a cancellation meanwhile neither hangs nor leaves it behind."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

Start = Callable[..., Coroutine[Any, Any, Process]]
_EXEC: Final[Start] = asyncio.create_subprocess_exec


async def spawned(*argv: str, start: Start = _EXEC, **options: Any) -> Process:
    """Start a process; one whose start is cancelled is killed, and gone when this returns.

    asyncio's own start waits for ever when it is cancelled before the pipes are connected: it
    closes a transport that then never learns of its end. So it is let finish, which is quick.
    """
    starting = asyncio.ensure_future(start(*argv, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        while not starting.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([starting])
        if starting.exception() is None:
            await _ended(starting.result())
        raise


async def _ended(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()
