"""foreach and repeat."""

from __future__ import annotations

from typing import Any

from dagflow.core.plan import BudgetLimits
from dagflow.core.run import Kill, StepsReset
from dagflow.executor.decide import idempotency_key
from tests.unit.executor.plans import (
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


def over(items: Any, **options: Any) -> Driver:
    """Return a begun run of a foreach with one inner step."""
    made = plan(foreach("l", "inputs['xs']", step("l.x", given="=item"), **options))
    return Driver(made, {"xs": items}).begin()


def test_the_output_is_in_item_order_whatever_the_order_of_ends():
    run = over([10, 20, 30], concurrency=3)
    for index in (2, 0, 1):
        run.ok(f"l[{index}].x", index)
    assert run.output("l") == [0, 1, 2]


def test_only_as_many_items_run_as_concurrency_says():
    run = over(list(range(5)), concurrency=2)
    assert run.ready() == ["l[0].x", "l[1].x"]
    run.ok("l[1].x")
    assert run.ready() == ["l[0].x", "l[2].x"]


def test_an_item_and_its_index_are_visible_under_their_names():
    inner = step("l.x", given={"p": "=pkg", "i": "=pkg_index"})
    made = plan(foreach("l", "inputs['xs']", inner, as_="pkg", index="pkg_index"))
    run = Driver(made, {"xs": ["a"]}).begin()
    assert run.run.steps["l[0].x"].input["with"] == {"p": "a", "i": 0}


def test_an_empty_list_succeeds_with_an_empty_list():
    run = over([])
    assert (run.state("l"), run.output("l"), run.ended.value) == ("succeeded", [], "succeeded")


def test_what_is_no_list_fails_with_class_expression():
    run = over("text")
    assert (run.state("l"), run.error("l")) == ("failed", "expression")


def test_more_items_than_max_items_is_class_exhausted_and_begins_none():
    run = over([1, 2, 3], max_items=2)
    assert (run.state("l"), run.error("l"), run.ready()) == ("failed", "exhausted", [])


def test_more_items_than_the_budget_is_class_budget():
    made = plan(
        foreach("l", "[1, 2]", step("l.x")),
        foreach("m", "[1, 2]", step("m.x"), after="l"),
        budget=BudgetLimits(items=3),
    )
    run = Driver(made).begin()
    run.drain()
    assert run.run.used == {"items": 2}
    assert (run.state("l"), run.state("m"), run.error("m")) == ("succeeded", "failed", "budget")


def test_an_entry_is_null_where_the_sink_was_skipped():
    made = plan(foreach("l", "[1, 2]", step("l.x", when="item == 2")))
    run = Driver(made).begin()
    run.ok("l[1].x", "two")
    assert run.output("l") == [None, "two"]


def test_collect_is_evaluated_over_the_inner_steps():
    made = plan(foreach("l", "[1, 2]", step("l.x"), step("l.y"), collect="steps.x.output + item"))
    run = Driver(made).begin()
    run.drain({"l[0].x": 10, "l[1].x": 20})
    assert run.output("l") == [11, 22]


def test_a_collect_without_a_value_fails_the_item():
    made = plan(foreach("l", "[0, 1]", step("l.x"), collect="1 / item", tolerate=1))
    run = Driver(made).begin()
    run.drain()
    assert run.output("l") == [None, 1.0]
    errors = run.run.steps["l"].errors
    assert [(e["index"], e["class"]) for e in errors] == [(0, "expression")]


def test_tolerated_failures_are_null_and_in_errors():
    run = over([1, 2, 3], tolerate=1)
    run.ok("l[0].x", "a")
    run.bad("l[1].x", "network")
    run.ok("l[2].x", "c")
    assert run.output("l") == ["a", None, "c"]
    assert run.run.steps["l"].errors == [
        {"index": 1, "class": "network", "message": "item 1, step x: it broke"}
    ]


def test_after_too_many_failures_nothing_new_begins_and_what_runs_ends():
    run = over(list(range(6)), concurrency=3)
    run.claim("l[0].x")
    run.bad("l[2].x", "network")
    assert run.states("l", "l[3].x") == {"l": "waiting(child)", "l[3].x": "pending"}
    run.bad("l[1].x", "http_4xx")
    run.ok("l[0].x")
    assert (run.state("l"), run.state("l[3].x")) == ("failed", "pending")
    assert run.error("l") == "http_4xx", "the first by index, not by time"


def test_a_retry_runs_failed_items_only():
    run = over([1, 2, 3], concurrency=3, retry=retry(2))
    run.ok("l[0].x", "a")
    run.bad("l[1].x")
    run.ok("l[2].x", "c")
    assert run.ready() == ["l[1].x"]
    run.ok("l[1].x", "b")
    assert run.output("l") == ["a", "b", "c"]
    assert run.dispatched().count("l[0].x") == 1
    assert [c.steps for c in run.log if isinstance(c, StepsReset)] == [("l[1].x",)]


def test_a_late_report_of_an_earlier_life_of_an_item_is_void():
    run = over([1], retry=retry(2))
    run.bad("l[0].x")
    run.claim("l[0].x")
    assert run.token("l[0].x") == 2
    assert run.run.steps["l[0].x"].attempt == 1


def test_a_retry_goes_on_with_items_that_were_never_begun():
    run = over([1, 2, 3], retry=retry(2))
    run.bad("l[0].x")
    run.drain({"l[0].x": "a", "l[1].x": "b", "l[2].x": "c"})
    assert run.output("l") == ["a", "b", "c"]


def failed_items(run: Driver) -> list[Any]:
    return [error["index"] for error in run.run.steps["l"].errors or ()]


def test_a_loop_that_timed_out_tells_which_items_had_failed():
    run = over([1, 2, 3], concurrency=3, tolerate=2, timeout=5.0)
    run.bad("l[1].x")
    run.ok("l[2].x")
    run.later(5)
    assert (run.state("l"), failed_items(run)) == ("timed_out", [1])


def test_errors_are_those_of_the_last_attempt():
    run = over([1, 2], concurrency=2, timeout=5.0, retry=retry(2))
    run.bad("l[0].x")
    run.ok("l[1].x")
    run.later(5)
    assert (run.state("l"), failed_items(run)) == ("timed_out", [])


def test_a_retry_after_a_timeout_runs_the_items_that_it_cut_off():
    run = over([1, 2, 3], concurrency=2, timeout=5.0, retry=retry(2))
    run.ok("l[0].x", "a")
    run.claim("l[1].x")
    run.later(5)
    assert run.ready() == ["l[1].x", "l[2].x"]
    run.drain({"l[1].x": "b", "l[2].x": "c"})
    assert (run.output("l"), run.ended.value) == (["a", "b", "c"], "succeeded")


def test_a_retry_after_a_timeout_runs_an_item_again_whose_inner_loop_was_cut_off():
    inner = foreach("l.i", "[1, 2]", step("l.i.x"), concurrency=2)
    made = plan(foreach("l", "[1]", step("l.a"), inner, timeout=5.0, retry=retry(2), collect="1"))
    run = Driver(made).begin()
    run.ok("l[0].a")
    run.ok("l[0].i[0].x")
    run.later(5)
    assert sorted(run.ready()) == ["l[0].a", "l[0].i[0].x", "l[0].i[1].x"]


def test_the_key_of_an_item_is_the_same_after_a_retry_of_the_loop():
    run = over([1], retry=retry(2))
    before = idempotency_key(run.run, "l[0].x", run.run.steps["l[0].x"].generation)
    run.bad("l[0].x")
    after = idempotency_key(run.run, "l[0].x", run.run.steps["l[0].x"].generation)
    assert before == after != idempotency_key(run.run, "l[1].x", 0)


def test_a_guarded_off_foreach_is_skipped_as_a_whole():
    run = over([1, 2], when="false")
    assert run.state("l") == "skipped(guard)"
    assert list(run.run.steps) == ["l"]


def test_inner_steps_see_outer_ones_and_their_own_first():
    made = plan(
        step("a"),
        step("x"),
        foreach(
            "l",
            "[1]",
            step("l.x", given="=steps.a.output"),
            step("l.y", needs="l.x", given="=steps.x.output"),
            needs="a x",
        ),
    )
    run = Driver(made).begin()
    run.ok("a", "outer a")
    run.ok("x", "outer x")
    run.ok("l[0].x", "inner x")
    assert run.run.steps["l[0].x"].input["with"] == "outer a"
    assert run.run.steps["l[0].y"].input["with"] == "inner x"


def test_a_failure_inside_does_not_stop_its_siblings():
    made = plan(foreach("l", "[1]", step("l.x"), step("l.y"), collect="1"))
    run = Driver(made).begin()
    run.bad("l[0].x")
    assert run.state("l[0].y") == "ready"
    run.ok("l[0].y")
    assert run.state("l") == "failed"


def test_a_loop_of_engine_steps_ends_in_one_decision():
    made = plan(foreach("l", "inputs['xs']", switch("l.s", ("item > 1", "end"))))
    run = Driver(made, {"xs": list(range(500))}).begin()
    assert run.ended.value == "succeeded"
    assert run.output("l")[:3] == [{"branch": None}, {"branch": None}, {"branch": 0}]


def test_loops_nest():
    made = plan(
        foreach(
            "o",
            "[[1, 2], [3]]",
            foreach("o.i", "row", step("o.i.x", given={"v": "=v", "r": "=row_index"}), as_="v"),
            as_="row",
            index="row_index",
            concurrency=2,
        )
    )
    run = Driver(made).begin()
    while run.ready():
        path = run.ready()[0]
        run.ok(path, run.run.steps[path].input["with"])
    assert run.output("o") == [
        [{"v": 1, "r": 0}, {"v": 2, "r": 0}],
        [{"v": 3, "r": 1}],
    ]


def test_a_retry_resets_the_loops_inside():
    made = plan(
        repeat(
            "r",
            "true",
            foreach("r.i", "[1, 2]", step("r.i.x")),
            step("r.z", needs="r.i"),
            max_=2,
            retry=retry(2),
        )
    )
    run = Driver(made).begin()
    run.ok("r[0].i[0].x")
    run.ok("r[0].i[1].x")
    run.bad("r[0].z")
    assert run.states("r[0].i", "r[0].i[0].x", "r[0].i[1].x", "r[0].z") == {
        "r[0].i": "waiting(child)",
        "r[0].i[0].x": "ready",
        "r[0].i[1].x": "pending",
        "r[0].z": "pending",
    }
    run.drain({"r[0].z": 1})
    assert (run.state("r"), run.ended.value) == ("succeeded", "succeeded")


def test_a_turn_sees_its_number_and_the_previous_value():
    made = plan(repeat("r", "turn == 2", step("r.x", given={"t": "=turn"}), max_=5))
    run = Driver(made).begin()
    run.drain({f"r[{i}].x": f"v{i}" for i in range(3)})
    assert run.output("r") == "v2"
    assert run.run.steps["r[2].x"].input["with"] == {"t": 2}


def test_previous_is_empty_on_turn_0_and_the_last_value_after():
    made = plan(repeat("r", "turn > 0 and previous == 'v0'", step("r.x"), max_=5))
    run = Driver(made).begin()
    run.drain({f"r[{i}].x": f"v{i}" for i in range(5)})
    assert run.run.steps["r"].output == "v1"
    made = plan(repeat("r", "turn == 0 and previous == {}", step("r.x"), max_=5))
    run = Driver(made).begin()
    run.ok("r[0].x")
    assert run.state("r") == "succeeded"


def test_max_turns_fail_with_exhausted_or_take_the_last():
    for on_max, state in (("fail", "failed"), ("succeed", "succeeded")):
        made = plan(repeat("r", "false", step("r.x"), max_=2, on_max=on_max))
        run = Driver(made).begin()
        run.drain({"r[0].x": "a", "r[1].x": "b"})
        assert run.state("r") == state
        assert run.output("r") == (None if state == "failed" else "b")
    assert "r[2].x" not in run.run.steps


def test_a_retry_of_repeat_starts_at_turn_0():
    made = plan(repeat("r", "turn == 1", step("r.x"), max_=3, retry=retry(2)))
    run = Driver(made).begin()
    run.ok("r[0].x", "a")
    run.bad("r[1].x")
    assert run.ready() == ["r[0].x"]
    run.drain({"r[0].x": "c", "r[1].x": "d"})
    assert run.output("r") == "d"


def test_the_timeout_of_a_loop_stops_its_inside_and_is_retried():
    made = plan(repeat("r", "true", step("r.x"), max_=3, timeout=5.0, retry=retry(2)))
    run = Driver(made).begin()
    run.claim("r[0].x")
    run.later(5)
    assert Kill(path="r[0].x", token=1) in run.commands
    assert run.states("r", "r[0].x") == {"r": "waiting(child)", "r[0].x": "ready"}
    run.later(5)
    assert run.states("r", "r[0].x") == {"r": "timed_out", "r[0].x": "cancelled"}
    assert run.ended.value == "failed"


def test_waits_and_approvals_work_inside_loops():
    made = plan(
        foreach("l", "['a', 'b']", approve("l.ask", "=item"), wait("l.w", signal="go"),
                concurrency=2, collect="steps.ask.output.by")
    )  # fmt: skip
    run = Driver(made).begin()
    run.answer("l[1].ask", by="bob")
    run.answer("l[0].ask", by="ann")
    run.signal("go")
    run.signal("go")
    assert run.output("l") == ["ann", "bob"]


def test_a_loop_whose_inside_fails_at_once_is_retried_to_the_end():
    made = plan(foreach("l", "[1, 2]", fail("l.f", "no"), retry=retry(3)))
    run = Driver(made).begin()
    assert (run.state("l"), run.run.steps["l"].attempt) == ("failed", 3)


def test_an_item_whose_steps_end_together_is_counted_once():
    inner = (step("l.a", when="item != 1"), step("l.b", when="item != 1"))
    run = Driver(plan(foreach("l", "[1, 2, 3]", *inner, collect="item"))).begin()
    assert run.ready() == ["l[1].a", "l[1].b"]
    run.drain()
    assert run.output("l") == [1, 2, 3]
