"""What is shown of runs, and what showing it costs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dagflow.core.clock import FakeClock
from dagflow.core.run import Cancel
from dagflow.service.runs import Runs
from dagflow.store.base import RunStore
from dagflow.store.rows import StoredRun
from tests.contract.engines import Bench
from tests.contract.plans import plan, step


class Counting:
    """A store that counts how often a whole log is read."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self.loads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def load(self, run_id: str, *, after: int = 0) -> StoredRun:
        self.loads += 1
        return self._store.load(run_id, after=after)


def test_showing_a_run_that_is_over_with_its_plan_reads_its_log_once(store: RunStore) -> None:
    first = Bench(store)
    first.start(plan(step("a")))
    first.engine.handle("r1", Cancel(by="me"))
    counting = Counting(store)
    runs = Runs(Bench(counting).engine)

    runs.show("r1")
    runs.plan_of("r1")

    assert counting.loads == 1


def test_a_whole_second_is_written_with_its_microseconds_as_any_other(store: RunStore) -> None:
    bench = Bench(store, FakeClock(datetime(2026, 1, 1, tzinfo=UTC)))
    bench.start(plan(step("a")))

    shown: Any = Runs(bench.engine).show("r1")

    assert shown["run"]["created_at"] == "2026-01-01T00:00:00.000000Z"
