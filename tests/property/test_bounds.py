"""No run comes to more than the bounds of its plan: random workflows, played event by event."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from random import Random

import pytest
from hypothesis import HealthCheck, assume, event, given, note, settings
from hypothesis import strategies as st

from dagflow.compiler import Compiled, compile_workflow
from dagflow.core.money import PriceList, price, units
from dagflow.core.plan import Plan, PlanStep, steps_of
from dagflow.core.run import Claim, Fail, RunState, StepFailure, Succeed, Tick
from dagflow.core.site import Site
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog
from dagflow.core.values import JsonObject
from dagflow.executor.decide import next_wake
from dagflow.service.site.spent import Counts, count
from tests.property.driving import START, Driver
from tests.property.flows import flows, to_yaml
from tests.property.loops.drawing import loop_flow
from tests.property.loops.written import to_yaml as loops_to_yaml
from tests.property.reference import Flow

FULL = os.environ.get("DAGFLOW_FULL") == "1"
COUNT = settings(
    max_examples=1500 if FULL else 12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
RAN = {"succeeded", "failed", "timed_out"}
CODE = '"def main(**a): return {\\"v\\": 1}"'
ANSWER = 100
PRICE = price(0.3, 1.1)
USED = ("tokens", "prompt_tokens", "items")
COUNTED = ("ran", *USED)


class Player(Driver):
    """Begins all that is ready at once; attempts last for as long as they like, up to the limit."""

    def __init__(self, plan: Plan, inputs: dict, rng: Random) -> None:
        self.rng = rng
        self.planned = {step.path: step for step in steps_of(plan)}
        self.ends: dict[str, datetime] = {}
        self.most_running = self.most_memory = 0
        super().__init__(plan, inputs)

    def play(self) -> None:
        for _ in range(4000):
            if self.run.state.is_final:
                return
            self._begin()
            self._pass()
        raise AssertionError("no end")

    def _begin(self) -> None:
        while ready := sorted(self.ready()):
            path = ready[0]
            before = self.run.steps[path].token
            self.take(Claim(path=path, worker="w", until=self.now + timedelta(days=9)))
            record = self.run.steps[path]
            if record.state == "running" and record.token != before:
                limit = self._of(path).timeout or 0.0
                share = self.rng.choice((0.0, 0.3, 0.9, 1.0))
                self.ends[path] = self.now + timedelta(seconds=limit * share)
            running = [self._of(it) for it in self.run.running]
            self.most_running = max(self.most_running, len(running))
            memory = sum(it.limits.memory for it in running if it.kind == "python")
            self.most_memory = max(self.most_memory, memory)

    def _of(self, path: str) -> PlanStep:
        kept, inside = [], False
        for char in path:
            inside = (inside or char == "[") and char != "]"
            if not inside and char != "]":
                kept.append(char)
        return self.planned["".join(kept)]

    def _pass(self) -> None:
        """Go on to what comes next: a timer, or the end of an attempt."""
        self.ends = {path: at for path, at in self.ends.items() if path in self.run.running}
        wake = next_wake(self.plan, self.run)
        times = [*self.ends.values(), *([wake] if wake else [])]
        if not times:
            return
        self.now = max(self.now, min(times))
        if wake and wake <= self.now:
            self.take(Tick())
            return
        path = min(self.ends, key=lambda it: (self.ends[it], it))
        del self.ends[path]
        self._report(path)

    def _report(self, path: str) -> None:
        record, kind = self.run.steps[path], self._of(path).kind
        used = self._used() if kind == "llm" else {}
        ending = self.rng.choice(("ok", "ok", "ok", "ok", "timeout", "network", "user"))
        if ending == "ok":
            output = {"v": 1} if kind in {"python", "llm"} else "x"
            self.take(Succeed(path=path, token=record.token, output=output, used=used))
        else:
            error = StepFailure(error_class=ending, message="scripted", attempt=record.attempt)
            self.take(Fail(path=path, token=record.token, error=error, used=used))

    def _used(self) -> JsonObject:
        """Return what an answer may have taken: the prompts are of six characters."""
        answer, prompt = self.rng.randrange(ANSWER + 1), self.rng.randrange(3)
        cost = units(PRICE.of(prompt, answer))
        return {"tokens": answer + prompt, "prompt_tokens": prompt, "cost": cost}


def counted(player: Player) -> dict[str, int]:
    """Return what the log of a run says that all its steps used."""
    counts: Counts = {}
    count(counts, "w", player.plan, player.changes)
    sums = {name: sum(each.get(name, 0) for each in counts.values()) for name in COUNTED}
    return {name: amount for name, amount in sums.items() if amount}


def held(text: str, inputs: dict, rng: Random) -> None:
    """Compile and play a workflow, and hold the run to every bound."""
    found = compiled(text)
    assume(found.plan is not None)
    assert found.plan is not None
    bounds = found.report.bounds

    player = Player(found.plan, inputs, rng)
    player.play()

    run = player.run
    note(f"{bounds}")
    ran = sum(record.state in RAN for record in run.steps.values())
    assert bounds.steps is None or ran <= bounds.steps
    assert bounds.peak_concurrency is not None
    assert player.most_running <= bounds.peak_concurrency
    assert bounds.peak_memory is not None
    assert player.most_memory <= bounds.peak_memory
    used = {name: n for name, n in run.used.items() if isinstance(n, int | float)}
    answers = used.get("tokens", 0) - used.get("prompt_tokens", 0)
    for name in ("tokens", "tool_calls", "items"):
        assert {**used, "tokens": answers}.get(name, 0) <= getattr(bounds, name)
    assert bounds.cost is not None
    assert bounds.cost.most is not None
    assert used.get("cost", 0) <= bounds.cost.most
    told = counted(player)
    assert {name: told.get(name, 0) for name in USED} == {n: used.get(n, 0) for n in USED}
    assert told.get("ran", 0) >= ran
    assert bounds.steps is None or told.get("ran", 0) <= bounds.steps
    if bounds.time_worst is not None:
        assert (player.now - START).total_seconds() <= bounds.time_worst + 1e-6
        event("time is bounded")
    if run.state is RunState.SUCCEEDED and bounds.time_best is not None:
        assert (player.now - START).total_seconds() >= bounds.time_best - 1e-6
    event(run.state.value)


def compiled(text: str) -> Compiled:
    site = Site(prices=PriceList(models={"local": PRICE}))
    return compile_workflow(Source("generated.yaml", text), ToolCatalog(), site=site)


@COUNT
@given(flow=flows(), rng=st.randoms(use_true_random=True), asks=st.booleans())
def test_no_run_comes_to_more_than_its_bounds(flow: Flow, rng: Random, asks: bool) -> None:
    text = to_yaml(flow)
    if asks:
        text = text.replace(f"python: {CODE}", f"llm: {{prompt: Count., max_tokens: {ANSWER}}}")
    note(text)
    held(text, {"n": flow.n}, rng)


@COUNT
@given(rng=st.randoms(use_true_random=True), asks=st.booleans())
def test_no_run_with_loops_comes_to_more_than_its_bounds(rng: Random, asks: bool) -> None:
    flow = loop_flow(rng)
    text = loops_to_yaml(flow).replace('"timeout": "1d"', '"timeout": "10s"')
    if asks:
        asked = f'"llm": {{"prompt": "Count.", "max_tokens": {ANSWER}}}'
        text = text.replace(f'"python": {CODE}', asked)
    note(text)
    held(text, {"n": flow.n, "xs": list(flow.xs)}, rng)


BEHIND = """
dagflow: 1
name: behind
inputs: {n: integer}
steps:
  first: {llm: {prompt: Count., max_tokens: 100}}
  never: {after: [{step: first, on: skipped}], llm: {prompt: Count., max_tokens: 100}}
  last: {after: [first, {step: never, on: done}], llm: {prompt: Count., max_tokens: 100}}
