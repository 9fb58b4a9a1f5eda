"""Waiting for all runs that were recovered: which are left, and what is told of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NoReturn

import pytest

from dagflow.cli.patience import until_patient
from dagflow.core.errors import BugError, DamagedError
from dagflow.core.run import Pause
from dagflow.executor.engine import Engine
from dagflow.store.memory import MemoryRunStore
from tests.contract.engines import LIMIT, Bench
from tests.contract.plans import plan, step


@pytest.mark.parametrize("error", [DamagedError("it can't be read"), BugError("a bug")])
def test_a_run_that_breaks_while_others_go_on_is_left_with_its_error(error: Exception) -> None:
    bench = Bench(MemoryRunStore())
    for run_id in ("breaks", "pauses"):
        bench.start(plan(step("a")), run_id)

    async def breaking() -> Mapping[str, Exception]:
        waiting = asyncio.create_task(until_patient(bench.engine, ["breaks", "pauses"]))
        await asyncio.sleep(0)
        bench.engine.abandon("breaks", error)
        bench.engine.handle("pauses", Pause())
        return await asyncio.wait_for(waiting, LIMIT)

    assert asyncio.run(breaking()) == {"breaks": error}


class Unreadable(Engine):
    """An engine over a database in which a run's record is damaged."""

    def run(self, run_id: str) -> NoReturn:
        raise DamagedError(f"the record of run {run_id} can't be read")


def test_a_run_whose_record_can_not_be_read_any_more_is_left_with_its_error() -> None:
    bench = Bench(MemoryRunStore())
    bench.start(plan(step("a")), "damaged")
    engine = Unreadable(bench.store, bench.doorbell)

    left = asyncio.run(asyncio.wait_for(until_patient(engine, ["damaged"]), LIMIT))

    assert [str(error) for error in left.values()] == ["the record of run damaged can't be read"]
