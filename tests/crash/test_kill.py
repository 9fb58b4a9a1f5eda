"""`kill -9` at every fault point, each time that it is reached; then recovery finishes the run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from dagflow.core.run import RunState
from dagflow.executor.faults import POINTS, from_environment
from dagflow.store.schema import opened
from tests.crash import driver
from tests.crash.driver import Files

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.crash.driver"])

LIMIT = 60
EFFECTS = {
    "r1:a", "r1:loop[0].item", "r1:loop[1].item", "r1:loop[2].item", "child:x", "child:y", "r1:z",
}  # fmt: skip
MOST = 40
"""No point is reached more often than this in the run under test."""


def _run(target: Callable[..., None], *arguments: object) -> int | None:
    process = _processes.Process(target=target, args=arguments)
    process.start()
    process.join(LIMIT)
    return process.exitcode


def _started(target: Callable[..., None], *arguments: object) -> BaseProcess:
    process = _processes.Process(target=target, args=arguments)
    process.start()
    return process


def _kills(folder: Path, target: Callable[..., None], point: str) -> Iterator[Path]:
    """Yield a folder for each time that a process died at the point."""
    for nth in range(1, MOST):
        here = folder / f"{point}-{nth}"
        here.mkdir()
        code = _run(target, here, f"{point}:{nth}")
        if code == 0:
            return
        assert code == -signal.SIGKILL, f"{point}:{nth} ended with {code}"
        yield here
    raise AssertionError(f"{point} is reached more than {MOST} times")


def _assert_whole(folder: Path, *, done_before: AbstractSet[str] = frozenset()) -> None:
    run = driver.outcome(folder)
    times = Counter(Files(folder).effects())
    assert run.state is RunState.SUCCEEDED
    assert run.steps["loop"].output == [f"loop[{n}].item" for n in range(3)]
    assert run.steps["z"].output == "z"
    assert set(times) == EFFECTS
    assert {name: times[name] for name in done_before & EFFECTS if times[name] != 1} == {}
    assert max(times.values()) <= 2  # in flight when the process died


@pytest.mark.parametrize("point", [p for p in POINTS if p != "in-recovery"])
def test_a_run_killed_at_a_point_is_finished_by_recovery(point: str, tmp_path: Path) -> None:
    kills = 0
    for folder in _kills(tmp_path, driver.start, point):
        kills += 1
        before = driver.finished(folder) if Path(folder / "dagflow.db").exists() else set()
        if _lost_before_it_was_accepted(folder):
            continue
        assert _run(driver.go_on, folder) == 0
        _assert_whole(folder, done_before=before)

    assert kills, f"nothing reaches {point}"


def _lost_before_it_was_accepted(folder: Path) -> bool:
    """Tell whether the process died before it had stored the run: then nothing has happened."""
    store = opened(Files(folder).url)
    accepted = store.versions(["r1"]) != {}
    store.close()
    if not accepted:
        assert Files(folder).effects() == []
    return not accepted


@pytest.mark.parametrize("point", ["in-recovery", "in-append", "after-append", "after-work"])
def test_a_recovery_that_is_killed_is_recovered_from(point: str, tmp_path: Path) -> None:
    kills = 0
    for nth in (1, 2, 3):
        folder = tmp_path / str(nth)
        folder.mkdir()
        assert _run(driver.start, folder, "after-work:2") == -signal.SIGKILL
        code = _run(driver.go_on, folder, f"{point}:{nth}")
        kills += code == -signal.SIGKILL
        before = driver.finished(folder)
        assert _run(driver.go_on, folder) == 0
        run = driver.outcome(folder)
        times = Counter(Files(folder).effects())
        assert run.state is RunState.SUCCEEDED
        assert set(times) == EFFECTS
        assert {name for name in before & EFFECTS if times[name] > 2} == set()

    assert kills


def test_recovery_of_a_finished_run_does_nothing(tmp_path: Path) -> None:
    assert _run(driver.start, tmp_path) == 0
    assert _run(driver.go_on, tmp_path) == 0

    _assert_whole(tmp_path, done_before=EFFECTS)


def test_two_processes_that_recover_at_once_do_each_step_once(tmp_path: Path) -> None:
    assert _run(driver.start, tmp_path, "after-report:1") == -signal.SIGKILL
    before = Counter(Files(tmp_path).effects())

    both = [_started(driver.go_on, tmp_path) for _ in range(2)]
    for process in both:
        process.join(LIMIT)

    assert [process.exitcode for process in both] == [0, 0]
    _assert_whole(tmp_path)
    new = Counter(Files(tmp_path).effects()) - before
    assert set(new.values()) == {1}


def test_a_run_that_waits_for_a_person_survives_kills_and_waits_on(tmp_path: Path) -> None:
    process = _started(driver.start, tmp_path, "", "asking")
    _until(lambda: _asked(tmp_path))
    _kill(process)
    assert _run(driver.decide, tmp_path) == 0

    again = _run(driver.go_on, tmp_path)

    assert again == 0
    assert driver.outcome(tmp_path).state is RunState.SUCCEEDED
    assert Files(tmp_path).effects() == ["r1:a", "r1:z"]


def test_a_decision_taken_by_another_process_reaches_the_one_that_works(tmp_path: Path) -> None:
    process = _started(driver.start, tmp_path, "", "asking")
    _until(lambda: _asked(tmp_path))
    assert _run(driver.decide, tmp_path) == 0
    process.join(LIMIT)

    assert process.exitcode == 0
    assert Files(tmp_path).effects() == ["r1:a", "r1:z"]


def test_an_unknown_fault_point_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from dagflow.core.errors import UsageError

    monkeypatch.setenv("DAGFLOW_FAULT", "nowhere:1")
    with pytest.raises(UsageError, match="names no fault point"):
        from_environment()


def _asked(folder: Path) -> bool:
    if not (folder / "dagflow.db").exists():
        return False
    store = opened(Files(folder).url)
    asked = store.approvals()
    store.close()
    return bool(asked)


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def _kill(process: BaseProcess) -> None:
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(LIMIT)
