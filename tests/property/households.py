"""Several processes that work on one family of runs, and get in each other's way and die."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any, Final

from dagflow.core.clock import FakeClock
from dagflow.core.plan import RetryPolicy
from dagflow.core.run import Cancel, Event, Fail, Pause, Resume, Run, StepFailure, Succeed, Tick
from dagflow.executor.ahead import Ahead, Told
from dagflow.executor.attempts import step_of
from dagflow.executor.children import awaited
from dagflow.executor.engine import Claimant
from dagflow.executor.ids import child_run_id
from dagflow.executor.recovery import recover, sweep
from dagflow.executor.steps.base import Attempt
from dagflow.store.memory import MemoryRunStore
from dagflow.store.rows import RunRow
from tests.contract.engines import Bench
from tests.contract.plans import child, foreach, plan, step

_CHAIN: Final = plan(step("x", kind="tool"), step("y", "x", kind="tool"), name="inner")
_INNER: Final = replace(_CHAIN, fused=(("x", "y"),))
_MIDDLE: Final = plan(
    step("t", kind="tool"), replace(child("deep", "", _INNER), timeout=60.0), name="middle"
)
_AGAIN: Final = RetryPolicy(attempts=3, on=("timeout", "user", "lost"), backoff=0.0)
ROOT: Final = plan(
    replace(foreach("f", "", [1, 2, 3], child("f.g", "", _MIDDLE)), timeout=45.0, retry=_AGAIN),
    replace(child("c", "", _INNER), timeout=25.0, retry=_AGAIN),
    step("z", "f c", kind="tool"),
)
DEATH, MEDDLING = 0.01, 0.03
"""How likely it is, at each fault point, that the process dies, and that another one acts."""


class Dying(BaseException):
    """Stands for the end of a process."""


class Process:
    """An engine, and the attempts that its worker has under way, some of them in chains."""

    def __init__(self, house: Household) -> None:
        self.bench = Bench(house.store, house.clock, reach=lambda _point: house.reached(self))
        self.engine = self.bench.engine
        self.attempts: list[Attempt] = []
        self.ways: dict[tuple[str, str, int], Ahead] = {}

    def begin(self, attempts: Sequence[Attempt], claimant: Claimant) -> None:
        """Begin attempts that were claimed."""
        self.attempts += attempts
        for attempt in attempts:
            way = self.engine.ahead(attempt, claimant)
            if way is not None:
                self.ways[key_of(attempt)] = way

    def ended(self, attempt: Attempt, event: Succeed | Fail) -> Event | Told | None:
        """Return what to report when an attempt ends; None where its chain goes on."""
        way = self.ways.pop(key_of(attempt), None)
        if way is None:
            return event
        following = self.engine.follow(way, event)
        if following is None:
            return way.told()
        self.attempts.append(following)
        self.ways[key_of(following)] = way
        return None


def key_of(attempt: Attempt) -> tuple[str, str, int]:
    """Return what names an attempt."""
    return attempt.run_id, attempt.path, attempt.token


class Household:
    """A few processes over one store. Everything that happens follows from the seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.store, self.clock = MemoryRunStore(), FakeClock()
        self.troubled = False
        self.acting: list[Process] = []
        self.processes = [Process(self) for _ in range(3)]
        self.processes[0].bench.start(ROOT)
        self.troubled = True

    def reached(self, process: Process) -> None:
        """Let something happen at a fault point of a process that acts."""
        if not self.troubled or process not in self.acting:
            return
        chance = self.random.random()
        if chance < DEATH:
            raise Dying
        if chance < DEATH + MEDDLING and len(self.acting) < len(self.processes):
            self.step()

    def step(self) -> None:
        """Let a process that is not at something do something."""
        idle = [one for one in self.processes if one not in self.acting]
        process = self.random.choice(idle)
        act = self.random.choices(list(_ACTS), list(_ACTS.values()))[0]
        self.acting.append(process)
        try:
            act(self, process)
        except Dying:
            self.processes[self.processes.index(process)] = Process(self)
        finally:
            self.acting.remove(process)

    def calm(self) -> Process:
        """Return a new process that has recovered everything; nothing happens to it."""
        self.troubled = False
        process = Process(self)
        self.processes = [process, Process(self), Process(self)]
        recover(process.engine)
        return process

    def end(self, process: Process) -> None:
        """Work on the runs, without trouble, until nothing is left to do."""
        process.engine.handle("r1", Resume())
        for _ in range(100):
            while ready := self.store.ready():
                claim(self, process, ready[0].run_id, ready[0].path)
                while process.attempts:
                    report(self, process, well=True)
            if not self.store.unfinished():
                return
            self.clock.advance(timedelta(seconds=31))
            look_after(self, process)
        raise AssertionError(f"still unfinished: {self.rows()}")

    def rows(self) -> list[RunRow]:
        """Return every run, parents first."""
        found = [self.store.get_run("r1")]
        for row in found:
            found += self.store.children(row.id)
        return found

    def pairs(self, process: Process) -> Iterator[tuple[Run, Run]]:
        """Yield each unfinished run with each child run that it waits for."""
        for run_id in self.store.unfinished():
            parent = process.engine.run(run_id)
            for one in awaited(process.engine.plan_of(run_id), parent):
                yield parent, process.engine.run(one)

    def results(self, process: Process) -> Iterator[str]:
        """Yield the state of the last child run of each workflow step that succeeded."""
        for row in self.rows():
            run, made = process.engine.run(row.id), process.engine.plan_of(row.id)
            for record in run.steps.values():
                kind = step_of(made, record.path).kind
                if (kind, record.state) == ("workflow", "succeeded"):
                    child_id = child_run_id(run.id, str(record.data["key"]))
                    yield self.store.get_run(child_id).state

    def calls(self) -> int:
        """Return how often a tool was called, from the logs."""
        bodies = [e.body for row in self.rows() for e in self.store.events(row.id, limit=10_000)]
        return sum(body.get("before") == "ready" and is_call(body) for body in bodies)


