"""What the engine and its worker promise, over every store."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import cast

import pytest

from dagflow.core.clock import FakeClock
from dagflow.core.errors import ConflictError, NotFoundError, StepError, UnavailableError
from dagflow.core.plan import BudgetLimits, Evaluated, Expression, Plan, RetryPolicy
from dagflow.core.references import reference
from dagflow.core.run import Cancel, Claim, Decide, LoseLease, Pause, Resume, RunState, Succeed
from dagflow.core.values import JsonValue
from dagflow.executor.engine import Claimant
from dagflow.executor.leases import LeaseTimes
from dagflow.executor.live.base import Emitted, Recorded
from dagflow.executor.recovery import recover
from dagflow.executor.steps.base import Attempt, StepContext
from dagflow.store.base import RunStore
from dagflow.store.rows import Batch, IdempotencyKey
from tests.contract.engines import Bench, Gate, eventually
from tests.contract.plans import approve, child, foreach, plan, step, wait

CHAIN = plan(step("a"), step("b", "a"), step("c", "b"))
FAN = plan(
    step("a"),
    *(step(f"s{n}", "a") for n in range(50)),
    step("j", " ".join(f"s{n}" for n in range(50))),
)


async def named(attempt: Attempt, context: StepContext) -> JsonValue:
    return attempt.path


def secret(*names: str) -> Evaluated:
    """Return a template that reads these secrets."""
    return Evaluated(Expression("null", {}, tuple(("secrets", name) for name in names)))


def naming_a_secret(*names: str) -> Plan:
    """Return a plan of steps that are given TOKEN."""
    steps = (step(name, arguments=secret("TOKEN")) for name in names)
    return plan(*steps, secrets=("TOKEN",))


def states(bench: Bench, run_id: str = "r1") -> dict[str, str]:
    return {row.path: row.state for row in bench.store.steps(run_id)}


async def test_a_chain_runs_to_its_end(store: RunStore) -> None:
    bench = Bench(store)
    async with bench.worker(named):
        run = await bench.finish(bench.start(CHAIN))

    assert run.state is RunState.SUCCEEDED
    assert states(bench) == {"a": "succeeded", "b": "succeeded", "c": "succeeded"}
    assert [record.output for record in run.steps.values()] == ["a", "b", "c"]
    assert store.outbox() == ()
    assert store.leases() == ()


async def test_each_step_of_a_chain_is_one_transaction(store: RunStore) -> None:
    bench = Bench(store)
    async with bench.worker(named):
        run = await bench.finish(bench.start(CHAIN))

    # begin; claim the first; report each (and claim its successor)
    assert store.get_run("r1").version == 2 + 3
    assert run.version == 2 + 3


async def test_what_is_stored_is_what_is_held(store: RunStore) -> None:
    bench = Bench(store)
    async with bench.worker(named):
        run = await bench.finish(bench.start(FAN))

    assert Bench(store).engine.run("r1") == run


async def test_no_more_attempts_run_at_once_than_allowed(store: RunStore) -> None:
    bench = Bench(store)
    gate = Gate()
    async with bench.worker(gate, concurrency=4):
        bench.start(plan(*(step(f"s{n}") for n in range(10))))
        await eventually(lambda: len(gate.entered) == 4)
        await asyncio.sleep(0)
        assert len(gate.entered) == 4
        assert len(store.leases()) == 4
        gate.open()
        await bench.finish()

    assert len({attempt.path for attempt in gate.entered}) == len(gate.entered) == 10


async def test_urgent_steps_are_claimed_first(store: RunStore) -> None:
    bench = Bench(store)
    order = []

    async def note(attempt: Attempt, context: StepContext) -> JsonValue:
        order.append(attempt.path)
        return None

    steps = (step("low", priority=1), step("high", priority=9), step("mid", priority=5))
    async with bench.worker(note, concurrency=1):
        await bench.finish(bench.start(plan(*steps)))

    assert order == ["high", "mid", "low"]


async def test_a_failure_carries_its_class_and_is_retried(store: RunStore) -> None:
    bench = Bench(store)
    tries = []

    async def flaky(attempt: Attempt, context: StepContext) -> JsonValue:
        tries.append(attempt.attempt)
        if attempt.attempt < 3:
            raise StepError("http_5xx", "try later", remedy="wait")
        return "done"

    retry = RetryPolicy(attempts=3, backoff=0.01, jitter=0)
    async with bench.worker(flaky):
        run = await bench.finish(bench.start(plan(step("a", retry=retry))))

    assert tries == [1, 2, 3]
    assert run.steps["a"].output == "done"


@pytest.mark.parametrize(
    ("error", "error_class", "message"),
    [
        (StepError("oom", "too much", remedy="use less"), "oom", "too much (use less)"),
        (ValueError("what"), "internal", "ValueError: what"),
        (TimeoutError("its own"), "internal", "TimeoutError: its own"),
    ],
)
async def test_nothing_that_goes_wrong_is_lost(
    store: RunStore, error: Exception, error_class: str, message: str
) -> None:
    bench = Bench(store)

    async def broken(attempt: Attempt, context: StepContext) -> JsonValue:
        raise error

    async with bench.worker(broken):
        run = await bench.finish(bench.start(plan(step("a"))))

    failure = run.steps["a"].error
    assert failure is not None
    assert (failure.error_class, failure.message) == (error_class, message)
    assert run.state is RunState.FAILED


@pytest.mark.parametrize("output", [float("nan"), 2**63, "\0", {"k": object()}])
async def test_an_output_that_can_not_be_carried_fails_the_step(
    store: RunStore, output: JsonValue
) -> None:
    bench = Bench(store)

    async def odd(attempt: Attempt, context: StepContext) -> JsonValue:
        return output

    async with bench.worker(odd):
        run = await bench.finish(bench.start(plan(step("a"))))

    assert run.steps["a"].error is not None
    assert run.steps["a"].error.error_class == "schema"


async def test_an_attempt_that_takes_too_long_is_stopped(store: RunStore) -> None:
    bench = Bench(store)
    gate = Gate()
    async with bench.worker(gate):
        run = await bench.finish(bench.start(plan(step("a", timeout=0.01))))

    assert run.steps["a"].state == "timed_out"
    assert run.steps["a"].error is not None
    assert run.steps["a"].error.message == "the attempt took longer than 0.01s"
    assert [attempt.path for attempt in gate.stopped] == ["a"]


async def test_an_attempt_does_not_run_out_of_time_in_a_pause(store: RunStore) -> None:
    clock = FakeClock()
    bench, gate = Bench(store, clock), Gate()
    async with bench.worker(gate):
        bench.start(plan(step("a", timeout=0.01)))
        await eventually(lambda: gate.entered)
        bench.engine.handle("r1", Pause())
        clock.advance(timedelta(seconds=1))
        await asyncio.sleep(0.05)
        assert (states(bench), gate.stopped) == ({"a": "running"}, [])
        bench.engine.handle("r1", Resume())
        gate.open()
        run = await bench.finish()

    assert run.steps["a"].state == "succeeded"


async def test_cancelling_stops_what_runs(store: RunStore) -> None:
    bench = Bench(store)
    gate = Gate()
    async with bench.worker(gate) as worker:
        bench.start(plan(step("a"), step("b", "a")))
        await eventually(lambda: gate.entered)
        bench.engine.handle("r1", Cancel(by="me"))
        run = await bench.finish()
        await eventually(lambda: worker.load == 0)

    assert run.state is RunState.CANCELLED
    assert len(gate.stopped) == len(gate.entered) == 1


async def test_a_timer_goes_off(store: RunStore) -> None:
    bench = Bench(store)
    async with bench.worker(named):
        run = await bench.finish(bench.start(plan(wait("w", "", 0.02), step("a", "w"))))

    assert run.steps["a"].state == "succeeded"
    assert store.next_wake() is None


async def test_a_timer_that_is_no_longer_needed_does_not_hide_a_later_one(
    store: RunStore,
) -> None:
    bench = Bench(store)
    steps = (step("a", timeout=0.05), wait("w", "a", 0.15), step("z", "w"))
    async with bench.worker(named):
        run = await bench.finish(bench.start(plan(*steps)))

    assert run.steps["z"].state == "succeeded"


async def test_a_decision_by_another_process_is_noticed(store: RunStore) -> None:
    bench = Bench(store)
    async with bench.worker(named) as worker:
        bench.start(plan(approve("ok", ""), step("a", "ok")))
        (asked,) = store.approvals()
        elsewhere = Bench(store)
        answer = Decide(path="ok", approve=True, by="me", arguments=str(asked.body["data"]["hash"]))
        assert elsewhere.engine.handle("r1", answer).refused == ()
        worker.look()
        run = await bench.finish()

    assert run.state is RunState.SUCCEEDED
    assert run.steps["ok"].output["by"] == "me"


async def test_a_cancel_by_another_process_stops_what_runs_here(store: RunStore) -> None:
    bench = Bench(store)
    gate = Gate()
    never = LeaseTimes(beat=timedelta(hours=1))
    async with bench.worker(gate, leases=never) as worker:
        bench.start(plan(step("a")))
        await eventually(lambda: gate.entered)
        Bench(store).engine.handle("r1", Cancel(by="me"))
        worker.look()
        run = await bench.finish()
        await eventually(lambda: worker.load == 0)

    assert run.state is RunState.CANCELLED
    assert len(gate.stopped) == 1


async def test_a_child_runs_once_and_its_outputs_come_back(store: RunStore) -> None:
    inner = plan(step("x"), name="inner")
    bench = Bench(store)
    async with bench.worker(named):
        run = await bench.finish(bench.start(plan(child("call", "", inner), step("b", "call"))))

    (row,) = store.children("r1")
    assert (row.state, row.parent_path, row.root) == ("succeeded", "call", "r1")
    assert run.steps["call"].state == "succeeded"
    assert store.outbox() == ()


async def test_a_failed_child_fails_its_step_with_its_class(store: RunStore) -> None:
    async def broken(attempt: Attempt, context: StepContext) -> JsonValue:
        raise StepError("oom", "too much")

    bench = Bench(store)
    async with bench.worker(broken):
        run = await bench.finish(
            bench.start(plan(child("call", "", plan(step("x"), name="inner"))))
        )

    assert run.steps["call"].error is not None
    assert run.steps["call"].error.error_class == "oom"


async def test_a_pause_reaches_children_and_theirs_until_it_ends(store: RunStore) -> None:
    bench, gate = Bench(store), Gate()
    inner = plan(step("x"), step("y", "x"), name="inner")
    middle = plan(child("call", "", inner), name="middle")
    async with bench.worker(gate) as worker:
        bench.start(plan(child("call", "", middle)))
        await eventually(lambda: gate.entered)
        bench.engine.handle("r1", Pause())
        (below,) = store.children("r1")
        (deep,) = store.children(below.id)
        gate.open()
        await eventually(lambda: worker.load == 0)
        assert [store.get_run(run).state for run in ("r1", below.id, deep.id)] == ["paused"] * 3
        assert states(bench, deep.id) == {"x": "succeeded", "y": "ready"}
        bench.engine.handle("r1", Resume())
        run = await bench.finish()

    assert run.state is RunState.SUCCEEDED
    assert store.outbox() == ()


async def test_a_child_that_comes_late_to_a_pause_stands_still(store: RunStore) -> None:
    def too_early(point: str) -> None:
        if point == "before-child":
            raise UnavailableError("not yet")

    Bench(store, reach=too_early).start(plan(child("call", "", plan(step("x"), name="inner"))))
    Bench(store).engine.handle("r1", Pause())
    recover(Bench(store).engine)

    (row,) = store.children("r1")
    assert row.state == "paused"


async def test_a_budget_goes_down_to_child_runs_and_their_use_comes_up(store: RunStore) -> None:
    bench = Bench(store)
    inner = plan(foreach("l", "", [1, 2], step("l.x")), name="inner")
    calls = plan(child("a", "", inner), child("b", "a", inner), budget=BudgetLimits(items=3))
    async with bench.worker(named):
        run = await bench.finish(bench.start(calls))

    assert states(bench) == {"a": "succeeded", "b": "failed"}
    assert run.steps["b"].error is not None
    assert run.steps["b"].error.error_class == "budget"
    assert run.used == {"items": 2}


async def test_cancelling_a_parent_cancels_its_child(store: RunStore) -> None:
    bench = Bench(store)
    gate = Gate()
    async with bench.worker(gate):
        bench.start(plan(child("call", "", plan(step("x"), name="inner"))))
        await eventually(lambda: gate.entered)
        bench.engine.handle("r1", Cancel(by="me"))
        await bench.finish()
        (row,) = store.children("r1")
        await bench.finish(row.id)
        await eventually(lambda: gate.stopped)

    assert store.get_run(row.id).state == "cancelled"
    assert store.outbox() == ()


async def test_the_items_of_a_foreach_run_in_their_order_of_output(store: RunStore) -> None:
    bench = Bench(store)
    loop = foreach("loop", "", [1, 2, 3], step("loop.x"))
    async with bench.worker(named):
        run = await bench.finish(bench.start(plan(loop)))

    assert run.steps["loop"].output == ["loop[0].x", "loop[1].x", "loop[2].x"]


async def test_changes_and_tokens_are_seen_live_in_order(store: RunStore) -> None:
    bench = Bench(store)

    async def talking(attempt: Attempt, context: StepContext) -> JsonValue:
        context.emit("token", {"text": "hi"})
        return None

    watcher = bench.engine.live.subscribe("r1")
    async with bench.worker(talking):
        await bench.finish(bench.start(plan(step("a"))))
    watcher.close()
    events = [event async for event in watcher]

    seqs = [event.seq for event in events if isinstance(event, Recorded)]
    assert seqs == list(range(1, store.get_run("r1").seq + 1))
    assert [(e.path, e.data) for e in events if isinstance(e, Emitted)] == [("a", {"text": "hi"})]


async def test_secrets_are_resolved_for_the_work_and_masked_in_what_is_recorded(
    store: RunStore,
) -> None:
    bench = Bench(store)

    async def leaky(attempt: Attempt, context: StepContext) -> JsonValue:
        said = context.resolve_secrets(f"key {reference('TOKEN')}")
        context.emit("log", {"text": said})
        if attempt.path == "b":
            raise StepError("user", f"refused: {said}")
        return {"said": said}

    watcher = bench.engine.live.subscribe("r1")
    async with bench.worker(leaky, secrets={"TOKEN": "s3cr3t!"}.get):
        run = await bench.finish(bench.start(naming_a_secret("a", "b")))
    watcher.close()

    assert run.steps["a"].output == {"said": "key ***"}
    assert run.steps["b"].error is not None
    assert run.steps["b"].error.message == "refused: key ***"
    assert not [event async for event in watcher if "s3cr3t" in repr(event)]
    assert not [event for event in store.events("r1") if "s3cr3t" in repr(event)]


async def test_a_missing_secret_fails_the_step_and_says_which(store: RunStore) -> None:
    bench = Bench(store)

    async def needy(attempt: Attempt, context: StepContext) -> JsonValue:
        return context.secret("TOKEN")

    async with bench.worker(needy):
        run = await bench.finish(bench.start(naming_a_secret("a")))

    assert run.steps["a"].error is not None
    assert "'TOKEN' is not set" in run.steps["a"].error.message


@pytest.mark.parametrize("named", [(), ("OTHER",)])
async def test_a_step_gets_no_secret_that_its_own_templates_do_not_name(
    store: RunStore, named: tuple[str, ...]
) -> None:
    bench = Bench(store)

    async def curious(attempt: Attempt, context: StepContext) -> JsonValue:
        return context.resolve_secrets(reference("TOKEN"))

    async with bench.worker(curious, secrets={"TOKEN": "s3cr3t!"}.get):
        run = await bench.finish(
            bench.start(plan(step("a", arguments=secret(*named)), secrets=("TOKEN", "OTHER")))
        )

    assert run.steps["a"].error is not None
    assert run.steps["a"].error.message == "step a names no secret 'TOKEN'"


def test_the_same_key_starts_one_run(store: RunStore) -> None:
    bench = Bench(store)
    key = IdempotencyKey(scope="", key="k", fingerprint="f")

    assert bench.start(CHAIN, "r1", key=key) == "r1"
    assert bench.start(CHAIN, "r2", key=key) == "r1"
    assert store.unfinished() == ("r1",)
    with pytest.raises(NotFoundError):
        bench.engine.run("r2")
    with pytest.raises(ConflictError):
        bench.start(CHAIN, "r3", key=IdempotencyKey(scope="", key="k", fingerprint="g"))


def test_a_step_is_claimed_once_by_two_engines(store: RunStore) -> None:
    one, two = Bench(store), Bench(store)
    one.start(CHAIN)
    two.engine.run("r1")
    until = one.clock.now() + timedelta(seconds=30)

    first = one.engine.claim("r1", ["a"], Claimant("w1", until, 1))
    second = two.engine.claim("r1", ["a"], Claimant("w2", until, 1))

    assert [attempt.token for attempt in first.attempts] == [1]
    assert second.attempts == ()
    assert len(second.refused) == 1
    assert [lease.worker for lease in store.leases()] == ["w1"]


def test_a_report_under_an_old_token_changes_nothing(store: RunStore) -> None:
    bench = Bench(store)
    bench.start(CHAIN)
    until = bench.clock.now() + timedelta(seconds=30)
    bench.engine.claim("r1", ["a"], Claimant("w1", until, 1))
    bench.engine.handle("r1", LoseLease(path="a", token=1))
    again = bench.engine.handle("r1", Claim(path="a", worker="w2", until=until))
    version = store.get_run("r1").version

    late = bench.engine.handle("r1", Succeed(path="a", token=1, output="late"))

    assert [attempt.token for attempt in again.attempts] == [2]
    assert len(late.refused) == 1
    assert store.get_run("r1").version == version


class Failing:
    """A store whose next append fails."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self.fails = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def append(self, batch: Batch, *, expected_version: int) -> int:
        """Fail, or append."""
        if self.fails:
            self.fails -= 1
            raise UnavailableError("the disk is full")
        return self._store.append(batch, expected_version=expected_version)


