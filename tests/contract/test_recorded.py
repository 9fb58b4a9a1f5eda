"""What runs used, as the stores recorded it, over each store."""

from __future__ import annotations

from dagflow.core.errors import StepError
from dagflow.core.plan import RetryPolicy
from dagflow.core.site import Used
from dagflow.core.values import JsonValue
from dagflow.executor.steps.base import Attempt, StepContext
from dagflow.service.site.recorded import recorded
from dagflow.store.base import RunStore
from tests.contract.engines import Bench
from tests.contract.plans import child, foreach, plan, step


async def asks(attempt: Attempt, context: StepContext) -> JsonValue:
    """Answer with as many tokens as the attempt has a number; the first of a tool fails."""
    if attempt.kind == "llm":
        context.use(tokens=10, prompt_tokens=4)
    if attempt.kind == "tool" and attempt.attempt == 1:
        raise StepError("network", "gone")
    return 1


async def test_what_steps_used_is_told_by_step_with_all_attempts_and_turns(
    store: RunStore,
) -> None:
    again = RetryPolicy(attempts=2, backoff=0.001, jitter=0.0)
    inner = plan(step("ask", kind="llm"), name="inner")
    whole = plan(
        step("fetch", kind="tool", retry=again),
        foreach("each", "fetch", [1, 2, 3], step("each.ask", kind="llm")),
        child("call", "each", inner),
        step("last", "call", kind="llm"),
        name="outer",
    )
    bench = Bench(store)
    async with bench.worker(asks):
        for run_id in ("r1", "r2"):
            bench.start(whole, run_id)
            await bench.finish(run_id)

    windows = recorded(store)

    used: dict[str, Used] = {}
    for _, window in windows:
        for key, each in window.used.items():
            before = used.get(key, Used())
            used[key] = Used(
                **{name: getattr(before, name) + getattr(each, name) for name in Used.__slots__}
            )
    assert used == {
        "outer.fetch": Used(runs=2, ran=2, calls=4),
        "outer.each": Used(runs=2, ran=2, items=6),
        "outer.each.ask": Used(runs=2, ran=6, tokens=60, prompt_tokens=24),
        "outer.call": Used(runs=2, ran=2, calls=2),
        "outer.last": Used(runs=2, ran=2, tokens=20, prompt_tokens=8),
        "inner.ask": Used(runs=2, ran=2, tokens=20, prompt_tokens=8),
    }


async def test_a_run_that_is_not_over_tells_nothing_of_use(store: RunStore) -> None:
    Bench(store).start(plan(step("ask", kind="llm"), name="w"))

    assert not any(window.used for _, window in recorded(store))
