"""Intervals and tests at any time, against tables and by how often they err."""

from __future__ import annotations

import numpy as np
import pytest

from dagflow.compiler.timing.bootstrap import window_interval
from dagflow.compiler.timing.confidence import exceeds, falls_short, interval


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (7, 10, 0.3475, 0.9333), (59, 59, 0.9394, 1.0),
     (950, 1000, 0.93459, 0.96268)],
)  # fmt: skip
def test_intervals_are_those_of_clopper_and_pearson(
    hits: int, trials: int, low: float, high: float
) -> None:
    """The values are those of R's binom.test at 95 %."""
    assert interval(hits, trials, 0.025) == pytest.approx((low, high), abs=6e-5)


def test_looking_again_and_again_rarely_finds_what_is_not_there() -> None:
    random = np.random.default_rng(1)
    wrong = 0
    for _ in range(400):
        hits = np.cumsum(random.random(512) < 0.95)
        wrong += any(
            exceeds(int(hits[n - 1]), n, 0.95, 0.02) or falls_short(int(hits[n - 1]), n, 0.95, 0.02)
            for n in range(32, 513, 32)
        )
    assert wrong / 400 <= 0.04


@pytest.mark.parametrize(("share", "trials"), [(0.5, 20), (0.8, 100), (0.999, 400)])
def test_what_is_clear_is_found_soon(share: float, trials: int) -> None:
    hits = round(share * trials)
    assert exceeds(hits, trials, 0.95, 1e-3) == (share > 0.95)
    assert falls_short(hits, trials, 0.95, 1e-3) == (share < 0.95)


def test_59_windows_are_the_fewest_that_show_19_of_20() -> None:
    random = np.random.default_rng(1)
    few, enough = (
        window_interval(np.full(n, 20), np.full(n, 20), 0.05, random)[0] for n in (40, 90)
    )
    assert few < 0.95 < enough
