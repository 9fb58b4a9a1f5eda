"""Where a block is at work, and what its expressions see from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dagflow.core.values import JsonValue
from tests.property.loops.happened import Seen
from tests.property.loops.parts import LoopFlow, Part


@dataclass(frozen=True)
class Place:
    """A block at work: where, since when, until when, and the variables of the loops around."""

    steps: tuple[Part, ...]
    frame: str
    since: int
    until: int
    variables: Mapping[str, JsonValue] = field(default_factory=dict)
    around: Place | None = None

    def path(self, name: str) -> str:
        return f"{self.frame}.{name}" if self.frame else name


@dataclass(frozen=True)
class View:
    """What an expression sees from a place."""

    flow: LoopFlow
    seen: Mapping[str, Seen]
    place: Place

    @property
    def n(self) -> int:
        return self.flow.n

    @property
    def xs(self) -> tuple[int, ...]:
        return self.flow.xs

    def step(self, name: str) -> Seen:
        here: Place | None = self.place
        while here is not None:
            if any(step.name == name for step in here.steps):
                return self.seen[here.path(name)]
            here = here.around
        raise AssertionError(name)

    def variable(self, name: str) -> JsonValue:
        return self.place.variables[name]
