"""Draws from a `Random`, in which the first and the least are the simplest."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def rarely(rng: Random, times: int) -> bool:
    """Draw true once in so many times."""
    return rng.randrange(times) == times - 1


def some(rng: Random, among: Sequence[T], least: int = 0, most: int = 2) -> tuple[T, ...]:
    """Draw a few of these, each once."""
    left = list(among)
    count = rng.randint(least, min(most, len(left))) if left else 0
    return tuple(left.pop(rng.randrange(len(left))) for _ in range(count))
