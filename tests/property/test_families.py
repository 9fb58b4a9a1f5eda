"""Whatever processes do to a family of runs at once, and wherever they die, it comes to its end."""

from __future__ import annotations

import os

import pytest

from dagflow.core.run import RunState
from tests.property.households import Household

SEEDS = 2_000 if os.environ.get("DAGFLOW_FULL") == "1" else 60
PARTS = 10


@pytest.mark.parametrize("part", range(PARTS))
def test_a_family_of_runs_comes_to_one_end_through_deaths_and_orders_at_once(part: int) -> None:
    for seed in range(part, SEEDS, PARTS):
        house = Household(seed)
        for _ in range(house.random.randrange(80)):
            house.step()

        calm = house.calm()
        for parent, child in house.pairs(calm):
            finishing = child.state.is_final or child.state is RunState.FINISHING
            assert finishing or child.paused == parent.paused, f"seed {seed}: {parent.id}"

        house.end(calm)
        root = house.store.get_run("r1")
        assert house.store.outbox() == (), f"seed {seed}"
        assert house.store.leases() == (), f"seed {seed}"
        assert root.state in {"succeeded", "failed", "cancelled"}, f"seed {seed}"
        assert set(house.results(calm)) <= {"succeeded"}, f"seed {seed}"
        assert calm.engine.run("r1").used.get("tool_calls", 0) == house.calls(), f"seed {seed}"
