"""What can be said of a probability after some trials: exact intervals, and tests at any time."""

from __future__ import annotations

from math import exp, inf, lgamma, log, log1p

_STEPS = 60
"""Halvings that bring an interval below what a double can tell."""

_GRID = tuple((index + 0.5) / 400 for index in range(400))


def interval(hits: int, trials: int, alpha: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson: each end errs with probability `alpha` at most.

    `trials` hits out of so many gave `hits`; without trials the interval is [0, 1].
    """
    low = 0.0 if hits == 0 else _quantile(alpha, hits, trials - hits + 1)
    high = 1.0 if hits == trials else _quantile(1 - alpha, hits + 1, trials - hits)
    return low, high


def _quantile(level: float, a: float, b: float) -> float:
    """Return where a beta distribution has that much below it, by halving."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _beta(middle, a, b) < level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by its continued fraction."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta(1.0 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    return front * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Evaluate the fraction by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / _far(1.0 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, 1000):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _far(1.0 + factor * d, tiny)
            c = _far(1.0 + factor / c, tiny)
            value *= c * d
        if abs(c * d - 1.0) < 1e-14:  # noqa: PLR2004  # what a double can tell
            break
    return value


def _far(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny


def exceeds(hits: int, trials: int, level: float, alpha: float) -> bool:
    """Tell whether the probability of a hit is above `level`, looking as often as one likes.

    A mixture of likelihood ratios against `level`: were the probability at most `level`, the
    product would be a supermartingale, and reach 1/alpha at any time with probability `alpha` at
    most (Ville 1939).
    """
    misses = trials - hits
    better = [grid for grid in _GRID if grid > level]
    logs = [hits * log(grid) + misses * log1p(-grid) for grid in better]
    top = max(logs, default=-inf)
    mixed = top + log(sum(exp(each - top) for each in logs) / len(logs)) if logs else -inf
    return mixed - hits * log(level) - misses * log1p(-level) > log(1 / alpha)


def falls_short(hits: int, trials: int, level: float, alpha: float) -> bool:
    """Tell whether the probability of a hit is below `level`, looking as often as one likes."""
    return exceeds(trials - hits, trials, 1 - level, alpha)
