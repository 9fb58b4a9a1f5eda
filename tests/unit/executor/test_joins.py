"""Which edges are taken, and when a join fires or can't any more."""

from __future__ import annotations

import pytest

from dagflow.core.run import StepRecord
from dagflow.executor.machine.edges import is_taken
from dagflow.executor.machine.index import index_of
from tests.unit.executor.plans import Driver, approve, fail, plan, step, switch


def test_a_step_waits_for_every_edge_of_an_all_join():
    run = Driver(plan(step("a"), step("b"), step("c", after="a b"))).begin()
    run.ok("a")
    assert run.state("c") == "pending"
    run.ok("b")
    assert run.state("c") == "ready"


def test_an_all_join_is_skipped_as_soon_as_one_edge_is_not_taken():
    run = Driver(plan(step("a"), step("b"), step("c", after="a b"))).begin()
    run.bad("a")
    assert run.states("b", "c") == {"b": "ready", "c": "skipped(upstream)"}


def test_an_any_join_waits_until_all_are_decided_and_needs_one_taken():
    run = Driver(plan(step("a"), step("b"), step("c", after="a b", joined="any"))).begin()
    run.ok("a")
    assert run.state("c") == "pending"
    run.bad("b")
    assert run.state("c") == "ready"


def test_an_any_join_with_nothing_taken_is_skipped():
    run = Driver(plan(step("a"), step("b"), step("c", after="a b", joined="any"))).begin()
    run.bad("a")
    run.bad("b")
    assert run.state("c") == "skipped(upstream)"


def test_an_at_least_join_fires_as_soon_as_enough_are_taken_and_the_others_run_on():
    steps = [step(name) for name in "abc"]
    run = Driver(plan(*steps, step("d", after="a b c", joined="2"))).begin()
    run.ok("a")
    assert run.state("d") == "pending"
    run.ok("c")
    assert run.states("b", "d") == {"b": "ready", "d": "ready"}


def test_an_at_least_join_is_skipped_as_soon_as_it_is_impossible():
    steps = [step(name) for name in "abc"]
    run = Driver(plan(*steps, step("d", after="a b c", joined="2"))).begin()
    run.bad("a")
    assert run.state("d") == "pending"
    run.bad("b")
    assert run.states("c", "d") == {"c": "ready", "d": "skipped(upstream)"}


def test_first_fires_once_however_many_edges_reach_it():
    run = Driver(plan(step("a"), step("b"), step("c", after="a b", joined="first"))).begin()
    run.ok("a")
    run.ok("c")
    run.ok("b")
    assert run.dispatched().count("c") == 1
    assert run.state("c") == "succeeded"


def test_at_least_does_not_wait_for_an_ordering_read_and_records_what_it_saw():
    reader = step("c", after="a b", joined="first", awaits="b", given="=steps.b.status")
    run = Driver(plan(step("a"), step("b"), reader)).begin()
    run.claim("b")
    run.ok("a")
    assert run.run.steps["c"].input == {"with": "running", "body": {}}
    assert run.run.steps["c"].data == {"seen": {"b": {"status": "running"}}}


def test_at_least_does_wait_for_a_required_read():
    run = Driver(
        plan(step("a"), step("b"), step("c", after="a b", joined="first", needs="b"))
    ).begin()
    run.ok("a")
    assert run.state("c") == "pending"
    run.bad("b")
    assert run.state("c") == "skipped(upstream)"


def test_a_required_read_is_needed_besides_the_join():
    run = Driver(plan(step("a"), step("x"), step("c", after="a:done", needs="x"))).begin()
    run.bad("x")
    assert run.state("c") == "skipped(upstream)"


def test_an_ordering_read_waits_for_the_end_whichever_it_is():
    run = Driver(plan(step("x"), step("c", awaits="x", given="=steps.x.status"))).begin()
    assert run.state("c") == "pending"
    run.bad("x")
    assert run.run.steps["c"].input == {"with": "failed", "body": {}}


