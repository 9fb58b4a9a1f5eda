"""Random plans, random outcomes, random orders of delivery: what holds for all of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagflow.core.events import decode, encode
from dagflow.core.plan import Plan, PlanStep
from dagflow.core.run import (
    Cancel,
    ChildEnded,
    Event,
    Fail,
    LoseLease,
    Pause,
    Resume,
    Run,
    RunState,
    Settle,
    StepChanged,
    StepFailure,
    StepsReset,
    Succeed,
)
from dagflow.core.values import JsonValue
from dagflow.executor.decide import view
from dagflow.executor.machine.index import index_of
from dagflow.executor.machine.paths import pattern_of
from dagflow.executor.replay import replay
from tests.unit.executor.plans import (
    START,
    Driver,
    approve,
    fail,
    foreach,
    plan,
    repeat,
    retry,
    step,
    switch,
    wait,
)

CLASSES = ("user", "network", "timeout", "http_5xx")
LONGEST = 3_000


# ── plans ─────────────────────────────────────────────────────────────────────────────────────


def random_plan(rng: Random, *, eager: bool) -> Plan:
    """Return a plan; without `eager`, one whose result doesn't depend on who is first."""
    made = Maker(rng, eager=eager)
    final = made.block("", ["f0", "f1"][: rng.randint(0, 2)], depth=9)
    steps = made.block("", [f"s{i}" for i in range(rng.randint(1, 6))], depth=0)
    stop = "stop" if eager and rng.random() < 0.2 else "continue"
    return plan(*steps, finally_=final, on_failure=stop, outputs={"o": "=1"})


class Maker:
    """Draws blocks of steps whose edges go from earlier to later ones."""

    def __init__(self, rng: Random, *, eager: bool) -> None:
        self.rng = rng
        self.eager = eager

    def block(self, prefix: str, names: list[str], depth: int) -> list[PlanStep]:
        gotos: dict[str, list[str]] = {}
        switches: dict[str, int] = {}
        made = []
        for i, name in enumerate(names):
            options = self.options(prefix, names, i, gotos, switches)
            made.append(self.one(prefix + name, depth, options, switches))
        return made

    def options(
        self, prefix: str, names: list[str], i: int, gotos: Any, switches: Any
    ) -> dict[str, Any]:
        rng, here = self.rng, prefix + names[i]
        edges = {path: {"goto"} for path in gotos.get(here, ())}
        earlier = [prefix + name for name in names[:i]]
        for path in rng.sample(earlier, min(len(earlier), rng.randint(0, 3))):
            ways = ["success", "success", "failure", "skipped", "done"]
            branch = path in switches and rng.random() < 0.7
            way = f"#{rng.randrange(switches[path])}" if branch else rng.choice(ways)
            edges.setdefault(path, set()).add(way)
        options: dict[str, Any] = {
            "after": " ".join(f"{path}:{','.join(sorted(on))}" for path, on in edges.items()),
            "joined": rng.choice(["all", "any", "first", "2"] if self.eager else ["all", "any"]),
        }
        if earlier and rng.random() < 0.3:
            options["needs"] = rng.choice(earlier)
        if earlier and rng.random() < 0.3:
            read = rng.choice(earlier)
            options["awaits"] = read
            options["when"] = f"steps.{read.rpartition('.')[2]}.status != 'failed'"
        elif rng.random() < 0.2:
            options["when"] = rng.choice(["true", "false", "1/0 == 1"])
        options["on_error"] = self.handlers(prefix, names, i, gotos)
        if rng.random() < 0.3:
            options["retry"] = retry(rng.randint(1, 3), backoff=rng.choice([0, 0, 1]))
        if rng.random() < 0.3:
            options["undo"] = step(f"{here}.compensate")
        return options

    def handlers(self, prefix: str, names: list[str], i: int, gotos: Any) -> list[Any]:
        rng, later = self.rng, [prefix + name for name in names[i + 1 :]]
        if rng.random() < 0.2:
            return [(rng.choice(CLASSES), {"continue": 7})]
        if later and rng.random() < 0.2:
            target = rng.choice(later)
            gotos.setdefault(target, []).append(prefix + names[i])
            return [("", target)]
        return []

    def one(self, path: str, depth: int, options: dict[str, Any], switches: Any) -> PlanStep:
        rng = self.rng
        kinds = ["python"] * 4 + ["switch", "fail", "approve", "once", "workflow"]
        kinds += ["foreach", "repeat"] if depth < 2 else []
        kinds += ["signal"] if self.eager and depth == 0 else []
        kind = rng.choice(kinds)
        if kind == "switch":
            switches[path] = 3
            conditions = rng.choice([("true", "false"), ("false", "true"), ("false", "false")])
            return switch(path, *[(c, "x") for c in conditions], (None, "end"), **options)
        if kind == "fail":
            return fail(path, "no", **options)
        if kind == "approve":
            return approve(path, pause_clock=rng.random() < 0.5 or None, **options)
        if kind == "signal":
            return wait(path, signal="go", expires=50, **options)
        if kind == "once":
            return step(path, effects="once", **options)
        if kind == "workflow":
            return step(path, "workflow", **options)
        if kind in {"foreach", "repeat"}:
            return self.loop(path, kind, depth, options)
        return step(path, **options)

    def loop(self, path: str, kind: str, depth: int, options: dict[str, Any]) -> PlanStep:
        rng = self.rng
        inner = self.block(f"{path}.", ["a", "b"][: rng.randint(1, 2)], depth + 1)
        if kind == "repeat":
            until = rng.choice(["true", "turn == 1", "false"])
            on_max = rng.choice(["fail", "succeed"])
            return repeat(path, until, *inner, max_=2, on_max=on_max, **options)
        items = rng.choice(["[]", "[1]", "[1, 2]", "[1, 2, 3]"])
        bounds = {"concurrency": rng.randint(1, 3), "tolerate": rng.randint(0, 2)}
        return foreach(path, items, *inner, **bounds, **options)


