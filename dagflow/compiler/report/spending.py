"""What a run uses, at most and on average, in words."""

from __future__ import annotations

from typing import Final

from dagflow.core.findings import Bounds, CostBound, Expected
from dagflow.core.money import written
from dagflow.core.text import counted

SHOWN: Final = 3
"""Steps and reasons that are named; of more, how many there are."""


def most_said(bounds: Bounds) -> str:
    """Say what a run uses at most."""
    parts = [
        f"{value:,} {word if value == 1 else f'{word}s'}"
        for word, value in (
            ("step", bounds.steps),
            ("generated token", bounds.tokens),
            ("tool call", bounds.tool_calls),
            ("item", bounds.items),
        )
        if value
    ]
    if bounds.cost is not None:
        parts.append(f"cost {cost_said(bounds.cost)}")
    return ", ".join(parts)


def money(bounds: Bounds) -> list[tuple[str, str]]:
    """Return what is known of a run's cost and its average use, each under its name."""
    rows = [] if bounds.cost is None else [("cost at most", cost_said(bounds.cost))]
    if bounds.expected is not None:
        currency = bounds.cost.currency if bounds.cost is not None else ""
        rows.append(("on average", mean_said(bounds.expected, currency)))
    return rows


def cost_said(cost: CostBound) -> str:
    """Say what a run costs at most, or why that can't be told."""
    if cost.most is None:
        return f"unknown: {_listed(cost.unknown)}"
    how = " (prompts at four characters a token)" if cost.estimated else ""
    return f"{written(cost.most, cost.currency)}{how}"


def mean_said(expected: Expected, currency: str = "") -> str:
    """Say what a run uses on average, or what is not recorded."""
    if expected.steps is None:
        return f"unknown, nothing is recorded of {_listed(expected.missing)}"
    parts = [
        f"{value:g} {word}"
        for word, value in (
            ("steps", expected.steps),
            ("tokens with prompts", expected.tokens),
            ("tool calls", expected.tool_calls),
            ("items", expected.items),
        )
        if value
    ]
    if expected.cost is not None:
        parts.append(f"cost {written(expected.cost, currency)}")
    return f"{', '.join(parts) or 'nothing'} ({counted(expected.runs, 'recorded run')})"


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
