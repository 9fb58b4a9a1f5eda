"""Runs generations one at a time, in the order in which they came, on a thread of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor

from dagflow.core.errors import UnavailableError
from dagflow.llm.protocol import ChatChunk


class Scheduler:
    """A bounded queue before one thread.

    Between two steps of a generation the loop decides: closing the stream, or cancelling its
    task, ends the generation with the step that is running.
    """

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._present = 0
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="llm")

    @property
    def present(self) -> int:
        """Return how many generations run or wait."""
        return self._present

    def check(self) -> None:
        """Raise `UnavailableError` when the queue is full."""
        if self._present > self._limit:
            raise UnavailableError(
                f"{self._limit} requests are waiting already", remedy="try again in a moment"
            )

    async def stream(self, steps: Iterator[ChatChunk]) -> AsyncGenerator[ChatChunk, None]:
        """Yield the chunks of `steps` that say something, when its turn has come.

        Raises `UnavailableError` at once when the queue is full.
        """
        self.check()
        self._present += 1
        try:
            async with self._turn:
                async for chunk in self._run(steps):
                    yield chunk
        finally:
            self._present -= 1

    async def _run(self, steps: Iterator[ChatChunk]) -> AsyncGenerator[ChatChunk, None]:
        loop = asyncio.get_running_loop()
        while True:
            chunk = await loop.run_in_executor(self._thread, next, steps, None)
            if chunk is None:
                return
            if chunk.text or chunk.finish_reason:
                yield chunk

    def close(self) -> None:
        """End the thread, with the step that is running."""
        self._thread.shutdown(wait=True, cancel_futures=True)