@pytest.mark.parametrize(
    ("on", "taken"),
    [
        ("success", {"ok"}),
        ("failure", {"bad", "late"}),
        ("skipped", {"off", "cut"}),
        ("done", {"ok", "bad", "late", "off", "cut"}),
        ("success,skipped", {"ok", "off", "cut"}),
    ],
)
def test_an_edge_is_taken_by_the_ends_that_it_names(on: str, taken: set[str]):
    steps = [
        step("ok"),
        step("bad"),
        step("late"),
        step("off", when="false"),
        step("cut", after="bad"),
    ]
    readers = [step(f"after_{s.path}", after=f"{s.path}:{on}") for s in steps]
    run = Driver(plan(*steps, *readers)).begin()
    run.ok("ok")
    run.bad("bad")
    run.bad("late", "timeout")
    assert {s.path for s in steps if run.state(f"after_{s.path}") == "ready"} == taken


def test_a_cancelled_producers_edges_are_not_taken():
    run = Driver(plan(step("a"), step("b", after="a:done"))).begin()
    run.cancel()
    assert run.states("a", "b") == {"a": "cancelled", "b": "cancelled"}
    assert "b" not in run.dispatched()


def test_branches_of_one_switch_to_one_step_are_one_edge():
    route = switch("route", ("inputs['x'] == 1", "t"), ("inputs['x'] == 2", "t"), (None, "end"))
    made = plan(route, step("t", after="route:#0,#1"))
    for x, state in ((1, "ready"), (2, "ready"), (3, "skipped(upstream)")):
        assert Driver(made, {"x": x}).begin().state("t") == state


def test_a_skip_is_judged_on_direct_edges_only():
    made = plan(step("a", when="false"), step("b", after="a:done"), step("c", after="b"))
    run = Driver(made).begin()
    run.ok("b")
    assert run.state("c") == "ready"


def test_independent_steps_go_on_after_a_failure():
    run = Driver(plan(fail("a", "no"), step("b"))).begin()
    assert run.run.state.value == "running"
    run.ok("b")
    assert run.ended.value == "failed"


def test_on_failure_stop_cancels_the_rest():
    made = plan(step("a"), step("b"), step("c", after="b"), on_failure="stop")
    run = Driver(made).begin()
    run.claim("b")
    run.bad("a")
    assert run.ended.value == "failed"
    assert run.states("b", "c") == {"b": "cancelled", "c": "cancelled"}


@pytest.mark.parametrize("mode", ["all", "any", "39", "first"])
@pytest.mark.parametrize("order", ["forward", "backward", "at once"])
def test_a_wide_join_fires_exactly_when_a_narrow_one_would(mode: str, order: str):
    names = [f"s{i}" for i in range(40)]
    made = plan(
        approve("go"),
        *[step(name, after="go") for name in names],
        step("end", after=" ".join(names), joined=mode),
    )
    run = Driver(made).begin()
    run.answer("go")
    needed = {"all": 40, "any": 40, "39": 39, "first": 1}[mode]
    for count, name in enumerate(names if order != "backward" else names[::-1]):
        assert (run.state("end") == "pending") == (count < needed), count
        run.ok(name)
    assert run.state("end") == "ready"


def test_a_wide_join_is_skipped_when_a_producer_fails_late():
    names = [f"s{i}" for i in range(40)]
    run = Driver(plan(*[step(n) for n in names], step("end", after=" ".join(names)))).begin()
    for name in names[:-1]:
        run.ok(name)
    run.bad(names[-1])
    assert run.state("end") == "skipped(upstream)"


def test_a_wide_join_counts_producers_that_end_in_one_decision():
    names = [f"s{i}" for i in range(40)]
    offs = [step(n, when="false", after="go") for n in names]
    made = plan(approve("go"), *offs, step("end", after=" ".join(f"{n}:skipped" for n in names)))
    run = Driver(made).begin()
    run.answer("go")
    assert run.state("end") == "ready"


def test_a_wide_join_counts_no_producer_twice():
    names = [f"s{i}" for i in range(39)]
    offs = [step(n, when="false", after="go") for n in names]
    edges = " ".join(f"{n}:done" for n in [*names, "slow"])
    run = Driver(plan(approve("go"), *offs, step("slow"), step("end", after=edges))).begin()
    run.answer("go")
    assert run.state("end") == "pending"
    run.ok("slow")
    assert run.state("end") == "ready"


@pytest.mark.parametrize("on", ["success", "failure", "skipped", "done", "goto"])
def test_no_edge_of_a_cancelled_step_is_taken(on: str):
    target = index_of(plan(step("a"), step("b", after=f"a:{on}"))).sites["b"]
    assert not is_taken(target.edges["a"], StepRecord(path="a", state="cancelled"), target)
