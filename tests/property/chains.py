"""Processes that go along fused chains of one run, are slow, die, and are paused on the way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from dagflow.core.clock import FakeClock
from dagflow.core.errors import StepError
from dagflow.core.plan import Plan
from dagflow.core.run import Event, Fail, Pause, Resume, Run, Succeed, Tick
from dagflow.core.values import JsonValue, canonical
from dagflow.executor.ahead import Ahead, Told
from dagflow.executor.dispatch.inline import InlineDispatcher
from dagflow.executor.engine import Claimant, Engine
from dagflow.executor.machine.ending import failure_of
from dagflow.executor.recovery import recover, sweep
from dagflow.executor.steps.base import Attempt
from dagflow.expr.evaluate import evaluate
from dagflow.store.memory import MemoryRunStore
from tests.property.twins import FAILING

RUN = "run_1"
LOSSES = 2
"""How often all that is under way is lost; a step survives three losses."""


@dataclass(eq=False)
class Doing:
    """What a process does: one attempt, or those of a chain."""

    engine: Engine
    attempt: Attempt
    way: Ahead | None


class Shop:
    """One run, and two processes that work on it. Everything that happens follows from `rng`."""

    def __init__(self, plan: Plan, n: int, rng: Random) -> None:
        self.rng = rng
        self.store, self.clock = MemoryRunStore(), FakeClock()
        self.losses = LOSSES
        self.doing: list[Doing] = []
        self.calls: Counter[tuple[str, bytes]] = Counter()
        self.engines = [self._engine(), self._engine()]
        self.engines[0].submit(plan, {"n": n}, run_id=RUN)

    def _engine(self) -> Engine:
        return Engine(self.store, InlineDispatcher(), clock=self.clock)

    @property
    def run(self) -> Run:
        return self.engines[0].fresh(RUN)

    def trouble(self) -> None:
        """Let one thing happen."""
        acts = [self.claim] * 4 + [self.go] * 8 + [self.tell, self.wait, self.pause, self.resume]
        self.rng.choice([*acts, self.lose, self.die])()

    def calm(self) -> None:
        """Work until the run is over."""
        self.resume()
        recover(self.engines[0], RUN)
        for _ in range(500):
            if self.run.state.is_final:
                return
            self.claim()
            while self.doing:
                self.go()
        raise AssertionError("no end")

    # ── what happens ──────────────────────────────────────────────────────────────────────────

    def claim(self) -> None:
        """Let a process claim a step, perhaps the first of a chain."""
        ready = self.store.ready()
        if not ready:
            return
        engine, path = self.rng.choice(self.engines), self.rng.choice(ready).path
        self._begin(engine, engine.claim(RUN, [path], self._claimant()).attempts)

    def _claimant(self, slots: int = 1) -> Claimant:
        return Claimant("w", self.clock.now() + timedelta(seconds=5), slots)

    def _begin(self, engine: Engine, attempts: tuple[Attempt, ...]) -> None:
        for attempt in attempts:
            way = engine.ahead(attempt, self._claimant())
            self.doing.append(Doing(engine, attempt, way))
            if attempt.step.effects == "once":  # nobody dies beside what may not be done twice
                self._go(self.doing[-1])

    def go(self) -> None:
        """Let a process make the attempt that it is at."""
        if self.doing:
            self._go(self.rng.choice(self.doing))

    def _go(self, doing: Doing) -> None:
        event = self.made(doing.attempt)
        if doing.way is None:
            self._say(doing, event)
            return
        following = doing.engine.follow(doing.way, event)
        if following is None:
            self._say(doing, doing.way.told())
        else:
            doing.attempt = following

    def _say(self, doing: Doing, event: Event | Told) -> None:
        """Report, claim what became ready by it, and be done."""
        self.doing.remove(doing)
        slots = self.rng.randrange(3)
        handled = doing.engine.handle(RUN, event, claimant=self._claimant(slots))
        self._begin(doing.engine, handled.attempts)

    def tell(self) -> None:
        """Let a process tell of a chain while it is at a step of it."""
        on_the_way = [it for it in self.doing if it.way is not None and it.way.has_untold]
        if on_the_way:
            doing = self.rng.choice(on_the_way)
            assert doing.way is not None
            handled = doing.engine.handle(RUN, doing.way.told())
            if not any(doing.way.is_at(it) for it in handled.attempts):
                self.doing.remove(doing)
            others = tuple(it for it in handled.attempts if not doing.way.is_at(it))
            self._begin(doing.engine, others)

    def wait(self) -> None:
        self.clock.advance(timedelta(seconds=self.rng.choice([0.1, 0.6])))
        self._order(Tick())

    def pause(self) -> None:
        self._order(Pause())

    def resume(self) -> None:
        self._order(Resume())

    def _order(self, event: Event) -> None:
        engine = self.rng.choice(self.engines)
        engine.fresh(RUN)
        engine.handle(RUN, event)

    def lose(self) -> None:
        """Let every lease end; who held one goes on and does not know."""
        if self.losses:
            self.losses -= 1
            self.clock.advance(timedelta(seconds=6))
            sweep(self.rng.choice(self.engines), everything=True)

    def die(self) -> None:
        """End a process: what it did and did not tell is lost."""
        if self.losses:
            index = self.rng.randrange(2)
            self.doing = [it for it in self.doing if it.engine is not self.engines[index]]
            self.engines[index] = self._engine()
            self.lose()

    def made(self, attempt: Attempt) -> Succeed | Fail:
        """Return how an attempt ends: a transform's for real, another's by its name."""
        name = attempt.path.rpartition(".")[2]
        if attempt.step.effects == "once":
            self.calls[attempt.path, canonical(attempt.arguments)] += 1
        try:
            output = _output(attempt, name)
        except StepError as error:
            return Fail(path=attempt.path, token=attempt.token, error=failure_of(error))
        return Succeed(path=attempt.path, token=attempt.token, output=output)


def _output(attempt: Attempt, name: str) -> JsonValue:
    if attempt.kind == "transform":
        return evaluate(attempt.step.expressions["expression"], attempt.activation)
    if name.endswith(FAILING):
        raise StepError("user", "scripted")
    return {"v": sum(map(ord, name)) % 5}
