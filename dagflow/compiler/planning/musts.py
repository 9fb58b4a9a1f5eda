"""Which steps every successful run makes, and the time that they surely take."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from dagflow.compiler.defaults import seconds
from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.graph.edges import gotos
from dagflow.compiler.model import StepFacts
from dagflow.core.records import dataclass
from dagflow.core.steps.repeat import Repeat
from dagflow.core.steps.wait import Wait

_SUCCESS: Final = frozenset({"success", "done"})


def certain_steps(graph: BlockGraph, facts: Mapping[str, StepFacts]) -> tuple[StepFacts, ...]:
    """Return the steps of a block that run whenever the block as a whole succeeds.

    No guard, branch, join or handler can leave them out. What waits for a step whose failure may
    go elsewhere is not counted. Safe: a step that is not certain is never returned. Each comes
    after those it waits for.
    """
    certain: list[StepFacts] = []
    sound: set[str] = set()
    for step in graph.order:
        if facts[step].step.when is None and _follows(graph, step, sound):
            certain.append(facts[step])
            if not any(True for _ in gotos(facts[step].step)):
                sound.add(step)
    return tuple(certain)


def _follows(graph: BlockGraph, step: str, sound: Collection[str]) -> bool:
    """Tell whether a step runs wherever all those steps have succeeded."""
    edges = graph.incoming.get(step, ())
    if edges and graph.join(step).mode != "all":
        return False
    if any(edge.source not in sound or not _SUCCESS & set(edge.on) for edge in edges):
        return False
    return all(need in sound for need in graph.needs(step))


@dataclass(frozen=True, slots=True)
class Fastest:
    """The seconds that no success of a block can beat, and the steps of the way that takes them."""

    seconds: float = 0.0
    way: tuple[str, ...] = ()


def fastest(graphs: Graphs, block: str = "", *, on_the_clock: bool = False) -> Fastest:
    """Return the least time of a success of a block: its waits of a fixed length.

    `on_the_clock` leaves out those for which the run's deadline stands still (`pause_clock`).
    """
    if block not in graphs.blocks:
        return Fastest()
    graph = graphs.blocks[block]
    before = graph.before()
    ends: dict[str, Fastest] = {}
    for facts in certain_steps(graph, graphs.facts):
        sources = (ends[source] for source in before[facts.path] if source in ends)
        start = max(sources, key=lambda each: each.seconds, default=Fastest())
        own = _least(graphs, facts, on_the_clock=on_the_clock)
        ends[facts.path] = Fastest(
            start.seconds + own.seconds, (*start.way, *own.way) if own.seconds else start.way
        )
    return max(ends.values(), key=lambda each: each.seconds, default=Fastest())


def _least(graphs: Graphs, facts: StepFacts, *, on_the_clock: bool) -> Fastest:
    """Return the least time of a step, whether it succeeds or its failure is handled.

    A wait of a fixed length ends early by its own bounds only; a loop by any failure inside it.
    """
    step, body = facts.step, facts.step.body
    if isinstance(body, Repeat) and not step.on_error:
        return fastest(graphs, facts.path, on_the_clock=on_the_clock)
    if not isinstance(body, Wait) or (on_the_clock and pauses_the_clock(facts)):
        return Fastest()
    length = seconds(body.for_) or 0.0
    bounds = (seconds(step.timeout), seconds(step.deadline))
    least = min([length, *(bound for bound in bounds if bound is not None)])
    return Fastest(least, (facts.path,))


def pauses_the_clock(facts: StepFacts) -> bool:
    """Tell whether the run's deadline may stand still while the step waits."""
    chosen = getattr(facts.step.body, "pause_clock", None)
    return chosen is not None and chosen.value is True
