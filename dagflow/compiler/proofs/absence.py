"""Plain reads of steps that may be absent: where, and along which path.

A step is *absent* when it is skipped, or failed and a `goto` handled it, in a run that has no
unhandled failure on the way there: after an unhandled one the run fails anyway and the reader's
being skipped surprises nobody. `reach` says what is certain when a reader becomes ready; here it
is asked what is certain when a producer is absent, and whether the two can go together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import reduce
from operator import and_, or_
from typing import Final, Literal, TypeAlias

from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.graph.edges import LATER, Edge, wait_text
from dagflow.compiler.model import TOPS, Model, Read, StepFacts
from dagflow.compiler.proofs.claims import Claims
from dagflow.compiler.proofs.follow import can_be
from dagflow.compiler.proofs.guards import constant
from dagflow.compiler.proofs.outcomes import NOTHING, Facts, at_least
from dagflow.compiler.proofs.reach import BlockReach, Reach, guarded, needed
from dagflow.core.records import dataclass, replace

Where: TypeAlias = Literal["step", "outputs", "finally", "compensate", "collect"]

MOST: Final = 24
"""Ways of a step to be skipped that are told apart: along a chain each step adds one."""

EFFORT: Final = 200_000
"""Steps that are looked at to find out whether facts go together, in one block."""

COLLECTED: Final = frozenset({"collect", "until"})
"""Where a composite reads its inner steps, after they have all ended."""


@dataclass(frozen=True, slots=True)
class Decided:
    """An expression of a step ("when", "branches.0") that comes out so."""

    step: str
    name: str
    wanted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """A plain read of a step that may be absent. `reader` is "" for the run's outputs.

    `path` tells how it comes about, a line for each step, the producer's last; `decided` by which
    expressions that is decided, where it is.
    """

    reader: str
    read: Read
    where: Where
    path: tuple[str, ...]
    decided: tuple[Decided, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One way in which a step comes to be absent, or an edge not to be taken.

    `denied` is the step whose guard is false then, where it begins with that; `decided` are the
    expressions that decide it.
    """

    facts: Facts
    text: str
    by: str = ""
    denied: str = ""
    decided: tuple[Decided, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Quiet:
    """A block in runs without unhandled failures.

    `possible` are a step's outcomes in them; `cases` the ways in which it is skipped, `skipped`
    what is certain when it is; `excused` the reads that were found at fault, (reader, producer):
    their author will give them a default, so they skip nobody.
    """

    graph: BlockGraph
    facts: Mapping[str, StepFacts]
    reach: BlockReach
    claims: Claims
    possible: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, Facts] = field(default_factory=dict)
    cases: dict[str, tuple[_Case, ...]] = field(default_factory=dict)
    excused: set[tuple[str, str]] = field(default_factory=set)
    certain: Facts = NOTHING
    effort: int = EFFORT
    places: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.places = {step: index for index, step in enumerate(self.graph.order)}

    def absent(self, step: str) -> Iterator[_Case]:
        """Yield the ways in which the step does not succeed, with what is certain then."""
        ends, possible = self.reach.outcomes.of[step], self.possible[step]
        if possible & ends.skipped:
            yield from self.cases[step]
        for target, bit in ends.goto.items():
            if possible & bit:
                facts = self.reach.known(step, bit)
                yield _Case(facts=facts, text=f"{step!r} fails and goes to {target!r}")

    def fits(self, *facts: Facts) -> bool:
        """Tell whether the facts don't contradict each other."""
        return not self.reach.outcomes.contradict(reduce(or_, facts, NOTHING))

    def can_be(self, *facts: Facts) -> bool:
        """Tell whether the facts go together with all that follows from them, step by step."""
        found = reduce(or_, facts, NOTHING)
        if not self.fits(found) or self.effort <= 0:
            return self.fits(found)
        self.effort -= len(self.graph.order)
        return can_be(self.graph, self.reach, found, self.skipped)

    def path(self, case: _Case) -> tuple[str, ...]:
        """Say how a case comes about, from its first cause."""
        lines = [case.text]
        seen: set[str] = set()
        while case.by and case.by not in seen and self.cases.get(case.by):
            seen.add(case.by)
            case = self.cases[case.by][0]
            lines.append(case.text)
        return tuple(reversed(lines))


def absences(model: Model, graphs: Graphs, reach: Reach, claims: Claims) -> tuple[Absent, ...]:
    """Return every plain read of a step that may be absent, one for each reader and producer."""
    found: list[Absent] = []
    quiet: dict[str, _Quiet] = {}
    for path in model.blocks:
        quiet[path] = block = _Quiet(
            graph=graphs.blocks[path],
            facts=graphs.facts,
            reach=reach.blocks[path],
            claims=claims,
        )
        found += _in_block(block)
        found += _after_block(block, model, graphs)
    top = quiet.get("")
    if top is not None:
        found += _ended(top, "", model.output_reads, "outputs")
    found += (item for step in model.steps() for item in _compensating(step, graphs, reach))
    found += (item for step in model.steps() for item in _cleaning(step, graphs))
    return tuple(sorted(found, key=lambda item: item.read.span))


