"""Which steps can ever run, and why the others can't."""

from __future__ import annotations

import pytest

from dagflow.compiler.graph import build as graph
from dagflow.compiler.proofs import reach
from dagflow.compiler.proofs.claims import claims_of
from dagflow.compiler.proofs.reach import Cause
from tests.unit.compiler_graph.models import Made, false, made, model, true


def reached(*steps: Made, **more) -> reach.Reach:
    whole = model(*steps, **more)
    graphs = graph.build(whole)
    return reach.analyse(whole, graphs, claims_of(whole, graphs))


def cause(step: str, *steps: Made) -> Cause:
    found = reached(*steps).cause(step)
    assert found is not None, f"{step} may run"
    return found


def runs(step: str, *steps: Made) -> bool:
    return reached(*steps).runs(step)


SWITCH = made("route", branches=[("x", ["left"]), (None, ["right"])])
LEFT, RIGHT = made("left"), made("right")


def test_constantly_false_guard_keeps_a_step_and_all_after_it_from_running() -> None:
    steps = made("a", when=false()), made("b", after=["a"]), made("c", reads=["b"])

    assert cause("a", *steps).kind == "guard"
    assert cause("b", *steps).kind == "upstream"
    assert cause("c", *steps).kind == "upstream"


def test_steps_after_a_skip_of_a_dead_step_run() -> None:
    steps = (
        made("a", when=false()),
        made("b", after=[("a", "skipped")]),
        made("c", after=[("a", "done")]),
    )

    assert runs("b", *steps)
    assert runs("c", *steps)


def test_entry_without_a_guard_is_never_skipped() -> None:
    assert cause("b", made("a"), made("b", after=[("a", "skipped")])).kind == "edge"


def test_entry_with_a_guard_may_be_skipped() -> None:
    assert runs("b", made("a", when="x"), made("b", after=[("a", "skipped")]))


def test_step_after_another_may_be_skipped_since_that_may_fail() -> None:
    steps = made("a"), made("b", after=["a"]), made("c", after=[("b", "skipped")])

    assert runs("c", *steps)


def test_fail_step_never_succeeds_unless_it_recovers() -> None:
    assert cause("b", made("a", kind="fail"), made("b", after=["a"])).kind == "edge"
    assert runs("b", made("a", kind="fail", recovers=True), made("b", after=["a"]))


def test_branch_after_a_constantly_true_one_is_dead() -> None:
    switch = made("route", branches=[(true(), ["left"]), (None, ["right"])])

    assert runs("left", switch, LEFT, RIGHT)
    assert cause("right", switch, LEFT, RIGHT).kind == "branch"


def test_constantly_false_branch_is_dead() -> None:
    switch = made("route", branches=[(false(), ["left"]), (None, ["right"])])

    assert cause("left", switch, LEFT, RIGHT).kind == "branch"
    assert runs("right", switch, LEFT, RIGHT)


def test_two_branches_of_one_switch_are_never_both_taken() -> None:
    both = made("both", after=["left", "right"])

    assert cause("both", SWITCH, LEFT, RIGHT, both).kind == "conflict"
    assert (
        "'left' to succeed and for 'right' to succeed"
        in cause("both", SWITCH, LEFT, RIGHT, both).text
    )


def test_branches_come_together_again_under_any() -> None:
    assert runs("both", SWITCH, LEFT, RIGHT, made("both", after=["left", "right"], join="any"))


def test_branch_and_the_skip_of_the_other_go_together() -> None:
    both = made("both", after=["left", ("right", "skipped")])

    assert runs("both", SWITCH, LEFT, RIGHT, both)


def test_exclusion_is_seen_through_a_chain() -> None:
    steps = SWITCH, LEFT, RIGHT, made("l", after=["left"]), made("r", reads=["right"])

    assert cause("both", *steps, made("both", after=["l", "r"])).kind == "conflict"


def test_success_and_failure_of_one_step_exclude_each_other() -> None:
    steps = made("a"), made("ok", after=["a"]), made("bad", after=[("a", "failure")])

    assert cause("both", *steps, made("both", after=["ok", "bad"])).kind == "conflict"


def test_failure_that_went_to_one_step_did_not_go_to_another() -> None:
    first = made("a", goto="b")
    both = made("c", after=["b", "a"])

    assert cause("c", first, made("b"), both).kind == "conflict"


@pytest.mark.parametrize(("wanted", "expected"), [(1, True), (2, False), (3, False)])
def test_at_least_counts_edges_that_exclude_each_other(wanted: int, expected: bool) -> None:
    switch = made("route", branches=[("x", ["a"]), ("y", ["b"]), (None, ["c"])])
    steps = made("a"), made("b"), made("c"), made("j", after=["a", "b", "c"], join=wanted)

    assert runs("j", switch, *steps) is expected


def test_at_least_two_of_one_branch_and_two_free_steps_can_fire() -> None:
    steps = SWITCH, LEFT, RIGHT, made("free"), made("j", after=["left", "right", "free"], join=2)

    assert runs("j", *steps)


def test_at_least_more_than_there_are_edges_is_short() -> None:
    assert cause("j", made("a"), made("j", after=["a"], join=2)).kind == "short"


def test_read_of_a_branch_conflicts_with_waiting_for_the_other() -> None:
    reader = made("reader", after=["right"], reads=["left"])

    assert cause("reader", SWITCH, LEFT, RIGHT, reader).kind == "conflict"


def test_guardedly_read_step_may_be_anything() -> None:
    assert runs("reader", SWITCH, LEFT, RIGHT, made("reader", after=["right"], reads=["?left"]))


def test_dead_edges_are_known_though_the_step_can_run() -> None:
    found = reached(made("a"), made("b"), made("j", after=["a", ("b", "skipped")], join="any"))

    assert found.runs("j")
    assert found.blocks[""].dead == {("b", "j")}


def test_any_join_over_dead_edges_only_is_dead() -> None:
    steps = made("a"), made("b"), made("j", after=[("a", "skipped"), ("b", "skipped")], join="any")

    assert cause("j", *steps).kind == "edge"


def test_inner_blocks_are_judged_by_themselves() -> None:
    loop = made("loop", inner=[made("one"), made("two", after=[("one", "skipped")])])

    found = reached(loop)

    assert found.runs("loop")
    assert not found.runs("loop.two")


def test_wide_any_join_takes_linear_time() -> None:
    steps = [made(f"s{i}") for i in range(2_000)]

    assert runs("j", *steps, made("j", after=[s.name for s in steps], join=1_000))
