"""The ways in which each step of a block may end, as bits, and what is known of them as numbers.

What is known at some point of a run ("facts") is one integer: the set of outcomes that are
*excluded*, over all steps of the block. "And" of two facts is `|`; what holds in either of two
cases is `&`. Facts contradict each other when every outcome of some step is excluded; each step's
bits are followed by a free one, so that adding one to every group carries into it exactly then,
and a whole block is tested with one addition.

A *recovered* failure (`on_error: continue`) is a success. A failure that a `goto` handled is an
outcome of its own for each target, since only that target's edge is taken by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import Final, TypeAlias

from dagflow.compiler.graph.edges import Edge, branch_targets, gotos, sibling
from dagflow.compiler.model import StepFacts
from dagflow.core.records import dataclass

Facts: TypeAlias = int

NOTHING: Final[Facts] = 0
"""Nothing is known: every outcome is possible."""

COUNTED: Final = 10_000
"""How many steps of counting a join of `at_least` may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """One step's outcomes, as small sets of bits; `at` is where they begin in facts.

    `branches` are a switch's, then "none of them"; `handled` the failures that a `goto` handles;
    `ran` the outcomes that only a step whose join fired can have.
    """

    at: int
    success: int
    failure: int
    skipped: int
    goto: Mapping[str, int]
    branches: tuple[int, ...] = ()
    handled: int
    ran: int
    all: int

    def taken(self, edge: Edge) -> int:
        """Return the outcomes with which a control edge from this step is taken."""
        bits = 0
        for on in edge.on:
            if on == "success":
                bits |= self.success
            elif on == "failure":
                bits |= self.failure | self.handled
            elif on == "skipped":
                bits |= self.skipped
            elif on == "done":
                bits |= self.all
            else:
                bits |= self.goto.get(edge.target, 0)
        for index in edge.branches:
            bits |= self.branches[index]
        return bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """The layout of a block: each step's outcomes, the lowest bits, and the free ones."""

    of: Mapping[str, Ends]
    lowest: int
    free: int

    def contradict(self, facts: Facts) -> bool:
        """Tell whether some step would have no outcome left."""
        return bool((facts + self.lowest) & self.free)

    def only(self, step: str, bits: int) -> Facts:
        """Return the facts that the step ended in one of these ways."""
        ends = self.of[step]
        return (ends.all & ~bits) << ends.at


def layout(order: Sequence[str], facts: Mapping[str, StepFacts]) -> Outcomes:
    """Give every step of a block its bits, in the order given."""
    of: dict[str, Ends] = {}
    at = 0
    free: list[int] = []
    for step in order:
        ends = of[step] = _ends(facts[step], at)
        at += ends.all.bit_length() + 1
        free.append(at - 1)
    return Outcomes(of=of, lowest=_bits(ends.at for ends in of.values()), free=_bits(free))


def _bits(places: Iterable[int]) -> int:
    """Return the number with these bits set, in time linear in the highest."""
    found = list(places)
    if not found:
        return 0
    data = bytearray(found[-1] // 8 + 1)
    for place in found:
        data[place // 8] |= 1 << place % 8
    return int.from_bytes(data, "little")


def _ends(facts: StepFacts, at: int) -> Ends:
    switch = branch_targets(facts.step)
    successes = len(switch) + 1
    targets = dict.fromkeys(sibling(facts.block, name.value) for name in gotos(facts.step))
    first = 1 << (successes + 2)
    success, handled = (1 << successes) - 1, first * ((1 << len(targets)) - 1)
    ran = success | 1 << successes | handled
    return Ends(
        at=at,
        success=success,
        failure=1 << successes,
        skipped=1 << (successes + 1),
        goto={target: first << index for index, target in enumerate(targets)},
        branches=tuple(1 << index for index in range(successes)) if switch else (),
        handled=handled,
        ran=ran,
        all=ran | 1 << (successes + 1),
    )


def at_least(count: int, cases: Sequence[Facts]) -> Facts:
    """Return what is known when at least `count` of the cases hold.

    An outcome stays possible only when `count` of the cases permit it; so it is excluded when
    more than `len(cases) - count` exclude it. All cases: `|`; one of them: `&`. Where counting
    would take too long, only what every case excludes is said.
    """
    needed = len(cases) - count + 1
    if count <= 0:
        return NOTHING
    if needed <= 1:
        return reduce(or_, cases, NOTHING)
    if count == 1 or needed * len(cases) > COUNTED:
        return reduce(and_, cases)
    excluded_by = [0] * needed  # [k]: bits that more than k of the cases so far exclude
    for case in cases:
        for index in range(needed - 1, 0, -1):
            excluded_by[index] |= excluded_by[index - 1] & case
        excluded_by[0] |= case
    return excluded_by[-1]