def _in_block(block: _Quiet) -> Iterator[Absent]:
    """Go through a block in its order, yielding the reads at fault between its steps."""
    for step in block.graph.order:
        for edge in block.graph.reads.get(step, ()):
            if edge.required:
                case = _at_fault(block, step, edge.source)
                if case is not None:
                    block.excused.add((step, edge.source))
                    read = edge.reads[0]
                    path = block.path(case)
                    yield Absent(
                        reader=step, read=read, where="step", path=path, decided=case.decided
                    )
        _settle(block, step)


def _at_fault(block: _Quiet, reader: str, producer: str) -> _Case | None:
    """Return a way in which the reader could become ready but for the producer's absence.

    Other plain reads of the reader count as given where their producers come later: of two that
    are absent together, the later one is told, since its success vouches for the earlier.
    """
    reach = block.reach
    if not block.graph.incoming.get(reader) or reader in reach.causes:
        return None
    place = block.places
    others = [n for n in block.graph.needs(reader) if place[n] > place[producer]]
    certain = reach.waits[reader]
    for need in others:
        certain |= reach.known(need, reach.outcomes.of[need].success)
    if reach.implies(certain, producer):
        return None
    for case in block.absent(producer):
        ends_badly = block.fits(certain, block.certain) and not block.fits(
            certain, case.facts, block.certain
        )
        if ends_badly or not block.can_be(certain, case.facts):
            continue
        if _may_be(block, reader, case):
            return case
    return None


def _may_be(block: _Quiet, reader: str, case: _Case) -> bool:
    """Tell whether the reader's own guard can be true in a case."""
    if not case.denied:
        return True
    return not block.claims.needs_guard(block.facts[reader], block.facts[case.denied])


def _settle(block: _Quiet, step: str) -> None:
    """Work out how a step can end in a run without unhandled failures."""
    reach, ends = block.reach, block.reach.outcomes.of[step]
    cases = _few(tuple(_skips(block, step)))
    block.cases[step] = cases
    block.skipped[step] = (
        reduce(and_, (case.facts for case in cases)) if cases else NOTHING
    ) | reach.outcomes.only(step, ends.skipped)
    possible = ends.skipped if cases else 0
    if _may_run(block, step):
        possible |= reach.possible[step] & (ends.success | ends.handled)
    block.possible[step] = possible
    if possible == ends.skipped:
        block.certain |= block.skipped[step]


def _few(cases: tuple[_Case, ...]) -> tuple[_Case, ...]:
    """Return as many cases as are told apart; what is certain in all others is one more."""
    if len(cases) <= MOST:
        return cases
    others = cases[MOST:]
    return (*cases[:MOST], replace(others[0], facts=reduce(and_, (it.facts for it in others))))


def _may_run(block: _Quiet, step: str) -> bool:
    reach = block.reach
    if step in reach.causes:
        return False
    if any(
        not block.possible[need] & reach.outcomes.of[need].success
        for need in block.graph.needs(step)
        if (step, need) not in block.excused
    ):
        return False
    edges = block.graph.incoming.get(step, ())
    open_ = sum(
        bool(block.possible[e.source] & reach.outcomes.of[e.source].taken(e)) for e in edges
    )
    return open_ >= needed(block.graph.join(step), len(edges))


def _skips(block: _Quiet, step: str) -> Iterator[_Case]:
    """Yield the ways in which the step is skipped without an unhandled failure before it."""
    reach, facts = block.reach, block.facts[step]
    cause = reach.causes.get(step)
    if cause is not None:
        yield _Case(facts=NOTHING, text=f"{step!r} is skipped: {cause.text}")
        return
    only = reach.outcomes.only(step, reach.outcomes.of[step].skipped)
    for case in (*_not_joined(block, step), *_not_given(block, step)):
        yield replace(case, facts=case.facts | only)
    if facts.step.when is not None and constant(facts, "when") is not True:
        text = f"{step!r} is skipped: its guard {facts.step.when.value!r} is false"
        known = reach.ready[step] | guarded(reach, facts, wanted=False) | only
        if block.fits(known):
            decided = (Decided(step, "when", wanted=False),)
            yield _Case(facts=known, text=text, denied=step, decided=decided)


