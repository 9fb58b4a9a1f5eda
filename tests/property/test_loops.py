"""Loops: the engine and an interpreter written from the language's description agree."""

from __future__ import annotations

import os
from random import Random
from typing import Any

from hypothesis import HealthCheck, assume, event, given, note, reject, settings
from hypothesis import strategies as st

from dagflow.core.run import Run
from dagflow.executor.replay import replay
from tests.property.driving import compiled
from tests.property.loops.drawing import loop_flow
from tests.property.loops.driving import World
from tests.property.loops.happened import AmbiguousError
from tests.property.loops.written import to_yaml

FULL = os.environ.get("DAGFLOW_FULL") == "1"
COUNT = settings(
    max_examples=1500 if FULL else 150,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.data_too_large,
    ],
)
RANDOMS = st.randoms(use_true_random=True)  # False draws slowly, and finds the least that fails
ENDINGS = (*["ok"] * 12, "timeout", "network", "user", "http_5xx", "lost")
UNLUCKY = (*["lost"] * 3, "ok")  # after a loss: the fourth in a row ends a step
MOVES = (*["claim"] * 4, *["report"] * 6, "time out", "release", "again")


def play(world: World, rng: Random, cancel_at: int) -> None:
    """Let things happen in a random order until nothing is left to do."""
    for turn in range(400):
        assert world.differences() == []
        if world.run.outcome:
            return
        if turn == cancel_at:
            world.cancel()
            continue
        able: dict[str, list[Any]] = {
            "claim": world.ready(),
            "report": world.running(),
            "release": world.running(),
            "time out": world.timed(),
            "again": world.void,
        }
        assert able["claim"] or able["report"]
        move = rng.choice([it for it in MOVES if able[it]])
        match move:
            case "claim":
                world.claim(rng.choice(able[move]))
            case "report":
                path = rng.choice(able[move])
                world.report(path, rng.choice(UNLUCKY if path in world.lost else ENDINGS))
            case "release":
                world.release(rng.choice(able[move]))
            case "time out":
                world.time_out()
            case _:
                world.report_again(rng.choice(able[move]))
    raise AssertionError("no end")


@COUNT
@given(rng=RANDOMS)
def test_engine_and_reference_agree_on_loops_at_every_point(rng: Random) -> None:
    flow = loop_flow(rng)
    note(to_yaml(flow))
    plan = compiled(to_yaml(flow), prune=False)
    assume(plan is not None)
    assert plan is not None

    try:
        world = World(plan, flow)
        play(world, rng, cancel_at=rng.choice([*[-1] * 10, 1, 4, 7]))
    except AmbiguousError:
        reject()
    undone = world.finish()

    state, error = world.story.outcome()
    event(state)
    assert world.run.state.value == state
    assert (world.run.error.error_class if world.run.error else "") == error
    assert world.run.outputs == (world.story.outputs() if state == "succeeded" else None)
    places = world.story.undone() if state != "succeeded" else {}
    assert sorted(undone) == sorted(places)
    assert undone == sorted(undone, key=places.__getitem__, reverse=True)
    start = Run(id="run_1", root="run_1", plan=plan.digest, inputs=world.run.inputs)
    assert replay(start, world.changes) == world.run