# ── the world around the engine ───────────────────────────────────────────────────────────────


class World:
    """Answers every step by its path and attempt alone, in an order of its own."""

    def __init__(self, made: Plan, seed: int, order: Random, *, rough: bool) -> None:
        self.run = Driver(made)
        self.seed = seed
        self.order = order
        self.rough = rough
        self.sent: list[Event] = []
        self.cancelled_at: int | None = None

    def drawn(self, *key: object) -> int:
        text = repr((self.seed, *key)).encode()
        return hashlib.sha256(text).digest()[0]

    def play(self) -> Run:
        self.run.begin()
        for _ in range(LONGEST):
            if self.run.run.state.is_final:
                return self.run.run
            if self.rough and self.order.random() < 0.15:
                self.disturb()
            elif not self.move():
                self.let_time_pass()
        raise AssertionError(f"no end: {self.run.run.state} {list(self.run.run.active)}")

    def move(self) -> bool:
        """Do one of the things that can be done; tell whether there was one."""
        run = self.run.run
        movable = sorted(p for p in run.active if self.event(p, run.steps[p].state) is not None)
        if run.paused:
            self.run.send(Resume())
            return True
        if not movable:
            return False
        path = self.order.choice(movable)
        if run.steps[path].state == "ready":
            self.run.claim(path)
        else:
            self.send(self.event(path, run.steps[path].state))
        return True

    def event(self, path: str, state: str) -> Any:
        record = view(self.run.run, path)
        luck = self.drawn(path, record.attempt)
        site = index_of(self.run.plan).sites[pattern_of(path)]
        if state == "ready":
            return "claim"
        if state == "running":
            return self.report(path, record.token, luck)
        if state == "waiting(unknown_outcome)":
            return Settle(path=path, succeeded=luck < 128, output=1)
        if state == "waiting(approval)":
            return "answer"
        if state == "waiting(child)" and site.step.kind == "workflow":
            ended = RunState.SUCCEEDED if luck < 180 else RunState.FAILED
            return ChildEnded(path=path, state=ended, outputs={"from": path})
        return None

    def report(self, path: str, token: int, luck: int) -> Event:
        if luck < 170:
            return Succeed(path=path, token=token, output={"from": path})
        if luck < 190:
            return LoseLease(path=path, token=token)
        error = StepFailure(error_class=CLASSES[luck % len(CLASSES)], message="drawn")
        return Fail(path=path, token=token, error=error)

    def send(self, event: Any) -> None:
        if event == "answer":
            paths = [p for p in self.run.run.active if self.run.state(p) == "waiting(approval)"]
            path = self.order.choice(sorted(paths))
            self.run.answer(path, yes=self.drawn(path) < 128)
            return
        self.sent.append(event)
        self.run.send(event)

    def disturb(self) -> None:
        """Do what an unreliable world does: repeat reports, signal, pause, cancel, tick early."""
        kind = self.order.randrange(12)
        if kind == 0 and self.cancelled_at is None:
            self.run.send(Cancel())
            if not self.run.refused:
                self.cancelled_at = len(self.run.log)
        elif kind < 3:
            self.run.send(Pause())
        elif kind < 5:
            self.run.signal("go", 1)
        elif kind < 7:
            self.run.later(0)
        elif self.sent:
            event = self.order.choice(self.sent)
            late = isinstance(event, Succeed | Fail | LoseLease)
            before = deepcopy(self.run.run) if late else None
            current = late and self.run.token(event.path) == event.token
            running = late and self.run.state(event.path) == "running"
            if late and not (current and running):
                assert self.run.send(event).changes == ()
                assert self.run.refused
                assert self.run.run == before

    def let_time_pass(self) -> None:
        wake = self.run.wake()
        assert wake is not None, f"stuck: {list(self.run.run.active)}"
        self.run.later(max(0.0, (wake - self.run.now).total_seconds()))