def is_call(body: Any) -> bool:
    """Tell whether a change is a claim of a tool step: all that a worker does here is that."""
    return body.get("after") == "running" and "worker" in body["set"]


def claim(house: Household, process: Process, run_id: str, path: str) -> None:
    """Let a process claim a step."""
    until = house.clock.now() + timedelta(seconds=30)
    claimant = Claimant("w", until, 1)
    process.begin(process.engine.claim(run_id, [path], claimant).attempts, claimant)


def claim_any(house: Household, process: Process) -> None:
    """Claim one of the ready steps."""
    ready = house.store.ready()
    if ready:
        row = house.random.choice(ready)
        claim(house, process, row.run_id, row.path)


def report(house: Household, process: Process, *, well: bool = False) -> None:
    """Report how an attempt ended."""
    if not process.attempts:
        return
    attempt = process.attempts.pop(house.random.randrange(len(process.attempts)))
    event: Succeed | Fail = Succeed(path=attempt.path, token=attempt.token, output=None)
    if not well and house.random.random() < 0.03:
        error = StepFailure(error_class="user", message="no")
        event = Fail(path=attempt.path, token=attempt.token, error=error)
    told = process.ended(attempt, event)
    if told is not None:
        process.engine.handle(attempt.run_id, told)


def look_after(house: Household, process: Process) -> None:
    """Do what a worker does every few seconds."""
    for run_id in house.store.due(house.clock.now()):
        process.engine.handle(run_id, Tick())
    process.engine.refresh()
    sweep(process.engine, everything=house.random.random() < 0.5 or not house.troubled)


def recover_all(house: Household, process: Process) -> None:  # as every act
    """Do what `dagflow runs recover` does."""
    recover(process.engine)


def pass_time(house: Household, process: Process) -> None:
    """Let time pass."""
    house.clock.advance(timedelta(seconds=house.random.choice((1, 6, 20))))
    look_after(house, process)


def told(event: Event) -> Callable[[Household, Process], None]:
    """Return the act of giving the run an order."""

    def act(house: Household, process: Process) -> None:  # as every act
        process.engine.handle("r1", event)

    return act


_ACTS: Final[dict[Callable[[Household, Process], None], float]] = {
    claim_any: 6,
    report: 6,
    pass_time: 2,
    look_after: 2,
    told(Pause()): 1.5,
    told(Resume()): 1.5,
    told(Cancel(by="me")): 0.1,
    recover_all: 0.3,
}
"""What processes do, by how often."""