def _not_joined(block: _Quiet, step: str) -> Iterator[_Case]:
    edges = block.graph.incoming.get(step, ())
    count = needed(block.graph.join(step), len(edges))
    untaken = [case for edge in edges if (case := _untaken(block, edge)) is not None]
    missing = len(edges) - count + 1
    if not edges or len(untaken) < missing:
        return
    if missing == 1:
        yield from untaken
        return
    facts = at_least(missing, [case.facts for case in untaken])
    if block.fits(facts):
        told = " and ".join(dict.fromkeys(case.text for case in untaken[:2]))
        decided = tuple(dict.fromkeys(each for case in untaken for each in case.decided))
        yield _Case(facts=facts, text=told, by=untaken[0].by, decided=decided)


def _not_given(block: _Quiet, step: str) -> Iterator[_Case]:
    for need in block.graph.needs(step):
        if (step, need) not in block.excused:
            for case in block.absent(need):
                text = f"{step!r} is skipped with {need!r}"
                yield replace(case, text=text, by=need)


def _untaken(block: _Quiet, edge: Edge) -> _Case | None:
    """Return what is certain when an edge is not taken, None when it always is."""
    source, ends = edge.source, block.reach.outcomes.of[edge.source]
    rest = block.possible[source] & ~ends.taken(edge)
    if not rest:
        return None
    ran, skipped = rest & ends.ran, rest & ends.skipped
    facts = block.reach.known(source, ran) if ran else None
    if skipped:
        facts = block.skipped[source] if facts is None else facts & block.skipped[source]
    facts = (facts or NOTHING) | block.reach.outcomes.only(source, rest)
    if not block.fits(facts):
        return None
    text = f"{edge.target!r} is skipped: it waits for {wait_text(edge)}"
    if skipped and not ran:
        first = next(iter(block.cases.get(source, ())), None)
        return _Case(facts=facts, text=text, by=source, decided=first.decided if first else ())
    return _Case(facts=facts, text=text, decided=tuple(_other_branch(edge)))


def _other_branch(edge: Edge) -> Iterator[Decided]:
    """Yield what makes a switch take none of an edge's branches."""
    for index in edge.branches:
        yield Decided(edge.source, f"branches.{index}", wanted=False)


def _after_block(block: _Quiet, model: Model, graphs: Graphs) -> Iterator[Absent]:
    """Yield the reads at fault of `collect` and `until`, made when a block's steps have ended."""
    composite = graphs.facts.get(block.graph.path)
    if composite is None or model.blocks[block.graph.path].parent is None:
        return
    reads = [read for read in composite.reads if read.where in COLLECTED]
    yield from _ended(block, composite.path, reads, "collect")


def _ended(block: _Quiet, reader: str, reads: Sequence[Read], where: Where) -> Iterator[Absent]:
    """Yield the plain reads of steps that may be absent when all has ended well."""
    seen: set[str] = set()
    every = block.reach.outcomes.of.values()
    failures = reduce(or_, (ends.failure << ends.at for ends in every), NOTHING)
    for read in reads:
        step = read.step
        if not read.required or step in seen or step not in block.possible:
            continue
        for case in block.absent(step):
            if block.can_be(case.facts, block.certain, failures):
                seen.add(step)
                path = block.path(case)
                yield Absent(reader=reader, read=read, where=where, path=path, decided=case.decided)
                break


def _compensating(step: StepFacts, graphs: Graphs, reach: Reach) -> Iterator[Absent]:
    """Yield the plain reads of a compensation that its own step's success does not vouch for."""
    own = [read for read in step.reads if read.where in LATER]
    more = step.compensate.reads if step.compensate else ()
    seen: set[str] = {step.path}
    for read in (*own, *more):
        if not read.required or read.step in seen or read.step not in graphs.facts:
            continue
        seen.add(read.step)
        if _vouched(step, read.step, graphs, reach):
            continue
        path = (f"{step.path!r} succeeds", f"{read.step!r} does not")
        yield Absent(reader=f"{step.path}.compensate", read=read, where="compensate", path=path)


def _vouched(step: StepFacts, other: str, graphs: Graphs, reach: Reach) -> bool:
    """Tell whether a step, or one around it, runs only after the other has succeeded."""
    here: StepFacts | None = step
    while here is not None:
        block = reach.blocks[here.block]
        if other in block.passed and here.path in block.passed:
            return block.implies(block.passed[here.path], other)
        here = None if here.block in TOPS else graphs.facts.get(here.block)
    return False


def _cleaning(step: StepFacts, graphs: Graphs) -> Iterator[Absent]:
    """Yield the plain reads that `finally` makes of the run's steps: none of them is certain."""
    if step.block != "finally":
        return
    seen: set[str] = set()
    for read in step.reads:
        producer = graphs.facts.get(read.step)
        if producer and producer.block == "" and read.required and read.step not in seen:
            seen.add(read.step)
            path = (f"the run ends before {read.step!r} has succeeded",)
            yield Absent(reader=step.path, read=read, where="finally", path=path)
