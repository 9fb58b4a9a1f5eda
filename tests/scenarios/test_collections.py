"""Scenarios 8 to 11: what a foreach gives, whatever happens inside it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from dagflow.core.run import RunState
from dagflow.core.values import JsonValue
from dagflow.executor.steps.base import Attempt, StepContext
from tests.scenarios.flows import Script, compiled, failing, ran

LOOP = """\
dagflow: 1
name: loop
inputs: {xs: {type: array, maxItems: 60000, items: {type: integer}}}
steps:
  each:
    foreach:
      items: inputs.xs
      as: x
      concurrency: MANY
      max_items: 60000
      steps:
        one: {python: 'def main(x): return x', with: {x: "${{ x }}"}, output: integer}
    retry: {attempts: ATTEMPTS, backoff: 1ms, on: [user]}
  after: {transform: size(steps.each.output)}
outputs: {list: "${{ steps.each.output }}", size: "${{ steps.after.output }}"}
"""


def loop(many: int = 4, attempts: int = 1) -> Any:
    return compiled(LOOP.replace("MANY", str(many)).replace("ATTEMPTS", str(attempts)))


async def the_item(attempt: Attempt, context: StepContext) -> JsonValue:
    arguments: Any = attempt.arguments
    found: JsonValue = arguments["x"]
    return found


@pytest.mark.parametrize("attempts", [1, 3])
def test_08_yaml_a_foreach_over_nothing_gives_an_empty_list(attempts: int) -> None:
    run = ran(loop(attempts=attempts), {"xs": []})

    assert run.state is RunState.SUCCEEDED
    assert run.outputs == {"list": [], "size": 0}


@pytest.mark.parametrize("many", [1, 4, 50])
def test_09_yaml_delays_do_not_change_the_list(many: int) -> None:
    async def slow(attempt: Attempt, context: StepContext) -> JsonValue:
        item = await the_item(attempt, context)
        assert isinstance(item, int)
        await asyncio.sleep(0.001 * (item * 7 % 11))
        return item

    run = ran(loop(many), {"xs": list(range(40))}, script=Script({"one": slow}), concurrency=50)

    assert run.outputs == {"list": list(range(40)), "size": 40}


def timed(count: int) -> float:
    script = Script({"one": the_item})
    start = time.perf_counter()
    run = ran(loop(many=64), {"xs": list(range(count))}, script=script, concurrency=64, limit=600)
    took = time.perf_counter() - start

    assert run.outputs == {"list": list(range(count)), "size": count}
    assert sorted(script.done) == sorted(f"each[{i}].one" for i in range(count))
    return took


def test_10_yaml_every_item_runs_and_time_grows_with_their_number() -> None:
    few, many = timed(500), timed(5_000)

    assert many < 10 * few * 3  # ten times the items; what grows as their square would be 100


@pytest.mark.slow
def test_10_yaml_50_000_items() -> None:
    few, many = timed(5_000), timed(50_000)

    assert many < 10 * few * 2


@pytest.mark.parametrize("attempts", [1, 2])
def test_11_yaml_an_output_is_the_same_with_and_without_a_retry_around_it(attempts: int) -> None:
    failed: list[str] = []

    async def once_bad(attempt: Attempt, context: StepContext) -> JsonValue:
        if attempts == 2 and attempt.path == "each[1].one" and not failed:
            failed.append(attempt.path)
            raise failing()
        return await the_item(attempt, context)

    run = ran(loop(attempts=attempts), {"xs": [10, 20, 30]}, script=Script({"one": once_bad}))

    assert run.state is RunState.SUCCEEDED
    assert run.outputs == {"list": [10, 20, 30], "size": 3}
    assert len(failed) == attempts - 1


def test_11_yaml_a_retry_of_a_loop_runs_failed_items_again_only() -> None:
    failed: list[str] = []
    script = Script()

    async def once_bad(attempt: Attempt, context: StepContext) -> JsonValue:
        if attempt.path == "each[2].one" and not failed:
            failed.append(attempt.path)
            raise failing()
        return await the_item(attempt, context)

    script.entries = {"one": once_bad}
    run = ran(loop(many=1, attempts=2), {"xs": [1, 2, 3]}, script=script)

    assert run.outputs == {"list": [1, 2, 3], "size": 3}
    assert script.done == ["each[0].one", "each[1].one", "each[2].one", "each[2].one"]
