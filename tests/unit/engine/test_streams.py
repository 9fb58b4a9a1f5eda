"""Waiting for the end of an action."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from dagflow.executor.sandbox.streams import until_end


class Endless:
    """A process that never ends."""

    async def wait(self) -> int:
        return await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_however_the_wait_ends_nothing_waits_on(seconds: float) -> None:
    assert asyncio.run(_left_over(seconds)) == set()


async def _left_over(seconds: float) -> set[asyncio.Task[object]]:
    """Return the tasks that are left when a wait has timed out, or was cancelled."""
    process = cast("asyncio.subprocess.Process", Endless())
    waiting = asyncio.create_task(until_end(process, asyncio.Event(), seconds))
    await asyncio.sleep(0)
    if seconds:
        waiting.cancel()
    await asyncio.wait([waiting])
    await asyncio.sleep(0)

    return asyncio.all_tasks() - {asyncio.current_task()}
