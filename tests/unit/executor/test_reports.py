"""Claims, reports, budgets, and the moves that a plan lists."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from dagflow.core.errors import IllegalMoveError
from dagflow.core.events import decode, encode
from dagflow.core.plan import BudgetLimits, PlanStep
from dagflow.core.run import (
    Begin,
    Cancel,
    Claim,
    Decision,
    Dispatch,
    Fail,
    LoseLease,
    Run,
    StepFailure,
    Succeed,
    Tick,
)
from dagflow.core.values import JsonObject
from dagflow.executor.decide import decide, decide_all, idempotency_key, view
from dagflow.executor.replay import replay
from tests.unit.executor.plans import (
    START,
    Driver,
    Evaluator,
    approve,
    fail,
    foreach,
    plan,
    retry,
    step,
    switch,
    wait,
    without,
)


def test_a_claim_hands_out_a_growing_token():
    run = Driver(plan(step("a", retry=retry(2)))).begin()
    run.claim("a")
    record = run.run.steps["a"]
    assert (record.token, record.worker, record.attempt) == (1, "w", 1)
    assert record.lease_until == START + timedelta(seconds=30)
    run.bad("a")
    run.claim("a")
    assert run.run.steps["a"].token == 2


def test_a_step_is_claimed_once():
    run = Driver(plan(step("a"))).begin()
    run.claim("a")
    run.claim("a")
    assert run.refused
    assert run.token("a") == 1


def test_steps_of_the_engine_itself_are_not_claimed():
    run = Driver(plan(approve("a"))).begin()
    run.claim("a")
    assert run.refused


@pytest.mark.parametrize("path", ["nope", "a[0].b", "a.b", ""])
def test_a_path_that_the_plan_does_not_have_is_refused(path: str):
    run = Driver(plan(step("a"))).begin()
    run.claim(path)
    assert path in run.refused
    assert run.run.steps.keys() == {"a"}


def test_a_report_with_an_old_token_changes_nothing():
    run = Driver(plan(step("a", retry=retry(2)))).begin()
    run.bad("a")
    run.claim("a")
    before = deepcopy(run.run)
    run.send(Succeed(path="a", token=1, output=1))
    assert run.refused
    assert run.run == before


def test_a_second_report_changes_nothing_whatever_it_says():
    run = Driver(plan(step("a"), step("b"))).begin()
    run.ok("a", 1)
    before = deepcopy(run.run)
    error = StepFailure(error_class="user", message="x")
    for report in (Succeed(path="a", token=1, output=1), Fail(path="a", token=1, error=error)):
        assert run.send(report).changes == ()
        assert run.refused
    assert run.run == before


def test_decide_does_not_write_the_run_that_it_is_given():
    made = plan(
        foreach("l", "[1, 2]", step("l.x"), retry=retry(2)), wait("w", signal="go"), step("b")
    )
    run = Driver(made).begin()
    run.signal("go")
    run.claim("l[0].x")
    before = deepcopy(run.run)
    error = StepFailure(error_class="user", message="x")
    events = (Fail(path="l[0].x", token=1, error=error), Tick())
    decision = decide_all(made, run.run, events, run.now, evaluator=Evaluator())
    assert decision.changes
    assert run.run == before
    for name in ("done", "active", "busy", "ended", "holding", "running", "held_back", "let_go"):
        assert getattr(run.run, name) == getattr(before, name)


def test_a_move_that_the_plan_does_not_list_is_not_made():
    made = plan(step("a"), step("b", when="false"))
    run = Driver(without(made, "b", "pending", "skipped(guard)"))
    with pytest.raises(IllegalMoveError) as raised:
        run.begin()
    assert (raised.value.step, raised.value.before, raised.value.after) == (
        "b", "pending", "skipped(guard)",
    )  # fmt: skip
    assert run.run.steps == {}


def test_a_deleted_move_refuses_exactly_that_move():
    run = Driver(without(plan(step("a"), step("b", after="a")), "a", "running", "failed")).begin()
    run.claim("a")
    with pytest.raises(IllegalMoveError):
        run.bad("a")
    run.ok("a")
    assert run.state("b") == "ready"


def test_a_nested_step_is_looked_up_by_its_static_path():
    made = plan(foreach("l", "[1]", step("l.x")))
    with pytest.raises(IllegalMoveError):
        Driver(without(made, "l.x", "pending", "ready")).begin()


def test_tool_calls_are_counted_and_bounded_before_they_start():
    made = plan(step("a", "tool"), step("b", "tool"), budget=BudgetLimits(tool_calls=1))
    run = Driver(made).begin()
    run.ok("a")
    assert run.run.used == {"tool_calls": 1}
    run.claim("b")
    assert "tool_calls" in run.refused
    assert (run.state("b"), run.error("b"), run.ended.value) == ("failed", "budget", "failed")


def test_costs_are_added_up_without_noise_and_bound_the_next_step():
    made = plan(*(step(name, "llm") for name in "abcd"), budget=BudgetLimits(cost=0.3))
    run = Driver(made).begin()
    for name in "abc":
        run.claim(name)
        run.send(Succeed(path=name, token=1, output=None, used={"cost": 0.1}))
    assert run.run.used == {"cost": 0.3}
    run.claim("d")
    assert run.error("d") == "budget"


def test_tokens_are_added_up_from_reports_and_bound_the_next_step():
    made = plan(step("a", "llm"), step("b", "llm"), budget=BudgetLimits(tokens=100))
    run = Driver(made).begin()
    run.claim("a")
    run.send(Succeed(path="a", token=1, output=None, used={"tokens": 100, "tool_calls": 7}))
    assert run.run.used == {"tokens": 100}
    run.claim("b")
    assert run.error("b") == "budget"


def asking(path: str, most: int) -> PlanStep:
    return replace(step(path, "llm"), body={"max_tokens": most})


def test_an_answer_that_does_not_fit_into_what_is_left_is_not_asked_for():
    run = Driver(plan(asking("a", 60), asking("b", 50), budget=BudgetLimits(tokens=100))).begin()
    run.claim("a")
    run.send(Succeed(path="a", token=1, output=None, used={"tokens": 51}))
    run.claim("b")
    assert "may take 50 tokens, and the run has 49 of 100 left" in run.refused
    assert run.error("b") == "budget"


def test_answers_are_reserved_while_they_are_written_and_the_next_one_waits_for_its_turn():
    made = plan(asking("a", 60), asking("b", 50), budget=BudgetLimits(tokens=100))
    run = Driver(made).begin()
    run.claim("a")
    run.claim("b")
    assert (run.state("b"), run.refused[:9]) == ("ready", "60 tokens")
    decision = run.send(Succeed(path="a", token=1, output=None, used={"tokens": 20}))
    assert [it.path for it in decision.commands if isinstance(it, Dispatch)] == ["b"]
    run.claim("b")
    assert run.state("b") == "running"


def test_an_answer_that_was_cut_off_lets_the_next_one_start():
    made = plan(
        replace(asking("a", 60), timeout=5.0), asking("b", 50), budget=BudgetLimits(tokens=100)
    )
    run = Driver(made).begin()
    run.claim("a")
    run.claim("b")
    decision = run.later(5)
    assert [it.path for it in decision.commands if isinstance(it, Dispatch)] == ["b"]


def test_the_end_of_an_answer_rings_for_those_only_that_were_held_back():
    loop = foreach("l", "inputs['xs']", asking("l.x", 10), concurrency=100)
    run = Driver(plan(loop, budget=BudgetLimits(tokens=1000)), {"xs": [0] * 100}).begin()
    run.drain()
    assert run.ended.value == "succeeded"
    assert len(run.dispatched()) == 100


def test_as_many_of_those_held_back_are_rung_for_as_fit():
    steps = [asking("a", 60), *(asking(name, 30) for name in "bcdef")]
    run = Driver(plan(*steps, budget=BudgetLimits(tokens=100))).begin()
    for name in "abdfec":
        run.claim(name)
    assert run.states("a", "b") == {"a": "running", "b": "running"}
    run.commands.clear()
    run.send(Succeed(path="a", token=1, output=None, used={"tokens": 10}))
    assert run.dispatched() == ["d", "f"]
    run.claim("d")
    run.claim("f")
    run.send(Succeed(path="d", token=1, output=None, used={"tokens": 20}))
    assert run.dispatched() == ["d", "f"]
    run.send(Succeed(path="f", token=1, output=None, used={"tokens": 10}))
    assert run.dispatched() == ["d", "f", "e"]


def test_a_step_that_was_let_go_and_does_not_begin_lets_the_next_one_go():
    last = replace(asking("c", 50), timeout=9.0)
    made = plan(
        asking("a", 60),
        replace(asking("b", 50), deadline=5.0),
        last,
        budget=BudgetLimits(tokens=100),
    )
    run = Driver(made).begin()
    for name in "abc":
        run.claim(name)
    run.commands.clear()
    run.send(Succeed(path="a", token=1, output=None, used={"tokens": 20}))
    assert run.dispatched() == ["b"]
    run.later(5)
    assert run.state("b") == "timed_out"
    assert run.dispatched() == ["b", "c"]


def report(run: Driver, path: str, tokens: int) -> Decision:
    used: JsonObject = {"tokens": tokens}
    return run.send(Succeed(path=path, token=run.token(path), output=None, used=used))


def line(*asked: tuple[str, int], tokens: int) -> Driver:
    """Return a begun run in which these answers were asked for in that order."""
    steps = [asking(path, most) for path, most in asked]
    run = Driver(plan(*steps, budget=BudgetLimits(tokens=tokens))).begin()
    for path, _ in asked:
        run.claim(path)
    run.commands.clear()
    return run


def test_a_large_answer_that_was_let_go_is_not_passed_before_it_is_claimed():
    asked = (("a", 50), ("a2", 50), ("big", 60), ("s1", 30), ("s2", 30))
    run = line(*asked, tokens=110)
    report(run, "a", 0)
    report(run, "a2", 0)
    assert run.dispatched() == ["big", "s1"]
    run.claim("s2")
    assert "90 tokens are promised" in run.refused
    for path in ("s1", "big"):
        run.claim(path)
    assert run.states("s1", "s2", "big") == {"s1": "running", "s2": "ready", "big": "running"}
    report(run, "s1", 0)
    assert run.dispatched() == ["big", "s1", "s2"]


def test_a_small_answer_that_comes_later_does_not_pass_a_large_one_that_waits():
    run = line(("a", 50), ("big", 60), ("small", 10), tokens=100)
    assert run.states("a", "big", "small") == {"a": "running", "big": "ready", "small": "ready"}
    assert "asked for before" in run.refused
    report(run, "a", 0)
    assert run.dispatched() == ["big", "small"]


def test_an_answer_that_was_let_go_and_fits_no_more_keeps_its_place():
    asked = (("a", 100), ("b", 50), ("c", 30), ("big", 100), ("s", 60))
    run = line(*asked, tokens=200)
    report(run, "a", 0)
    report(run, "c", 60)
    assert run.dispatched() == ["big"]
    run.claim("big")
    assert "50 tokens are promised" in run.refused
    run.claim("s")
    assert run.states("big", "s") == {"big": "ready", "s": "ready"}
    report(run, "b", 0)
    assert run.dispatched() == ["big", "big"]


def test_what_was_let_go_is_promised_after_the_log_is_read_again():
    asked = (("a", 50), ("a2", 50), ("big", 60), ("s1", 30), ("s2", 30))
    run = line(*asked, tokens=110)
    report(run, "a", 0)
    submitted = Run(id="r1", plan="", inputs={}, created_at=START)
    log = [decode(encode(change)) for change in run.log]
    again = Driver(run.plan, run=replay(submitted, log))
    assert list(again.run.let_go) == list(run.run.let_go) == ["big"]
    assert list(again.run.held_back) == list(run.run.held_back) == ["big", "s1", "s2"]
    for one in (run, again):
        report(one, "a2", 0)
        one.claim("s2")
        one.claim("s1")
        one.claim("big")
        assert one.states("s1", "s2", "big") == {"s1": "running", "s2": "ready", "big": "running"}
    assert again.run == run.run


@pytest.mark.parametrize("seed", range(40))
def test_whoever_is_held_back_is_rung_for_again(seed):
    """Steps are claimed when the bell rings for them, and not otherwise."""
    dice = Random(seed)
    steps = [
        replace(asking(f"s{i}", dice.choice([10, 30, 50, 90])), retry=retry(2)) for i in range(20)
    ]
    run = Driver(plan(*steps, budget=BudgetLimits(tokens=dice.choice([100, 300])))).begin()
    while True:
        bells, run.commands = run.dispatched(), []
        dice.shuffle(bells)
        for path in bells:
            run.claim(path)
        running = [path for path, it in run.run.steps.items() if it.state == "running"]
        if not running and not run.dispatched():
            break
        for path in dice.sample(running, min(len(running), 2)):
            token, used = run.token(path), {"tokens": dice.choice([0, 5, 60])}
            error = StepFailure(error_class=dice.choice(["user", "model"]), message="x")
            run.send(
                dice.choice(
                    [
                        Succeed(path=path, token=token, output=None, used=used),
                        Fail(path=path, token=token, error=error, used=used),
                        LoseLease(path=path, token=token),
                    ]
                )
            )
    assert run.run.state.is_final


@pytest.mark.parametrize(
    ("ending", "counted"),
    [
        (Tick(), 60),
        (Cancel(), 60),
        (LoseLease(path="a", token=1), 60),
        (LoseLease(path="a", token=1, released=True), 60),
        (Succeed(path="a", token=1, output=None, used={"tokens": 7}), 7),
    ],
)
def test_an_answer_that_nobody_reports_counts_in_full(ending, counted):
    run = Driver(plan(replace(asking("a", 60), timeout=5.0, deadline=5.0))).begin()
    run.claim("a")
    run.now += timedelta(seconds=5)
    run.send(ending)
    assert run.run.used.get("tokens", 0) == counted


def test_a_call_that_was_given_back_and_is_made_again_counts_twice():
    run = Driver(plan(step("a", "tool"))).begin()
    run.claim("a")
    run.send(LoseLease(path="a", token=1, released=True))
    run.ok("a")
    assert (run.run.used, run.run.steps["a"].attempt) == ({"tool_calls": 2}, 1)


def test_what_a_failed_attempt_used_counts_too():
    run = Driver(plan(step("a", "llm"))).begin()
    run.claim("a")
    error = StepFailure(error_class="model", message="x")
    run.send(Fail(path="a", token=1, error=error, used={"tokens": 9}))
    assert run.run.used == {"tokens": 9}


def test_several_events_fold_into_one_decision():
    made = plan(step("a"), step("b", needs="a"))
    run = Driver(made).begin()
    run.claim("a")
    decision = run.send(
        Succeed(path="a", token=1, output=1), Claim(path="b", worker="w", until=START)
    )
    assert run.state("b") == "running"
    assert decision.commands == ()


def test_events_after_a_refused_one_are_not_taken():
    run = Driver(plan(step("a"), step("b"))).begin()
    run.send(Claim(path="nope", worker="w", until=START), Claim(path="a", worker="w", until=START))
    assert run.refused
    assert run.state("a") == "ready"


def test_a_run_begins_once():
    run = Driver(plan(step("a"))).begin()
    run.send(Begin())
    assert run.refused


def test_nothing_happens_to_a_run_that_is_over():
    run = Driver(plan(fail("a", "x"))).begin()
    for _ in range(2):
        run.later(1000)
    run.cancel()
    assert run.refused
    assert run.wake() is None


def test_a_step_without_a_record_is_pending():
    run = Driver(plan(step("a"), step("b", after="a"))).begin()
    assert "b" not in run.run.steps
    assert view(run.run, "b").state == "pending"


def test_idempotency_keys_differ_by_root_path_and_generation():
    def key(path: str = "a", generation: int = 0, **fields: str) -> str:
        return idempotency_key(Run(plan="", inputs={}, **{"id": "r", **fields}), path, generation)

    assert key() == key(id="retry of r", root="r")
    assert len({key(), key("b"), key(generation=1), key(id="x"), key(prefix="c", root="r")}) == 5


def test_decide_finds_the_production_evaluator_by_itself():
    made = plan(switch("s", (None, "end")), outputs={"x": 1})
    run = Run(id="r", plan="", inputs={}, created_at=START)
    for change in decide(made, run, Begin(), START).changes:
        run.apply(change)
    assert run.outputs == {"x": 1}
