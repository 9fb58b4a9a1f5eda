"""Several writers of one SQLite file: each waits for its turn, and each step is claimed once."""

from __future__ import annotations

import multiprocessing
import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from dagflow.core.errors import VersionConflictError
from dagflow.executor.engine import Claimant
from dagflow.store.schema import opened
from tests.contract.engines import Bench
from tests.contract.plans import plan, step
from tests.contract.stores import Writer

STEPS = [f"s{n}" for n in range(20)]
LIMIT = 60


def _claim_all(
    url: str,
    worker: str,
    start: multiprocessing.synchronize.Barrier,
    claimed: multiprocessing.Queue[list[str]],
) -> None:
    store = opened(url)
    bench = Bench(store)
    bench.engine.run("r1")
    start.wait(LIMIT)
    until = bench.clock.now() + timedelta(seconds=30)
    mine = [
        attempt.path
        for path in STEPS
        for attempt in bench.engine.claim("r1", [path], Claimant(worker, until, 1)).attempts
    ]
    claimed.put(mine)
    store.close()


def test_processes_that_claim_at_once_get_each_step_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/dagflow.db"
    store = opened(url)
    Bench(store).start(plan(*map(step, STEPS)))
    processes = multiprocessing.get_context("spawn")
    start, claimed = processes.Barrier(3), processes.Queue()
    workers = [
        processes.Process(target=_claim_all, args=(url, f"w{n}", start, claimed)) for n in range(3)
    ]
    for worker in workers:
        worker.start()

    shares = [claimed.get(timeout=LIMIT) for _ in workers]
    for worker in workers:
        worker.join(LIMIT)

    assert Counter(path for share in shares for path in share) == dict.fromkeys(STEPS, 1)
    assert Counter(lease.token for lease in store.leases()) == {1: len(STEPS)}
    store.close()


def test_writers_wait_for_each_other_and_none_fails(tmp_path: Path) -> None:
    stores = [opened(f"sqlite:///{tmp_path}/dagflow.db") for _ in range(3)]
    broken: list[BaseException] = []

    def create(number: int) -> None:
        try:
            for n in range(30):
                Writer(stores[number], f"r{number}-{n}").create()
        except BaseException as error:  # noqa: BLE001  # whatever it is, the test shows it
            broken.append(error)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)

    assert broken == []
    assert len(stores[0].unfinished()) == 90
    for store in stores:
        store.close()


def test_of_two_appends_to_one_version_by_two_stores_one_succeeds(tmp_path: Path) -> None:
    one, two = (opened(f"sqlite:///{tmp_path}/dagflow.db") for _ in range(2))
    first, second = Writer(one), Writer(two)
    first.create()
    first.append(first.stepped("a", "ready"), expected=1)

    with pytest.raises(VersionConflictError):
        second.append(second.stepped("b", "ready"), expected=1)

    assert [row.path for row in two.steps("r1")] == ["a"]
    one.close()
    two.close()
