"""The edges between steps, as the file says them: who waits for whom, and who reads whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

from dagflow.compiler.model import TOPS, Block, Read, StepFacts
from dagflow.core.plan import EdgeOn, Join
from dagflow.core.records import dataclass, replace
from dagflow.core.source import At, Span
from dagflow.core.steps.approve import Approve, Goto
from dagflow.core.steps.switch import END, Switch
from dagflow.core.workflow import AtLeast, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A control edge: taken when the source ended in one of the ways, or chose such a branch.

    `span` is where the author wrote it (the first place, when several were merged).
    """

    source: str
    target: str
    on: tuple[EdgeOn, ...] = ()
    branches: tuple[int, ...] = ()
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class DataEdge:
    """The target reads the source; `required` when some plain read needs its success.

    `reads` are the reads themselves, plain ones first, in the order of the file.
    """

    source: str
    target: str
    required: bool
    reads: tuple[Read, ...]


AnyEdge = TypeVar("AnyEdge", Edge, DataEdge)

ORDER: Final[tuple[EdgeOn, ...]] = ("success", "failure", "skipped", "done", "goto")
LATER: Final = frozenset({"compensate"})
"""Where a read happens only after the run's outcome is known, so that it orders nothing."""


def join_of(step: Step) -> Join:
    """Return a step's join; `first` is at least one."""
    if step.join is None:
        return Join()
    if isinstance(step.join, AtLeast):
        return Join("at_least", step.join.at_least.value)
    if step.join.value == "first":
        return Join("at_least", 1)
    return Join("any") if step.join.value == "any" else Join()


def sibling(block: str, name: str) -> str:
    """Return the static path of the step `name` of a block."""
    return name if block in TOPS else f"{block}.{name}"


def inside_out(blocks: Iterable[str]) -> tuple[str, ...]:
    """Return the paths of blocks with those inside others first."""
    return tuple(sorted(blocks, key=lambda path: -1 if path in TOPS else path.count("."))[::-1])


def gotos(step: Step) -> Iterator[At[str]]:
    """Yield the targets that a failure of the step may go to, as written."""
    for handler in step.on_error:
        if handler.goto is not None:
            yield handler.goto
    if isinstance(step.body, Approve) and isinstance(step.body.on_expiry, Goto):
        yield step.body.on_expiry.goto


def branch_targets(step: Step) -> tuple[tuple[At[str], ...], ...]:
    """Return the targets of each branch of a switch, as written, without `end`."""
    if not isinstance(step.body, Switch):
        return ()
    return tuple(
        tuple(name for name in (*branch.then, *branch.else_) if name.value != END)
        for branch in step.body.branches
    )


def control_edges(block: Block, facts: Mapping[str, StepFacts]) -> dict[str, tuple[Edge, ...]]:
    """Return the control edges into each step of a block, one for each step they come from."""
    merged: dict[str, dict[str, Edge]] = {}
    for step in block.steps:
        for edge in _written(step, block):
            if edge.source not in facts or edge.target not in facts:
                continue
            into = merged.setdefault(edge.target, {})
            into[edge.source] = _merge(into[edge.source], edge) if edge.source in into else edge
    return {target: tuple(edges.values()) for target, edges in merged.items()}


def _written(facts: StepFacts, block: Block) -> Iterator[Edge]:
    here, step = facts.path, facts.step
    for after in step.after:
        source = sibling(block.path, after.step.value)
        on: EdgeOn = after.on.value if after.on else "success"  # type: ignore[assignment]  # a choice of exactly these
        yield Edge(source=source, target=here, on=(on,), span=after.step.span)
    for index, names in enumerate(branch_targets(step)):
        for name in names:
            target = sibling(block.path, name.value)
            yield Edge(source=here, target=target, branches=(index,), span=name.span)
    for name in gotos(step):
        target = sibling(block.path, name.value)
        yield Edge(source=here, target=target, on=("goto",), span=name.span)


def _merge(one: Edge, two: Edge) -> Edge:
    """Return the edge that is taken when either is.

    Beside a branch of a switch, a plain `after` of the same switch adds nothing: a switch that
    chose has succeeded, and read as "either" it would make the branch meaningless.
    """
    branches = tuple(sorted({*one.branches, *two.branches}))
    named = {*one.on, *two.on} - ({"success"} if branches else set())
    return replace(
        one,
        on=tuple(on for on in ORDER if on in named),
        branches=branches,
        span=min(one.span, two.span),
    )


def data_edges(facts: Mapping[str, StepFacts]) -> dict[str, tuple[DataEdge, ...]]:
    """Return the data edges into each step, one for each step it reads.

    A read by a step inside a composite is an edge into the composite, in the block where both
    stand; a read from outside of that block, by `finally`, is none.
    """
    found: dict[str, dict[str, list[Read]]] = {}
    for step in facts.values():
        for read in step.reads:
            reader = _lifted(step, read, facts)
            if reader is not None and reader != read.step:
                reads = found.setdefault(reader, {}).setdefault(read.step, [])
                if read not in reads:
                    reads.append(read)
    return {
        reader: tuple(_data_edge(source, reader, reads) for source, reads in sources.items())
        for reader, sources in found.items()
    }


def _lifted(step: StepFacts, read: Read, facts: Mapping[str, StepFacts]) -> str | None:
    """Return the step around `step` (or itself) that stands beside what is read, if one does."""
    producer = facts.get(read.step)
    if producer is None or read.where in LATER:
        return None
    here: StepFacts | None = step
    while here is not None and here.block != producer.block:
        here = None if here.block in TOPS else facts.get(here.block)
    return None if here is None else here.path


def _data_edge(source: str, target: str, reads: list[Read]) -> DataEdge:
    ordered = sorted(reads, key=lambda read: (not read.required, read.span))
    return DataEdge(
        source=source, target=target, required=ordered[0].required, reads=tuple(ordered)
    )


WAYS: Final[Mapping[str, str]] = {
    "success": "succeed",
    "failure": "fail",
    "skipped": "be skipped",
    "done": "end",
    "goto": "fail and go to it",
}


def wait_text(edge: Edge) -> str:
    """Say what an edge waits for: "'a' to fail"."""
    if edge.branches and not edge.on:
        numbers = " or ".join(str(index) for index in edge.branches)
        return f"branch {numbers} of {edge.source!r}"
    return f"{edge.source!r} to {' or '.join(WAYS[on] for on in edge.on)}"
