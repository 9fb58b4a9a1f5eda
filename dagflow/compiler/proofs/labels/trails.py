"""Labels of a value, each with the way that it has come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from dagflow.core.findings import Related

Label: TypeAlias = str
"""`untrusted`: somebody outside may have written it · `model`: a language model has written it ·
`secret`: code has made it of a secret · `inputs.<name>`: who calls the workflow has written it
(followed for the sake of workflows that call this one)."""

Trail: TypeAlias = tuple[Related, ...]
"""The steps that a value has gone through, its source first."""

Trails: TypeAlias = Mapping[Label, Trail]
"""The labels of a value, each with one way by which it came; the first that was found."""

CLEAN: Final[Trails] = MappingProxyType({})
LABELS: Final[tuple[Label, ...]] = ("model", "untrusted")
DERIVED: Final[Label] = "secret"
INPUT: Final = "inputs."


def is_outside(label: Label) -> bool:
    """Tell whether a label says that text comes from outside."""
    return label in LABELS


def is_input(label: Label) -> bool:
    """Tell whether a label names an input of the workflow."""
    return label.startswith(INPUT)


def only(trails: Trails, wanted: Callable[[Label], bool]) -> Trails:
    """Return those of the labels that are wanted."""
    if all(wanted(label) for label in trails):
        return trails
    return {label: trail for label, trail in trails.items() if wanted(label)} or CLEAN


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
