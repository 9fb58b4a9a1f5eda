"""Published examples, exactly: Graham 1969, Burns and Wellings, and the tables of the model."""

from __future__ import annotations

from itertools import product
from math import sqrt

import pytest

from dagflow.compiler.timing.length import graham, longest
from dagflow.compiler.timing.response import Periodic, responses, utilisation

TIMES = (3, 2, 2, 2, 4, 4, 4, 4, 9)
BEFORE = ((), (), (), (), (3,), (3,), (3,), (3,), (0,))
FREED = ((), (), (), (), (), (), (3,), (3,), (0,))


def listed(times, before, workers: int) -> float:
    """Return when a list schedule ends: each free worker takes the first node that is ready."""
    ends: dict[int, float] = {}
    free = [0.0] * workers
    now = 0.0
    while len(ends) < len(times):
        for worker, at in enumerate(free):
            over = {node for node, end in ends.items() if end <= now}
            ready = [n for n in range(len(times)) if n not in ends and over.issuperset(before[n])]
            if at <= now and ready:
                ends[ready[0]] = free[worker] = now + times[ready[0]]
        now = min((end for end in ends.values() if end > now), default=now)
    return max(ends.values())


@pytest.mark.parametrize(
    ("times", "before", "workers", "end"),
    [
        (TIMES, BEFORE, 3, 12),
        (TIMES, BEFORE, 4, 15),
        (tuple(time - 1 for time in TIMES), BEFORE, 3, 13),
        (TIMES, FREED, 3, 16),
    ],
)
def test_one_schedule_is_no_proof_since_more_workers_or_less_work_may_take_longer(
    times, before, workers: int, end: float
) -> None:
    assert listed(times, before, workers) == end


def test_grahams_bound_holds_over_all_these_schedules_and_only_falls() -> None:
    length, volume = longest(TIMES, BEFORE), sum(TIMES)

    assert graham(length, volume, 3) == pytest.approx(19.33, abs=0.005)
    assert graham(length, volume, 4) == 17.5
    shorter = tuple(time - 1 for time in TIMES)
    assert graham(longest(shorter, BEFORE), sum(shorter), 3) < graham(length, volume, 3)


def periodic(*rows: tuple[float, float, float]) -> list[Periodic]:
    return [Periodic(str(number), *row) for number, row in enumerate(rows)]


def test_the_models_two_tasks_answer_within_2_and_5() -> None:
    tasks = periodic((2, 5, 5), (3, 8, 7))

    assert responses(tasks) == (2, 5)
    assert utilisation(tasks) == pytest.approx(0.775)
    assert utilisation(tasks) <= 2 * (sqrt(2) - 1)


def test_the_example_of_burns_and_wellings_answers_within_5_15_and_80() -> None:
    assert responses(periodic((5, 20, 20), (10, 40, 40), (40, 80, 80))) == (5, 15, 80)


def test_work_that_misses_its_deadline_has_no_response() -> None:
    assert responses(periodic((2, 5, 5), (3, 8, 4))) == (2, None)


def test_a_step_that_is_not_stopped_delays_more_urgent_work_by_its_length() -> None:
    assert responses([Periodic("urgent", 2, 10, 10, blocking=5)]) == (7,)


def test_responses_are_the_longest_of_every_schedule_of_whole_numbers() -> None:
    for times in product((1, 2), (1, 2, 3)):
        tasks = periodic((times[0], 4, 4), (times[1], 8, 8))
        assert responses(tasks) == tuple(simulated(tasks, 8))


def simulated(tasks: list[Periodic], horizon: int) -> list[int]:
    """Run the tasks second by second from their common start; return the longest responses."""
    left = [0] * len(tasks)
    released = [0] * len(tasks)
    longest_ = [0] * len(tasks)
    for now in range(horizon):
        for number, task in enumerate(tasks):
            if now % task.period == 0:
                left[number], released[number] = int(task.time), now
        first = next((n for n, rest in enumerate(left) if rest), None)
        if first is not None:
            left[first] -= 1
            if not left[first]:
                longest_[first] = max(longest_[first], now + 1 - released[first])
    return longest_
