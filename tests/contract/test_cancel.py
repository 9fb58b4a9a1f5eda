"""What cancelling answers, by how far the run is."""

from __future__ import annotations

import pytest

from dagflow.core.errors import ConflictError
from dagflow.core.run import Succeed
from dagflow.executor.engine import Claimant
from dagflow.service.runs import Runs
from dagflow.store.base import RunStore
from tests.contract.engines import Bench
from tests.contract.plans import plan, step

CLEANED = plan(step("a"), finally_=(step("clean"),))


def test_cancelling_a_run_that_is_being_cancelled_changes_nothing(store: RunStore) -> None:
    bench = Bench(store)
    runs = Runs(bench.engine)
    bench.start(CLEANED)
    runs.cancel("r1")
    version = store.get_run("r1").version

    runs.cancel("r1")

    assert store.get_run("r1").state == "finishing"
    assert store.get_run("r1").version == version


def test_cancelling_a_run_whose_outcome_is_fixed_is_a_conflict(store: RunStore) -> None:
    bench = Bench(store)
    bench.start(CLEANED)
    (attempt,) = bench.engine.claim("r1", ["a"], Claimant("w", bench.clock.now(), 1)).attempts
    bench.engine.handle("r1", Succeed(path="a", token=attempt.token, output=1))

    with pytest.raises(ConflictError, match="run r1 is finishing already"):
        Runs(bench.engine).cancel("r1")


def test_cancelling_a_run_that_is_cancelled_is_a_conflict(store: RunStore) -> None:
    bench = Bench(store)
    runs = Runs(bench.engine)
    bench.start(plan(step("a")))
    runs.cancel("r1")

    with pytest.raises(ConflictError, match="run r1 is cancelled already"):
        runs.cancel("r1")
