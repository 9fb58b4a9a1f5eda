"""Response times against `response_time_analysis`, whose analyses are proved in Coq."""

from __future__ import annotations

import os
from random import Random

from response_time_analysis import fp
from response_time_analysis.model import (
    WCET,
    Deadline,
    FullyPreemptive,
    IdealProcessor,
    Priority,
    Task,
    TaskSet,
)
from response_time_analysis.model import Periodic as Arrivals

from dagflow.compiler.timing.response import Periodic, responses

FULL = os.environ.get("DAGFLOW_FULL") == "1"


def drawn(random: Random) -> list[Periodic]:
    """Return tasks of whole numbers, the first the most urgent, often more than fit."""
    tasks = []
    for number in range(random.randrange(1, 6)):
        period = random.randrange(4, 60)
        time = random.randrange(1, max(2, period // 3))
        tasks.append(Periodic(str(number), time, period, random.randrange(time, period + 1)))
    return tasks


def judged(tasks: list[Periodic]) -> tuple[int | None, ...]:
    every = TaskSet(
        tuple(
            Task(
                Arrivals(int(task.period)),
                FullyPreemptive(WCET(int(task.time))),
                Deadline(int(task.deadline)),
                Priority(len(tasks) - number),
            )
            for number, task in enumerate(tasks)
        )
    )
    found = []
    for task, own in zip(every.tasks, tasks, strict=True):
        solved = fp.rta(every, task, IdealProcessor(), horizon=10_000).response_time_bound
        found.append(solved if solved is not None and solved <= own.deadline else None)
    return tuple(found)


def test_responses_are_those_of_the_library() -> None:
    random = Random(1)
    for _ in range(1000 if FULL else 150):
        tasks = drawn(random)
        assert responses(tasks) == judged(tasks), tasks
