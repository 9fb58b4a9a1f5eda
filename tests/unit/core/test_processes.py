"""A process whose start is cancelled is gone, and whoever started it goes on."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from typing import Any

import pytest

from dagflow.core.processes import spawned

LIMIT = 10.0


@pytest.mark.parametrize("turns", range(6))
def test_a_start_that_is_cancelled_at_any_moment_leaves_no_process(turns: int) -> None:
    asyncio.run(cancelled_after(turns))


async def cancelled_after(turns: int) -> None:
    started: list[Process] = []

    async def start(*argv: str, **options: Any) -> Process:
        started.append(await asyncio.create_subprocess_exec(*argv, **options))
        return started[0]

    task = asyncio.create_task(spawned("sleep", "60", start=start, stdin=PIPE))
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()

    done, _ = await asyncio.wait([task], timeout=LIMIT)
    if task.cancelled():
        assert all(process.returncode is not None for process in started)
    else:  # it was there already
        (process,) = started
        process.kill()
        await process.wait()
    assert done


def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(FileNotFoundError):
        asyncio.run(spawned("/nowhere/program", stdin=PIPE))