def test_what_could_not_be_stored_has_not_happened(store: RunStore) -> None:
    failing = Failing(store)
    bench = Bench(failing)
    bench.start(CHAIN)
    failing.fails = 1

    with pytest.raises(UnavailableError):
        bench.engine.handle("r1", Cancel(by="me"))

    assert bench.engine.run("r1").state is RunState.RUNNING
    assert bench.engine.run("r1") == Bench(store).engine.run("r1")


async def test_a_report_is_kept_until_the_database_is_back(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dagflow.executor.worker.PATIENCE", 0.01)
    failing = Failing(store)
    bench = Bench(failing)

    async def work(attempt: Attempt, context: StepContext) -> JsonValue:
        failing.fails = 2
        return "kept"

    async with bench.worker(work):
        run = await bench.finish(bench.start(plan(step("a"))))

    assert run.steps["a"].output == "kept"
    assert run.steps["a"].attempt == 1


async def test_a_heartbeat_extends_leases_and_stops_what_is_no_longer_ours(
    store: RunStore,
) -> None:
    clock = FakeClock()
    bench = Bench(store, clock)
    gate = Gate()
    async with bench.worker(gate) as worker:
        bench.start(plan(step("a")))
        await eventually(lambda: gate.entered)
        clock.advance(timedelta(seconds=10))
        worker.beat()
        (lease,) = store.leases()
        assert lease.until == clock.now() + timedelta(seconds=30)

        Bench(store, clock).engine.handle("r1", LoseLease(path="a", token=1))
        worker.beat()
        await eventually(lambda: worker.load == 0 or len(gate.entered) > 1)

        assert [attempt.token for attempt in gate.stopped] == [1]


async def test_a_worker_cut_off_from_the_database_stops_before_its_leases_end(
    store: RunStore,
) -> None:
    clock = FakeClock()
    bench = Bench(store, clock)
    gate = Gate()
    leases = LeaseTimes()
    async with bench.worker(gate, leases=leases) as worker:
        bench.start(plan(step("a")))
        await eventually(lambda: gate.entered)
        bench.engine.store = cast("RunStore", Broken())
        clock.advance(leases.length - leases.margin)
        with pytest.raises(UnavailableError):
            worker.beat()
        assert worker.load == 1

        clock.advance(timedelta(seconds=1))
        with pytest.raises(UnavailableError):
            worker.beat()
        await eventually(lambda: gate.stopped)
        bench.engine.store = store


class Broken:
    """A store that can't be reached."""

    def __getattr__(self, name: str) -> object:
        def method(*_: object, **__: object) -> object:
            raise UnavailableError("out of reach")

        return method


async def test_closing_a_worker_gives_its_leases_back_uncounted(store: RunStore) -> None:
    bench = Bench(store)
    gate = Gate()
    async with bench.worker(gate):
        bench.start(plan(step("a"), step("pay", effects="once")))
        await eventually(lambda: len(gate.entered) == 2)

    assert states(bench)["a"] == "ready"
    assert states(bench)["pay"] == "waiting(unknown_outcome)"
    assert store.leases() == ()

    async with bench.worker(named):
        bench.engine.resume("r1")
        await eventually(lambda: states(bench)["a"] == "succeeded")
    assert bench.engine.run("r1").steps["a"].attempt == 1


async def test_an_answer_that_the_end_of_a_worker_cut_off_counts_in_full(store: RunStore) -> None:
    bench = Bench(store)
    gate = Gate()
    async with bench.worker(gate):
        bench.start(plan(step("a", kind="llm", body={"max_tokens": 60})))
        await eventually(lambda: gate.entered)

    run = bench.engine.run("r1")
    assert (run.steps["a"].state, run.steps["a"].attempt, run.used) == ("ready", 0, {"tokens": 60})


def test_recovery_takes_back_what_a_gone_worker_held(store: RunStore) -> None:
    bench = Bench(store)
    bench.start(CHAIN)
    until = bench.clock.now() + timedelta(hours=1)
    gone = f"{__import__('socket').gethostname()}/999999999/1/1"
    bench.engine.claim("r1", ["a"], Claimant(gone, until, 1))

    found = recover(Bench(store).engine)

    assert found.runs == ("r1",)
    assert found.lost == (("r1", "a"),)
    assert states(bench)["a"] == "ready"


class Dying(BaseException):
    """Stands for the end of the process."""


async def test_recovery_tells_a_parent_of_a_child_that_ended_unheard(store: RunStore) -> None:
    def die(point: str) -> None:
        if point == "before-child-ended":
            raise Dying

    first = Bench(store, reach=die)
    first.start(plan(child("call", "", plan(step("x"), name="inner")), step("b", "call")))
    (row,) = store.children("r1")
    until = first.clock.now() + timedelta(seconds=30)
    (attempt,) = first.engine.claim(row.id, ["x"], Claimant("w", until, 1)).attempts
    with pytest.raises(Dying):
        first.engine.handle(row.id, Succeed(path="x", token=attempt.token, output=1))
    assert states(first)["call"] == "waiting(child)"

    bench = Bench(store)
    async with bench.worker(named):
        recover(bench.engine, "r1")
        assert states(bench)["call"] == "succeeded"
        await bench.finish("r1")


def test_recovery_leaves_what_others_hold(store: RunStore) -> None:
    clock = FakeClock()
    bench = Bench(store, clock)
    bench.start(CHAIN)
    until = clock.now() + timedelta(seconds=30)
    bench.engine.claim("r1", ["a"], Claimant("elsewhere/1/1/1", until, 1))

    assert recover(bench.engine).lost == ()
    clock.advance(timedelta(seconds=30))
    assert recover(bench.engine).lost == (("r1", "a"),)


async def test_recovery_rings_for_ready_steps_and_sets_timers(store: RunStore) -> None:
    Bench(store).start(plan(step("a"), wait("w", "", 0.01)))

    bench = Bench(store)
    async with bench.worker(named):
        recover(bench.engine, "r1")
        run = await bench.finish()

    assert run.state is RunState.SUCCEEDED


async def test_a_worker_for_everything_takes_up_what_gone_processes_left(store: RunStore) -> None:
    clock = FakeClock()
    left = Bench(store, clock)
    left.start(plan(step("a"), step("b")))
    left.start(plan(wait("w", "", 1)), "r2")
    left.engine.claim("r1", ["a"], Claimant("elsewhere/1/1/1", clock.now() + timedelta(30), 1))
    clock.advance(timedelta(days=31))

    bench = Bench(store, clock)
    async with bench.worker(named, everything=True) as worker:
        worker.sweep()
        runs = [await bench.finish("r1"), await bench.finish("r2")]

    assert [run.state for run in runs] == [RunState.SUCCEEDED] * 2


async def test_a_worker_leaves_alone_what_its_engine_has_not_taken_up(store: RunStore) -> None:
    clock = FakeClock()
    left = Bench(store, clock)
    left.start(plan(step("a")))
    left.engine.claim("r1", ["a"], Claimant("elsewhere/1/1/1", clock.now(), 1))
    clock.advance(timedelta(days=31))

    bench = Bench(store, clock)
    async with bench.worker(named) as worker:
        worker.sweep()

    assert states(bench) == {"a": "running"}


def test_recovering_an_unknown_run_is_not_found(store: RunStore) -> None:
    with pytest.raises(NotFoundError, match="there is no run r9"):
        recover(Bench(store).engine, "r9")
