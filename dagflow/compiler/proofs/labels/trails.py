"""Labels of a value, each with the way that it has come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final, TypeAlias

from dagflow.core.findings import Related
from dagflow.core.records import dataclass

Label: TypeAlias = str
"""`untrusted`: somebody outside may have written it · `model`: a language model has written it ·
`secret`: code has made it of a secret · `inputs.<name>`: who calls the workflow has written it
(followed for the sake of workflows that call this one) · `written.<name>`: a model has made it of
that."""

SHOWN: Final = 32
"""Places of a way that are told; of a longer one, the first and the last of them."""


@dataclass(frozen=True, slots=True)
class Trail:
    """The way that a value has come: the last `place`, and the way `before` it.

    Ways share what they have in common: along a chain of steps each has one link of its own.
    """

    place: Related
    before: Trail | None = field(default=None, compare=False, repr=False)
    source: Related = field(init=False, compare=False)
    length: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        before = self.before
        object.__setattr__(self, "source", self.place if before is None else before.source)
        object.__setattr__(self, "length", 1 if before is None else before.length + 1)

    def told(self) -> tuple[Related, ...]:
        """Return the places, the source first; what is left out of a long way is counted."""
        last: list[Related] = []
        here: Trail | None = self
        while here is not None and len(last) < SHOWN:
            last.append(here.place)
            here = here.before
        found = tuple(reversed(last))
        if here is None:
            return found
        more = Related(f"… and {self.length - SHOWN:,} steps on", found[0].span)
        return (self.source, more, *found[1:])


Trails: TypeAlias = Mapping[Label, Trail]
"""The labels of a value, each with one way by which it came; the first that was found."""

CLEAN: Final[Trails] = MappingProxyType({})
LABELS: Final[tuple[Label, ...]] = ("model", "untrusted")
DERIVED: Final[Label] = "secret"
INPUT: Final = "inputs."
EVERY: Final = "*"
"""Stands for all inputs of a workflow that has too many to follow each of them by itself."""
WRITTEN: Final = "written."


def is_outside(label: Label) -> bool:
    """Tell whether a label says that text comes from outside."""
    return label in LABELS


def written_of(label: Label) -> Label:
    """Return the label of what a model has written of the text of an input."""
    return f"{WRITTEN}{label.removeprefix(INPUT)}"


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
        label: trail if trail.place.span == place.span else Trail(place, trail)
        for label, trail in trails.items()
    } or CLEAN


def worst(trails: Trails) -> Trail | None:
    """Return the way of the label that matters most, None where there is none."""
    return next((trails[label] for label in LABELS if label in trails), None)