# ── what holds ────────────────────────────────────────────────────────────────────────────────


def cleanup_paths(made: Plan) -> set[str]:
    final = {s.path for s in made.finally_}
    return final | {p for p in index_of(made).sites if ".compensate" in p}


def started(changes: Any) -> Iterator[str]:
    for change in changes:
        if isinstance(change, StepChanged) and change.before != change.after == "running":
            yield change.path


def check(world: World) -> None:
    run, made, log = world.run.run, world.run.plan, world.run.log
    # I4: listed moves only
    index = index_of(made)
    for change in log:
        if isinstance(change, StepChanged) and change.before != change.after:
            assert (change.before, change.after) in index.sites[pattern_of(change.path)].moves
    # I2: one success in each life of a step
    successes: Counter[str] = Counter()
    for change in log:
        if isinstance(change, StepsReset):
            for path in change.steps:
                successes[path] = 0
        elif isinstance(change, StepChanged) and change.before != change.after == "succeeded":
            successes[change.path] += 1
            assert successes[change.path] == 1
    # I6: after a cancel nothing starts but clean-up
    if world.cancelled_at is not None:
        allowed = cleanup_paths(made)
        for path in started(log[world.cancelled_at :]):
            top = path.partition("[")[0].partition(".")[0]
            assert pattern_of(path) in allowed or top in allowed, path
    # every step of the run is decided, and the log is the run
    assert all(view(run, s.path).is_final for s in made.steps)
    submitted = Run(id="r1", plan="", inputs={}, created_at=START)
    again = replay(submitted, [decode(encode(change)) for change in log])
    assert again == run
    stored = Run(id="r1", plan="", inputs={}, steps=run.steps)
    for name in ("active", "busy", "ended", "holding"):
        assert getattr(stored, name) == getattr(run, name)
    assert {f: n for f, n in run.done.items() if n} == stored.done


def result(run: Run, made: Plan) -> JsonValue:
    """Return what an observer of the top sees."""
    seen: dict[str, JsonValue] = {
        s.path: [
            view(run, s.path).state,
            view(run, s.path).output,
            getattr(view(run, s.path).error, "error_class", None),
        ]
        for s in (*made.steps, *made.finally_)
    }
    error = getattr(run.error, "error_class", None)
    return {"steps": seen, "state": run.state.value, "error": error, "outputs": run.outputs}


SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_every_run_ends_and_keeps_the_invariants(shape: int, luck: int) -> None:
    made = random_plan(Random(shape), eager=True)
    world = World(made, luck, Random(luck), rough=True)
    world.play()
    check(world)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_without_first_the_result_does_not_depend_on_the_order(shape: int, luck: int) -> None:
    made = random_plan(Random(shape), eager=False)
    results = []
    for order in range(3):
        world = World(made, luck, Random(order), rough=False)
        results.append(result(world.play(), made))
        check(world)
    assert results[0] == results[1] == results[2]
