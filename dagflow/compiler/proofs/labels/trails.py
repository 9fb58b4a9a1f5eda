"""Labels of a value, each with the way that it has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from dagflow.core.findings import Related

Label: TypeAlias = Literal["untrusted", "model"]
"""`untrusted`: somebody outside may have written it · `model`: a language model has written it."""

Trail: TypeAlias = tuple[Related, ...]
"""The steps that a value has gone through, its source first."""

Trails: TypeAlias = Mapping[Label, Trail]
"""The labels of a value, each with one way by which it came; the first that was found."""

CLEAN: Final[Trails] = MappingProxyType({})
LABELS: Final[tuple[Label, ...]] = ("model", "untrusted")


def joined(several: Iterable[Trails]) -> Trails:
    """Return the labels of a value that is made of several."""
    found: dict[Label, Trail] = {}
    for trails in several:
        for label, trail in trails.items():
            found.setdefault(label, trail)
    return found or CLEAN


def through(trails: Trails, place: Related) -> Trails:
    """Return the labels after one step more; a place that is the last one already is not told."""
    return {
        label: trail if trail and trail[-1].span == place.span else (*trail, place)
        for label, trail in trails.items()
    } or CLEAN


def worst(trails: Trails) -> Trail | None:
    """Return the way of the label that matters most, None where there is none."""
    return next((trails[label] for label in LABELS if label in trails), None)
