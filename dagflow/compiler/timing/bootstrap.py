"""How far the windows that were recorded may mislead about those to come."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

DRAWS: Final = 1000
"""How often the windows are drawn anew."""


def window_interval(
    hits: NDArray[np.intp], runs: NDArray[np.intp], alpha: float, random: np.random.Generator
) -> tuple[float, float]:
    """Return bounds of the share of hits over all windows that might have been recorded.

    The windows are drawn anew with replacement, each with all its runs (the cluster bootstrap),
    together with one more that nobody has seen yet: for the lower bound all its runs miss, for
    the upper bound all hit. That one keeps few windows from proving what they can't: even where
    all runs hit, a share of .95 takes 59 of them at `alpha` = .05, as many as .95^59 < .05 asks.
    """
    seen = runs > 0
    hits, runs = hits[seen], runs[seen]
    if not len(runs):
        return 0.0, 1.0
    size = runs.mean()
    count = len(runs) + 1
    weights = random.multinomial(count, np.full(count, 1 / count), DRAWS)
    trials = weights @ np.append(runs, size)
    low = np.quantile((weights @ np.append(hits, 0.0)) / trials, alpha)
    high = np.quantile((weights @ np.append(hits, size)) / trials, 1 - alpha)
    return float(low), float(high)
