"""A plan that was pruned, merged and fused does what the plan as written does.

Whatever happens on the way: processes that die in the middle of a chain, or are so slow that
others do their work too, or tell of a part; runs that are paused.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from dagflow.core.plan import Plan, steps_of
from dagflow.core.run import Run
from dagflow.executor.held import begun
from dagflow.executor.replay import replay
from tests.property.chains import RUN, Shop
from tests.property.driving import compiled
from tests.property.twins import workflow

SEEDS = 1_200 if os.environ.get("DAGFLOW_FULL") == "1" else 36
PARTS = 6


def whole(plan: Plan, n: int) -> Shop:
    """Run a plan without trouble."""
    shop = Shop(plan, n, Random(0))
    shop.calm()
    return shop


def troubled(plan: Plan, n: int, rng: Random) -> Shop:
    """Run a plan with trouble first."""
    shop = Shop(plan, n, rng)
    for _ in range(rng.randrange(60)):
        shop.trouble()
    shop.calm()
    return shop


def seen(run: Run) -> object:
    """Return what anybody can see of how a run ended."""
    error = None if run.error is None else (run.error.error_class, run.error.message)
    return run.state, run.outputs, error


def ends(run: Run) -> dict[str, object]:
    return {path: (it.state, it.output, it.handled) for path, it in run.steps.items()}


@pytest.mark.parametrize("part", range(PARTS))
def test_merged_and_fused_plans_do_what_is_written_whatever_happens(part: int) -> None:
    found = {"merged": 0, "fused": 0}
    for seed in range(part, SEEDS, PARTS):
        rng = Random(seed)
        text = workflow(rng)
        lean = compiled(text)
        if lean is None:
            continue
        full = compiled(text, prune=False)
        assert full is not None
        assert not full.fused
        n = rng.randint(0, 3)

        more, less = whole(full, n), troubled(lean, n, rng)

        assert seen(less.run) == seen(more.run), f"seed {seed}"
        assert less.calls == more.calls, f"seed {seed}"
        expected = ends(more.run)
        assert ends(less.run) == {p: expected[p] for p in ends(less.run)}, f"seed {seed}"
        stored = less.store.load(RUN)
        again = replay(begun(stored.header), stored.changes)
        again.version = stored.version
        assert again == less.run, f"seed {seed}"
        found["fused"] += bool(lean.fused)
        found["merged"] += len(list(steps_of(lean))) < len(list(steps_of(full)))
    assert all(found.values()), found