outputs: {}
"""


def test_step_that_waits_for_a_skipped_one_to_be_done_counts() -> None:
    assert compiled(BEHIND).report.bounds.tokens == 200


PARALLEL = """
dagflow: 1
name: parallel
inputs: {n: integer}
steps:
  route: {switch: [{when: inputs.n > 0, then: [a, b]}, {else: c}]}
  a: {llm: {prompt: Count., max_tokens: 100}}
  b: {llm: {prompt: Count., max_tokens: 50}}
  c: {llm: {prompt: Count., max_tokens: 120}}
  d: {after: [a, b], python: 'def main(): return 1', output: integer, quota: {memory: 1GiB}}
  e: {after: c, python: 'def main(): return 1', output: integer, quota: {memory: 1GiB}}
  f:
    join: any
    after: [{step: d, on: done}, {step: e, on: done}]
    python: 'def main(): return 1'
    output: integer
    quota: {memory: 128MiB}
"""


def test_of_branches_that_exclude_each_other_the_dearest_counts() -> None:
    bounds = compiled(PARALLEL).report.bounds

    assert bounds.tokens == 150
    assert bounds.steps == 5
    assert bounds.peak_concurrency == 3  # a join of all is skipped while its others may be at work
    assert bounds.peak_memory == 2 << 30


@pytest.mark.parametrize(("times", "most"), [(1, 60), (3, 180)])
def test_loops_and_attempts_multiply(times: int, most: int) -> None:
    text = f"""
dagflow: 1
name: loops
inputs: {{xs: {{type: array, maxItems: 5, items: {{type: string}}}}}}
steps:
  each:
    foreach:
      items: inputs.xs
      max_items: 3
      concurrency: 2
      steps:
        ask:
          llm: {{prompt: "${{{{ item }}}}", max_tokens: 20}}
          retry: {{attempts: {times}}}
"""
    found = compiled(text)

    assert found.report.bounds.tokens == most, found.report.findings
    assert found.report.bounds.items == 3
    assert found.report.bounds.peak_concurrency == 2


EARLY = """
dagflow: 1
name: early
inputs: {n: integer}
steps:
  slow: {python: 'def main(): return 1', output: integer, quota: {memory: 1GiB}}
  quick: {python: 'def main(): return 1', output: integer, quota: {memory: 64MiB}}
  both: {after: [slow, quick], python: 'def main(): return 1', output: integer}
  instead:
    after: {step: both, on: skipped}
    python: 'def main(): return 1'
    output: integer
    quota: {memory: 1GiB}
"""


def test_what_waits_for_a_join_to_be_skipped_may_run_beside_what_the_join_waited_for() -> None:
    found = compiled(EARLY)
    assert found.plan is not None
    driver = Driver(found.plan, {"n": 1})
    driver.take(Claim(path="slow", worker="w", until=START + timedelta(days=1)))

    driver.deliver("quick", "user")

    assert driver.run.steps["slow"].state == "running"
    assert driver.ready() == {"instead"}
    assert found.report.bounds.peak_memory is not None
    assert found.report.bounds.peak_memory >= 2 << 30
