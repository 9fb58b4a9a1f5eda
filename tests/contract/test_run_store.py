"""What every store must do. A new backend adds one line to `STORES` and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from dagflow.core.errors import (
    ConflictError,
    NotFoundError,
    UsageError,
    VersionConflictError,
)
from dagflow.core.run import RunState, StepFailure
from dagflow.store.base import RunStore
from dagflow.store.rows import (
    Batch,
    IdempotencyKey,
    Lease,
    Message,
    MessageKey,
    Registered,
    RunQuery,
)
from tests.contract.stores import NOW, PLAN, Writer, after

BIG = 7615917337495251231


@pytest.fixture
def writer(store: RunStore) -> Writer:
    made = Writer(store, inputs={"n": BIG})
    made.create()
    return made


def test_a_plan_comes_back_equal(store: RunStore) -> None:
    store.put_plan(PLAN, NOW)
    store.put_plan(PLAN, NOW)

    assert store.get_plan(PLAN.digest) == PLAN


def test_an_unknown_plan_is_not_found(store: RunStore) -> None:
    with pytest.raises(NotFoundError, match="there is no plan sha256:0"):
        store.get_plan("sha256:0")


def test_changes_come_back_in_order_and_equal(store: RunStore, writer: Writer) -> None:
    ready = writer.stepped("a", "ready", ready_at=after(1), input={"with": {"n": BIG}})
    claimed = writer.stepped("a", "running", token=1, worker="w", lease_until=after(31))
    writer.append(ready, claimed, expected=1)
    done = writer.stepped("a", "succeeded", output=[BIG, 0.1, None, "é"], has_output=True)
    writer.append(done, expected=2)

    loaded = store.load("r1")

    assert loaded.version == 3
    assert loaded.seq == 4
    assert loaded.changes[1:] == (ready, claimed, done)
    assert store.load("r1", after=2).changes == (done,)


def test_the_header_comes_back_with_every_digit(store: RunStore, writer: Writer) -> None:
    assert store.load("r1").header == writer.header
    assert store.load("r1").header.inputs == {"n": BIG}


def test_second_writer_is_refused_and_nothing_is_written(store: RunStore, writer: Writer) -> None:
    writer.append(writer.stepped("a", "ready"), expected=1)
    late = Writer(store)
    key = MessageKey("r1", "dispatch", "b")

    with pytest.raises(VersionConflictError, match="at version 2, not 1"):
        late.append(late.stepped("b", "ready"), expected=1, messages=(Message(key=key, body={}),))

    assert len(store.load("r1").changes) == 2
    assert [step.path for step in store.steps("r1")] == ["a"]
    assert store.outbox() == ()


def test_writer_ahead_of_the_log_is_refused(writer: Writer) -> None:
    with pytest.raises(VersionConflictError, match="at version 1, not 7"):
        writer.append(writer.stepped("a", "ready"), expected=7)


def test_appending_to_an_unknown_run_is_not_found(store: RunStore) -> None:
    lost = Writer(store, "r9")

    with pytest.raises(NotFoundError, match="there is no run r9"):
        lost.append(lost.stepped("a", "ready"), expected=0)
    with pytest.raises(NotFoundError, match="there is no run r9"):
        store.load("r9")
    with pytest.raises(NotFoundError, match="there is no run r9"):
        store.get_run("r9")


def test_a_run_needs_its_plan(store: RunStore) -> None:
    writer = Writer(store)
    with pytest.raises(NotFoundError, match="there is no plan"):
        writer.store.create(writer.header, _begun(writer))
    assert store.unfinished() == ()


def test_a_run_is_created_once(store: RunStore, writer: Writer) -> None:
    with pytest.raises(ConflictError, match="run r1 exists already"):
        Writer(store).create()
    assert len(store.load("r1").changes) == 1


def test_runs_do_not_see_each_other(store: RunStore, writer: Writer) -> None:
    other = Writer(store, "r2")
    other.create()
    other.append(other.stepped("a", "ready"), expected=1)

    assert store.steps("r1") == ()
    assert store.versions(["r1", "r2", "r3"]) == {"r1": 1, "r2": 2}


def test_the_same_key_gives_the_same_run(store: RunStore) -> None:
    key = IdempotencyKey(scope="tenant", key="k", fingerprint="print")

    assert Writer(store, "r1").create(key) == "r1"
    assert Writer(store, "r2").create(key) == "r1"
    assert Writer(store, "r3").create(replace(key, scope="other")) == "r3"
    assert store.unfinished() == ("r1", "r3")


def test_a_key_used_for_something_else_is_refused(store: RunStore) -> None:
    Writer(store, "r1").create(IdempotencyKey(scope="tenant", key="k", fingerprint="print"))

    with pytest.raises(ConflictError, match="'k' was used for another submission"):
        Writer(store, "r2").create(IdempotencyKey(scope="tenant", key="k", fingerprint="other"))
    assert store.unfinished() == ("r1",)


def test_the_row_of_a_run_follows_its_changes(store: RunStore, writer: Writer) -> None:
    failure = StepFailure(error_class="http_5xx", message="no", attempt=2, retry_after=1.5)
    writer.append(
        writer.moved(RunState.FAILED, finished_at=after(9), error=failure, outputs={"n": BIG}),
        expected=1,
    )

    row = store.get_run("r1")

    assert (row.state, row.version, row.seq) == ("failed", 2, 2)
    assert (row.created_at, row.started_at, row.finished_at) == (NOW, NOW, after(9))
    assert row.error == failure
    assert row.outputs == {"n": BIG}
    assert store.unfinished() == ()


def test_the_row_of_a_step_follows_its_changes(store: RunStore, writer: Writer) -> None:
    failure = StepFailure(error_class="timeout", message="slow", attempt=1)
    writer.append(
        writer.stepped(
            "loop[3].a",
            "waiting(backoff)",
            attempt=1,
            token=1,
            due=after(2),
            error=failure,
            ready_at=NOW,
            started_at=after(1),
        ),
        expected=1,
    )

    (row,) = store.steps("r1")

    assert (row.path, row.state, row.attempt, row.token) == ("loop[3].a", "waiting(backoff)", 1, 1)
    assert (row.ready_at, row.started_at, row.due, row.lease_until) == (
        NOW,
        after(1),
        after(2),
        None,
    )
    assert row.error == failure


def test_runs_are_listed_newest_first_in_pages_that_do_not_shift(store: RunStore) -> None:
    for n in range(5):
        Writer(store, f"r{n}", at=after(n // 2)).create()

    first = store.list_runs(RunQuery(limit=2))
    Writer(store, "r9", at=after(9)).create()
    second = store.list_runs(RunQuery(limit=2, cursor=first.next))
    third = store.list_runs(RunQuery(limit=2, cursor=second.next))

    pages = [[run.id for run in page.runs] for page in (first, second, third)]
    assert pages == [["r4", "r3"], ["r2", "r1"], ["r0"]]
    assert third.next == ""


def test_runs_are_filtered_by_state_workflow_and_parent(store: RunStore) -> None:
    Writer(store, "r1", workflow="x").create()
    Writer(store, "r2", workflow="y").create()
    over = Writer(store, "r3", workflow="y", parent="r1")
    over.create()
    over.append(over.moved(RunState.SUCCEEDED), expected=1)

    def ids(query: RunQuery) -> list[str]:
        return sorted(run.id for run in store.list_runs(query).runs)

    assert ids(RunQuery(workflow="y")) == ["r2", "r3"]
    assert ids(RunQuery(states=("succeeded",))) == ["r3"]
    assert ids(RunQuery(states=("succeeded", "running"), parent="")) == ["r1", "r2"]
    assert [run.id for run in store.children("r1")] == ["r3"]
    assert store.children("") == ()


@pytest.mark.parametrize("cursor", ["x", "12", ".r1", "1e3.r1"])
def test_a_cursor_that_no_page_gave_is_refused(store: RunStore, cursor: str) -> None:
    with pytest.raises(UsageError, match="is not a cursor"):
        store.list_runs(RunQuery(cursor=cursor))


def test_events_are_read_from_a_seq_on(store: RunStore, writer: Writer) -> None:
    writer.append(writer.stepped("a", "ready"), writer.stepped("a", "running"), expected=1)
    writer.append(writer.stepped("a", "succeeded"), expected=2)

    found = store.events("r1", after=1, limit=2)

    assert [(event.seq, event.version) for event in found] == [(2, 2), (3, 2)]
    assert [event.seq for event in store.events("r1", after=3)] == [4]
    assert store.events("r1", after=4) == ()
    assert store.events("unknown") == ()


def test_runs_are_due_when_their_time_has_come(store: RunStore) -> None:
    for run_id, seconds in (("r1", 20), ("r2", 10), ("r3", 30)):
        Writer(store, run_id).create(wake_at=after(seconds))
    Writer(store, "r4").create()

    assert store.due(after(9.999999)) == ()
    assert store.due(after(20)) == ("r2", "r1")
    assert store.next_wake() == after(10)


def test_a_batch_sets_the_wake_even_when_the_run_does_not_move(
    store: RunStore, writer: Writer
) -> None:
    writer.append(writer.stepped("a", "waiting(timer)"), expected=1, wake_at=after(5))
    assert store.next_wake() == after(5)

    writer.append(writer.stepped("a", "succeeded"), expected=2)
    assert store.next_wake() is None


def test_ready_steps_are_found_longest_ready_first(store: RunStore, writer: Writer) -> None:
    writer.append(
        writer.stepped("b", "ready", ready_at=after(1)),
        writer.stepped("a", "ready", ready_at=after(2)),
        writer.stepped("c", "waiting(timer)", ready_at=after(0)),
        expected=1,
    )

    assert [step.path for step in store.ready()] == ["b", "a"]
    assert [step.path for step in store.ready(run_id="r1")] == ["b", "a"]
    assert store.ready(run_id="r2") == ()


def test_a_lease_is_held_while_the_step_runs(store: RunStore, writer: Writer) -> None:
    lease = _claimed(writer)
    assert store.leases() == (lease,)
    assert store.leases(run_id="r2") == ()

    writer.append(writer.stepped("a", "succeeded"), expected=2)
    assert store.leases() == ()
    assert store.extend([lease], after(60)) == (lease,)


def test_an_extended_lease_is_not_in_the_log_and_not_cut_by_a_later_batch(
    store: RunStore, writer: Writer
) -> None:
    lease = _claimed(writer)

    assert store.extend([lease], after(90)) == ()
    writer.append(writer.stepped("a", "running", data={"x": 1}), expected=2)

    assert store.leases() == (replace(lease, until=after(90)),)
    assert store.versions(["r1"]) == {"r1": 3}


def test_a_new_claim_has_its_own_lease_and_voids_the_old_one(
    store: RunStore, writer: Writer
) -> None:
    lease = _claimed(writer)
    store.extend([lease], after(90))
    writer.append(
        writer.stepped("a", "ready"),
        writer.stepped("a", "running", token=2, worker="v", lease_until=after(40)),
        expected=2,
    )

    assert store.extend([lease], after(99)) == (lease,)
    assert store.leases() == (replace(lease, token=2, worker="v", until=after(40)),)


def test_a_message_stays_until_it_is_settled(store: RunStore, writer: Writer) -> None:
    key = MessageKey("r1", "start_child", "call")
    writer.append(
        writer.stepped("call", "waiting(child)"),
        expected=1,
        messages=(Message(key=key, body={"n": BIG}),),
    )
    assert store.outbox() == (key,)
    assert store.message(key) == Message(key=key, body={"n": BIG})
    assert store.outbox(families=["r2"]) == ()

    assert store.outbox(before=after(-1)) == ()
    assert store.outbox(before=after(99)) == store.outbox()

    other = Writer(store, "r2")
    other.create()
    other.append(other.stepped("a", "ready"), expected=1, settled=(key,))

    assert store.outbox() == ()


def test_messages_and_unfinished_runs_are_found_by_family(store: RunStore) -> None:
    for run_id, root in (("r0", "r0"), ("r1", "r0"), ("r2", "r0"), ("s0", "s0"), ("s1", "s0")):
        writer = Writer(store, run_id, root=root)
        writer.create()
        message = Message(key=MessageKey(run_id, "stop_child", "k"), body={})
        writer.append(writer.stepped("a", "ready"), expected=1, messages=(message,))

    def senders(*runs: str) -> list[str]:
        return [key.run_id for key in store.outbox(families=runs)]

    assert senders("r2") == senders("r0") == ["r0", "r1", "r2"]
    assert senders("s1") == ["s0", "s1"]
    assert senders("r1", "s0") == ["r0", "r1", "r2", "s0", "s1"]
    assert senders() == senders("r9") == []
    assert store.unfinished(family="s1") == ("s0", "s1")
    assert store.unfinished() == ("r0", "r1", "r2", "s0", "s1")


def test_runs_are_neglected_whose_bells_nobody_rang_or_whose_steps_nobody_claimed(
    store: RunStore,
) -> None:
    for run_id in ("r1", "r2"):
        writer = Writer(store, run_id)
        writer.create()
        bell = Message(key=MessageKey(run_id, "dispatch", "a"), body={})
        at = after(int(run_id[1]))
        writer.append(writer.stepped("a", "ready", ready_at=at), expected=1, messages=(bell,))
    store.mark_sent([MessageKey("r1", "dispatch", "a")], NOW)

    def neglected(unsent: float, unclaimed: float) -> tuple[str, ...]:
        return store.neglected(unsent=after(unsent), unclaimed=after(unclaimed))

    assert neglected(-1, 0.9) == ()
    assert neglected(-1, 1) == ("r1",)
    assert neglected(0, 0) == ("r2",)
    assert neglected(0, 2) == ("r1", "r2")


def test_messages_are_found_by_their_kind_and_told_open_until_they_are_done(
    store: RunStore, writer: Writer
) -> None:
    bell, stop = MessageKey("r1", "dispatch", "a"), MessageKey("r1", "stop_child", "k")
    messages = tuple(Message(key=key, body={}) for key in (bell, stop))
    writer.append(writer.stepped("a", "ready"), expected=1, messages=messages)

    assert store.outbox(kinds=("stop_child", "hold_child")) == (stop,)
    assert store.message(bell) == messages[0]
    assert store.message(MessageKey("r1", "stop_child", "other")) is None

    store.mark_sent([bell], NOW)
    store.settle([stop])

    assert store.message(bell) is None
    assert store.message(stop) is None


def test_a_message_is_answered_by_one_run_and_by_none_once_it_is_settled(
    store: RunStore, writer: Writer
) -> None:
    key = MessageKey("r1", "start_child", "k")
    writer.append(
        writer.stepped("call", "waiting(child)"),
        expected=1,
        messages=(Message(key=key, body={}),),
    )
    Writer(store, "r2").create(answers=key)
    assert store.outbox() == ()

    with pytest.raises(ConflictError, match="run r3 is not asked for any more"):
        Writer(store, "r3").create(answers=key)
    assert store.versions(["r2", "r3"]) == {"r2": 1}


def test_a_message_sent_is_not_taken_again_unless_it_is_put_again(
    store: RunStore, writer: Writer
) -> None:
    key = MessageKey("r1", "dispatch", "a")
    message = Message(key=key, body={"queue": "default"})
    writer.append(writer.stepped("a", "ready"), expected=1, messages=(message,))
    store.mark_sent([key, MessageKey("r1", "dispatch", "gone")], NOW)
    assert store.outbox() == ()

    writer.append(writer.stepped("a", "ready"), expected=2, messages=(message,))
    assert store.message(key) == message

    store.settle([key])
    assert store.outbox() == ()


def test_an_approval_is_listed_while_it_waits_and_kept_when_it_is_decided(
    store: RunStore, writer: Writer
) -> None:
    writer.append(
        writer.stepped("page", "ready", input={"body": {"message": "Page?"}}, data={"hash": "h"}),
        writer.stepped("page", "waiting(approval)", due=after(600)),
        expected=1,
    )

    (asked,) = store.approvals()
    assert (asked.run_id, asked.path, asked.state) == ("r1", "page", "waiting")
    assert asked.body == {"input": {"body": {"message": "Page?"}}, "data": {"hash": "h"}}
    assert (asked.asked_at, asked.expires_at) == (NOW, after(600))
    assert store.approvals(run_id="r2") == ()

    writer.append(writer.stepped("page", "succeeded"), expected=2)
    assert store.approvals() == ()
    assert store.get_approval(asked.id) == replace(asked, state="succeeded", decided_at=NOW)


def test_an_approval_that_ends_and_is_asked_again_in_one_batch_waits(
    store: RunStore, writer: Writer
) -> None:
    writer.append(writer.stepped("page", "waiting(approval)", due=after(600)), expected=1)

    writer.append(
        writer.stepped("page", "failed"),
        writer.stepped("page", "waiting(approval)", due=after(900)),
        expected=2,
    )

    (asked,) = store.approvals()
    assert (asked.state, asked.expires_at, asked.decided_at) == ("waiting", after(900), None)


def test_an_unknown_approval_is_not_found(store: RunStore) -> None:
    with pytest.raises(NotFoundError, match="there is no approval apr_0"):
        store.get_approval("apr_0")


def _registered(version: str, **fields: object) -> Registered:
    made = Registered(
        name="p",
        version=version,
        plan=PLAN.digest,
        source_name="p.yaml",
        source="name: p",
        report={"n": BIG},
        registered_at=NOW,
    )
    return replace(made, **fields)


def test_the_latest_version_of_a_workflow_is_the_last_one_registered(store: RunStore) -> None:
    store.put_plan(PLAN, NOW)
    first = store.register(_registered("2"))
    second = store.register(_registered("10", registered_at=NOW + timedelta(seconds=1)))
    again = store.register(_registered("2"))

    assert (first.number, second.number, again.number) == (1, 2, 1)
    assert store.get_workflow("p") == second
    assert store.get_workflow("p", "2") == first
    assert store.list_workflows() == (second,)
    assert store.list_versions("p") == (second, first)


def test_a_version_with_another_plan_is_refused(store: RunStore) -> None:
    store.put_plan(PLAN, NOW)
    store.register(_registered("1"))

    with pytest.raises(ConflictError, match="version '1' of workflow 'p' exists"):
        store.register(_registered("1", plan="sha256:0"))


def test_a_workflow_needs_its_plan(store: RunStore) -> None:
    with pytest.raises(NotFoundError, match="there is no plan"):
        store.register(_registered("1"))
    assert store.list_workflows() == ()


def test_an_unknown_workflow_or_version_is_not_found(store: RunStore) -> None:
    store.put_plan(PLAN, NOW)
    store.register(_registered("1"))

    with pytest.raises(NotFoundError, match="there is no workflow 'q'"):
        store.get_workflow("q")
    with pytest.raises(NotFoundError, match="there is no version '2' of workflow 'p'"):
        store.get_workflow("p", "2")
    assert store.list_versions("q") == ()


def _claimed(writer: Writer) -> Lease:
    writer.append(
        writer.stepped("a", "running", token=1, worker="w", lease_until=after(30)), expected=1
    )
    return Lease(run_id="r1", path="a", token=1, worker="w", until=after(30))


def _begun(writer: Writer) -> Batch:
    return Batch(run=writer.run, changes=(writer.moved(RunState.RUNNING),))
