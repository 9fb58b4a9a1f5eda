"""A decision costs what it touches, not what the plan or the run holds."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from collections.abc import Callable
from copy import deepcopy

from dagflow.core.codec import encode
from dagflow.core.run import Begin, Succeed
from dagflow.executor.decide import decide
from dagflow.executor.machine.index import index_of
from tests.unit.executor.plans import START, Driver, Evaluator, foreach, plan, step, switch


def calls(work: Callable[[], object]) -> int:
    """Count the Python and C functions that `work` calls."""
    count = 0

    def on_event(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(on_event)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def chain(length: int) -> Driver:
    """Return a begun run of a chain in which the step in the middle is running."""
    steps = [step(f"s{i}", needs=f"s{i - 1}" if i else "") for i in range(length)]
    run = Driver(plan(*steps)).begin()
    for i in range(length // 2):
        run.ok(f"s{i}")
    run.claim(f"s{length // 2}")
    return run


def test_a_step_of_a_chain_costs_the_same_in_a_long_chain():
    costs = {}
    for length in (20, 2_000):
        run = chain(length)
        event = Succeed(path=f"s{length // 2}", token=1, output=None)
        ask = lambda run=run, event=event: decide(  # noqa: E731  # the work that is counted
            run.plan, run.run, event, run.now, evaluator=Evaluator()
        )
        ask()
        costs[length] = calls(ask)
    assert costs[2_000] <= costs[20] + 5, costs


def test_an_item_costs_the_same_in_a_long_list():
    costs = {}
    for length in (40, 4_000):
        made = plan(foreach("l", "inputs['xs']", step("l.x", given="=item"), concurrency=4))
        run = Driver(made, {"xs": list(range(length))}).begin()
        for i in range(20):
            run.ok(f"l[{i}].x")
        run.claim("l[20].x")
        event = Succeed(path="l[20].x", token=1, output=None)
        ask = lambda run=run, event=event: decide(  # noqa: E731  # the work that is counted
            run.plan, run.run, event, run.now, evaluator=Evaluator()
        )
        costs[length] = calls(ask)
    assert costs[4_000] <= costs[40] + 5, costs


def test_a_producer_costs_the_same_before_a_wide_join():
    costs = {}
    for width in (50, 2_000):
        names = [f"s{i}" for i in range(width)]
        run = Driver(plan(*[step(n) for n in names], step("end", after=" ".join(names)))).begin()
        run.ok("s0")
        run.claim("s1")
        event = Succeed(path="s1", token=1, output=None)
        ask = lambda run=run, event=event: decide(  # noqa: E731  # the work that is counted
            run.plan, run.run, event, run.now, evaluator=Evaluator()
        )
        costs[width] = calls(ask)
    assert costs[2_000] <= costs[50] + 5, costs


def test_a_chain_of_10_000_engine_steps_runs_in_one_decision_without_recursion():
    names = [f"s{i}" for i in range(10_000)]
    made = plan(
        *[switch(n, (None, "end"), after=names[i - 1] if i else "") for i, n in enumerate(names)]
    )
    run = Driver(made)
    run.send(Begin())
    assert run.ended.value == "succeeded"


def test_each_of_many_plans_is_indexed_once():
    made = [plan(step("a")) for _ in range(100)]
    first = [index_of(one) for one in made]
    assert all(index_of(one) is index for one, index in zip(made, first, strict=True))


def test_the_index_of_a_plan_goes_with_the_plan():
    made = plan(step("a"))
    index = weakref.ref(index_of(made))
    decide(made, Driver(made).run, Begin(), START, evaluator=Evaluator())
    gc.collect()
    assert index() is not None
    del made
    gc.collect()
    assert index() is None


def test_an_index_leaves_the_plan_as_it_is():
    made = plan(step("a"))
    before, written = plan(step("a")), encode(made)
    index_of(made)
    assert (made, encode(made), made.digest) == (before, written, before.digest)
    assert pickle.loads(pickle.dumps(made)) == deepcopy(made) == made
