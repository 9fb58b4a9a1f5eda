"""Plain reads of steps that may be absent: exactly where a run could be surprised."""

from __future__ import annotations

import pytest

from dagflow.compiler.graph import build as graph
from dagflow.compiler.proofs import reach
from dagflow.compiler.proofs.absence import Absent, absences
from dagflow.compiler.proofs.claims import claims_of
from tests.unit.compiler_graph.models import Made, false, made, model, succeeded, true

SWITCH = made("route", branches=[("x", ["left"]), (None, ["right"])])
OPEN_SWITCH = made("route", branches=[("x", ["left"]), ("y", ["right"])])
LEFT, RIGHT = made("left"), made("right")


def absent(*steps: Made, **more) -> list[Absent]:
    whole = model(*steps, **more)
    graphs = graph.build(whole)
    claims = claims_of(whole, graphs)
    return list(absences(whole, graphs, reach.analyse(whole, graphs, claims), claims))


def pairs(*steps: Made, **more) -> list[tuple[str, str]]:
    return [(item.reader, item.read.step) for item in absent(*steps, **more)]


def test_reader_without_control_edges_is_skipped_with_its_producer_and_that_is_meant() -> None:
    assert pairs(made("a", when="x"), made("b", reads=["a"])) == []


def test_reader_that_waits_for_its_producer_is_fine() -> None:
    assert pairs(made("a", when="x"), made("b", after=["a"], reads=["a"])) == []


def test_reader_that_waits_through_another_step_is_fine() -> None:
    steps = made("a", when="x"), made("b", after=["a"]), made("c", after=["b"], reads=["a"])

    assert pairs(*steps) == []


def test_reader_on_another_way_than_its_producer_is_told() -> None:
    assert pairs(made("a", when="x"), made("b"), made("c", after=["b"], reads=["a"])) == [
        ("c", "a")
    ]


def test_producer_that_can_only_fail_unhandled_is_not_told() -> None:
    assert pairs(made("a"), made("b"), made("c", after=["b"], reads=["a"])) == []


def test_producer_whose_failure_goes_elsewhere_is_told() -> None:
    steps = (
        made("a", goto="d"),
        made("b"),
        made("c", after=["b"], reads=["a"]),
        made("d"),
    )

    assert pairs(*steps) == [("c", "a")]


def test_producer_that_recovers_is_fine() -> None:
    steps = made("a", recovers=True), made("b"), made("c", after=["b"], reads=["a"])

    assert pairs(*steps) == []


def test_two_reads_that_go_missing_together_do_not_excuse_each_other() -> None:
    steps = (
        made("a", when="x"),
        made("b", reads=["a"]),
        made("c", after=["a", ("b", "skipped")], join="any", reads=["a", "b"]),
    )

    assert pairs(*steps) == [("c", "b")]


def test_any_join_vouches_for_what_all_its_ways_have_in_common() -> None:
    steps = (
        made("a", when="x"),
        made("b", after=["a"]),
        made("c", after=["a"]),
        made("d", after=["b", "c"], join="any", reads=["a"]),
    )

    assert pairs(*steps) == []


def test_any_join_does_not_vouch_for_one_of_its_ways() -> None:
    steps = SWITCH, LEFT, RIGHT, made("d", after=["left", "right"], join="any", reads=["left"])

    assert pairs(*steps) == [("d", "left")]


def test_at_least_vouches_for_a_step_that_too_few_edges_leave_out() -> None:
    steps = [made("a", when="x")]
    steps += [made(name, after=["a"]) for name in ("b", "c")]
    steps += [made("free"), made("d", after=["b", "c", "free"], join=2, reads=["a"])]

    assert pairs(*steps) == []


def test_at_least_does_not_vouch_where_enough_edges_leave_it_out() -> None:
    steps = [made("a", when="x"), made("b", after=["a"]), made("c"), made("e")]
    steps += [made("d", after=["b", "c", "e"], join=2, reads=["a"])]

    assert pairs(*steps) == [("d", "a")]


def test_reader_guarded_by_the_producers_state_is_fine_for_what_follows_it() -> None:
    steps = (
        made("a", when="x"),
        made("b"),
        made("c", after=["b"], when=succeeded("a")),
        made("d", after=["c"], reads=["a"]),
    )

    assert pairs(*steps) == []


