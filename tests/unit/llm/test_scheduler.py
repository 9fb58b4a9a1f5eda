"""One generation at a time, in order, and none that nobody waits for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from dagflow.core.errors import UnavailableError
from dagflow.llm.engine.scheduler import Scheduler
from dagflow.llm.protocol import ChatChunk
from tests.unit.llm.fakes import gathered, text_of


class Steps:
    """Steps that wait for a gate each, and are counted."""

    def __init__(self, text: str, gate: threading.Semaphore | None = None) -> None:
        self._text = text
        self._gate = gate
        self.made = 0

    def __iter__(self) -> Iterator[ChatChunk]:
        for character in self._text:
            if self._gate:
                self._gate.acquire()
            self.made += 1
            yield ChatChunk(character)
        yield ChatChunk("", "stop")


def on_scheduler(test, limit: int = 8):
    async def scene():
        scheduler = Scheduler(limit=limit)
        try:
            return await asyncio.wait_for(test(scheduler), 20)
        finally:
            scheduler.close()

    return asyncio.run(scene())


def test_generations_run_whole_and_in_the_order_they_came() -> None:
    seen: list[str] = []

    async def read(scheduler: Scheduler, text: str) -> None:
        chunks = scheduler.stream(iter(Steps(text)))
        async for chunk in chunks:
            seen.append(chunk.text)  # noqa: PERF401  # in the order of arrival

    async def scene(scheduler: Scheduler) -> None:
        await asyncio.gather(*(read(scheduler, text) for text in ("abc", "def", "ghi")))

    on_scheduler(scene)

    assert "".join(seen) == "abcdefghi"


def test_chunks_that_say_nothing_are_not_passed_on() -> None:
    async def scene(scheduler: Scheduler) -> list[ChatChunk]:
        steps = iter([ChatChunk(), ChatChunk("a"), ChatChunk(), ChatChunk("", "stop")])
        return await gathered(scheduler.stream(steps))

    assert on_scheduler(scene) == [ChatChunk("a"), ChatChunk("", "stop")]


def test_a_cancelled_generation_ends_with_its_running_step_and_the_next_one_runs() -> None:
    gate = threading.Semaphore(2)
    steps = Steps("abcdefgh", gate)

    async def scene(scheduler: Scheduler) -> str:
        first = scheduler.stream(iter(steps))
        assert [(await anext(first)).text, (await anext(first)).text] == ["a", "b"]
        waiting = asyncio.ensure_future(anext(first))
        await asyncio.sleep(0)
        waiting.cancel()
        gate.release()
        return text_of(await gathered(scheduler.stream(iter(Steps("next")))))

    assert on_scheduler(scene) == "next"
    assert steps.made <= 3


def test_closing_a_stream_ends_its_generation() -> None:
    steps = Steps("abcdefgh")

    async def scene(scheduler: Scheduler) -> int:
        stream = scheduler.stream(iter(steps))
        await anext(stream)
        await stream.aclose()
        return scheduler.present

    assert on_scheduler(scene) == 0
    assert steps.made == 1


def test_a_full_queue_refuses_at_once_and_takes_again_when_there_is_room() -> None:
    gate = threading.Semaphore(0)

    async def scene(scheduler: Scheduler) -> str:
        running, waiting = (
            asyncio.ensure_future(gathered(scheduler.stream(iter(Steps("x", gate)))))
            for _ in range(2)
        )
        await asyncio.sleep(0)
        # before anything can fail: a thread that waits for its gate would outlive the test
        asyncio.get_running_loop().call_later(0.05, gate.release, 2)
        with pytest.raises(UnavailableError, match="1 requests are waiting"):
            await gathered(scheduler.stream(iter(Steps("y"))))
        await asyncio.gather(running, waiting)
        return text_of(await gathered(scheduler.stream(iter(Steps("z")))))

    assert on_scheduler(scene, limit=1) == "z"


def test_an_error_of_a_step_reaches_the_reader_and_frees_the_turn() -> None:
    def broken() -> Iterator[ChatChunk]:
        yield ChatChunk("a")
        raise ValueError("broken")

    async def scene(scheduler: Scheduler) -> str:
        with pytest.raises(ValueError, match="broken"):
            await gathered(scheduler.stream(broken()))
        return text_of(await gathered(scheduler.stream(iter(Steps("b")))))

    assert on_scheduler(scene) == "b"
