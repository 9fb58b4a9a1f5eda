"""Which steps every successful run makes, and the time that they surely take."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from dagflow.compiler.defaults import seconds
from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.graph.edges import gotos
from dagflow.compiler.model import StepFacts
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


def fastest(graphs: Graphs, block: str = "", *, on_the_clock: bool = False) -> float:
    """Return the seconds that no success of a block can beat: its waits of a fixed length.

    `on_the_clock` leaves out those for which the run's deadline stands still (`pause_clock`).
    """
    if block not in graphs.blocks:
        return 0.0
    graph = graphs.blocks[block]
    before = graph.before()
    ends: dict[str, float] = {}
    for facts in certain_steps(graph, graphs.facts):
        start = max((ends.get(source, 0.0) for source in before[facts.path]), default=0.0)
        ends[facts.path] = start + _least(graphs, facts, on_the_clock=on_the_clock)
    return max(ends.values(), default=0.0)


def _least(graphs: Graphs, facts: StepFacts, *, on_the_clock: bool) -> float:
    """Return the seconds that a step surely takes, whether it succeeds or its failure is handled.

    A wait of a fixed length ends early by its own bounds only; a loop by any failure inside it.
    """
    step, body = facts.step, facts.step.body
    if isinstance(body, Repeat) and not step.on_error:
        return fastest(graphs, facts.path, on_the_clock=on_the_clock)
    if not isinstance(body, Wait) or (on_the_clock and pauses_the_clock(facts)):
        return 0.0
    length = seconds(body.for_) or 0.0
    bounds = (seconds(step.timeout), seconds(step.deadline))
    return min([length, *(bound for bound in bounds if bound is not None)])


def pauses_the_clock(facts: StepFacts) -> bool:
    """Tell whether the run's deadline may stand still while the step waits."""
    chosen = getattr(facts.step.body, "pause_clock", None)
    return chosen is not None and chosen.value is True