def test_steps_after_a_guarded_one_failed_are_not_vouched_for_by_the_guard() -> None:
    steps = (
        made("a", when="x"),
        made("b"),
        made("c", after=["b"], when=succeeded("a")),
        made("d", after=[("c", "failure")], reads=["a"]),
    )

    assert pairs(*steps) == [("d", "a")]


def test_outputs_read_a_guarded_step() -> None:
    (only,) = absent(made("a", when="x"), outputs=["a"])

    assert (only.reader, only.where) == ("", "outputs")
    assert only.path == ("'a' is skipped: its guard 'x' is false",)


def test_outputs_read_where_an_exhaustive_switch_comes_together_again() -> None:
    join = made("join", after=["left", "right"], join="any")

    assert pairs(SWITCH, LEFT, RIGHT, join, outputs=["join"]) == []


def test_outputs_read_where_a_switch_may_take_no_branch() -> None:
    join = made("join", after=["left", "right"], join="any")

    assert pairs(OPEN_SWITCH, LEFT, RIGHT, join, outputs=["join"]) == [("", "join")]


def test_outputs_read_one_branch_of_a_switch() -> None:
    (only,) = absent(SWITCH, LEFT, RIGHT, outputs=["left"])

    assert only.path == ("'left' is skipped: it waits for branch 0 of 'route'",)


def test_outputs_read_the_branch_whose_alternative_ends_the_run() -> None:
    stop = made("right", kind="fail")

    assert pairs(SWITCH, LEFT, stop, outputs=["left"]) == []


def test_outputs_read_a_step_that_runs_on_failure_only() -> None:
    steps = made("a"), made("b", after=[("a", "failure")])

    assert pairs(*steps, outputs=["b"]) == [("", "b")]


def test_path_leads_from_the_first_cause_to_the_producer() -> None:
    steps = made("a", when="x"), made("b", after=["a"]), made("c", reads=["b"])

    (only,) = absent(*steps, outputs=["c"])

    assert only.path == (
        "'a' is skipped: its guard 'x' is false",
        "'b' is skipped: it waits for 'a' to succeed",
        "'c' is skipped with 'b'",
    )


def test_read_with_a_default_is_fine() -> None:
    steps = made("a", when="x"), made("b"), made("c", after=["b"], reads=["?a"])

    assert pairs(*steps, outputs=["?a"]) == []


def test_one_mistake_is_not_told_again_downstream() -> None:
    steps = made("a", when="x"), made("b"), made("c", after=["b"], reads=["a"])

    assert pairs(*steps, outputs=["c"]) == [("c", "a")]


def test_constant_guards_are_seen_through() -> None:
    assert pairs(made("a", when=true()), outputs=["a"]) == []
    assert pairs(made("a", when=false()), outputs=["a"]) == [("", "a")]


def test_finally_reads_steps_of_the_run_as_maybe_absent() -> None:
    (only,) = absent(made("a"), finally_=[made("note", reads=["a"]), made("more", reads=["note"])])

    assert (only.reader, only.read.step, only.where) == ("note", "a", "finally")


def test_compensation_may_read_its_own_step_and_what_that_needed() -> None:
    steps = made("a"), made("b", reads=["a"], compensate=["a", "b"])

    assert pairs(*steps) == []


def test_compensation_reads_a_step_beside_its_own() -> None:
    (only,) = absent(made("a"), made("b", compensate=["a"]))

    assert (only.reader, only.where) == ("b.compensate", "compensate")


@pytest.mark.parametrize(("guarded", "expected"), [(True, [("loop", "loop.one")]), (False, [])])
def test_collect_reads_an_inner_step(guarded: bool, expected: list[tuple[str, str]]) -> None:
    inner = made("one", when="x" if guarded else None)

    assert pairs(made("loop", inner=[inner], collect=["one"])) == expected


def test_read_from_inside_a_composite_is_judged_where_the_composite_stands() -> None:
    loop = made("loop", after=["b"], inner=[made("one", reads=["^a"])])

    assert pairs(made("a", when="x"), made("b"), loop) == [("loop", "a")]
