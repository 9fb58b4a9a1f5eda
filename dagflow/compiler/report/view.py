"""What is drawn of a workflow: its steps with their places, its edges, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from dagflow.core.findings import Removal
from dagflow.core.plan import ControlEdge, Place, Plan, PlanStep
from dagflow.core.records import dataclass

LONGEST_LABEL = 28
"""Longer conditions are cut in labels; drawings show them whole on hover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewStep:
    """One step. `note` is what hovering shows; `removed` tells that pruning takes it out.

    `critical` tells that it is on the longest way by the longest times.
    """

    path: str
    name: str
    kind: str
    place: Place
    note: str = ""
    removed: bool = False
    critical: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewEdge:
    """One arrow. `label` is "" for plain success and for data; `note` is what hovering shows.

    `fused` tells that its two steps are done in one dispatch, one after the other.
    """

    source: str
    target: str
    is_data: bool = False
    label: str = ""
    note: str = ""
    removed: bool = False
    fused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewBlock:
    """The steps of one block and the edges between them; `path` is the step around them."""

    path: str
    title: str
    steps: tuple[ViewStep, ...]
    edges: tuple[ViewEdge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphView:
    """A whole workflow: the top first, then the blocks inside steps, `finally` last."""

    name: str
    blocks: tuple[ViewBlock, ...]

    def inside(self, step: str) -> ViewBlock | None:
        """Return the block inside a step, if there is one."""
        return next((block for block in self.blocks if block.path == step and step), None)


def view_of(
    plan: Plan, *, removed: Iterable[Removal] = (), critical: Iterable[str] = ()
) -> GraphView:
    """Return what is drawn of a plan; removals of steps and edges are drawn faded.

    `critical` are the steps of the longest way, which is drawn as such.

    For the graph before pruning, give the plan that was compiled without pruning, and the
    removals of the one compiled with it.
    """
    faded = frozenset((item.kind, item.name) for item in removed)
    blocks = [*_blocks(plan, plan.steps, "", "", faded)]
    blocks += _blocks(plan, plan.finally_, "", "finally", faded)
    longest = frozenset(critical)
    return GraphView(
        name=plan.name,
        blocks=tuple(_marked(block, longest) for block in blocks) if longest else tuple(blocks),
    )


def _marked(block: ViewBlock, longest: frozenset[str]) -> ViewBlock:
    steps = (replace(step, critical=step.path in longest) for step in block.steps)
    return replace(block, steps=tuple(steps))


def _blocks(
    plan: Plan,
    steps: tuple[PlanStep, ...],
    path: str,
    title: str,
    faded: frozenset[tuple[str, str]],
) -> Iterator[ViewBlock]:
    if steps:
        yield ViewBlock(
            path=path,
            title=title,
            steps=tuple(_step(step, plan.layout, faded) for step in steps),
            edges=tuple(_edges(steps, faded, _links(plan))),
        )
    for step in steps:
        yield from _blocks(plan, step.block, step.path, _title(step), faded)


def _links(plan: Plan) -> frozenset[tuple[str, str]]:
    """Return the pairs of steps that follow one another in a chain."""
    return frozenset(pair for chain in plan.fused for pair in pairwise(chain))


def _title(step: PlanStep) -> str:
    return f"{step.kind} {step.path.rpartition('.')[2]}"


def _step(
    step: PlanStep, layout: Mapping[str, Place], faded: frozenset[tuple[str, str]]
) -> ViewStep:
    name = step.path.rpartition(".")[2]
    when = f"when {step.when.text}" if step.when is not None else ""
    return ViewStep(
        path=step.path,
        name=name,
        kind=step.kind,
        place=layout.get(step.path, Place(layer=0, row=0)),
        note="\n".join(part for part in (f"{name} ({step.kind})", step.description, when) if part),
        removed=("step", step.path) in faded,
    )


def _edges(
    steps: tuple[PlanStep, ...],
    faded: frozenset[tuple[str, str]],
    links: frozenset[tuple[str, str]],
) -> Iterator[ViewEdge]:
    by_path = {step.path: step for step in steps}
    for step in steps:
        control = {edge.step for edge in step.after}
        for edge in step.after:
            if edge.step in by_path:
                drawn = _control(edge, by_path[edge.step], step, faded)
                yield replace(drawn, fused=(edge.step, step.path) in links)
        for source in dict.fromkeys((*step.needs, *step.awaits)):
            if source in by_path and source not in control:
                yield ViewEdge(
                    source=source,
                    target=step.path,
                    is_data=True,
                    note=_reading(step, source),
                    removed=("edge", f"{source} -> {step.path}") in faded,
                    fused=(source, step.path) in links,
                )


def _control(
    edge: ControlEdge, source: PlanStep, target: PlanStep, faded: frozenset[tuple[str, str]]
) -> ViewEdge:
    ways = [on for on in edge.on if on != "success" or len(edge.on) > 1 or edge.branches]
    label = " or ".join((*ways, *(_branch(source, index) for index in edge.branches)))
    what = " or ".join((*edge.on, *(f"branch {index}" for index in edge.branches)))
    note = f"{edge.step} → {target.path}: {what}"
    if edge.step in target.needs:
        note += f"\n{_reading(target, edge.step)}"
    return ViewEdge(
        source=edge.step,
        target=target.path,
        label=label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…",
        note=note,
        removed=("edge", f"{edge.step} -> {target.path}") in faded,
    )


def _branch(source: PlanStep, index: int) -> str:
    if index >= len(source.branches):
        return f"branch {index}"
    when = source.branches[index].when
    return "else" if when is None else " ".join(when.text.split())


def _reading(step: PlanStep, source: str) -> str:
    how = "reads the output of" if source in step.needs else "looks at"
    return f"{step.path} {how} {source}"
