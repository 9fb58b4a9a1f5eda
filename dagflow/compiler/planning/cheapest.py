"""The least that a success of a run uses: of branches that exclude each other, the cheapest.

The counterpart of the bounds: what is not certain counts nothing, so that no success uses less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from dagflow.compiler.defaults import MAX_TOKENS
from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.graph.edges import Edge
from dagflow.compiler.model import StepFacts
from dagflow.compiler.planning.musts import certain_steps
from dagflow.core.steps.repeat import Repeat
from dagflow.core.steps.switch import Switch
from dagflow.core.workflow import Step

Way: TypeAlias = tuple[tuple[str, frozenset[int]], ...]
"""The switches that lead to a step, from the outside in, and the branches of each that do."""

Worth: TypeAlias = Callable[[StepFacts], float]
"""What one attempt of a step uses at least; 0 for loops."""

_SUCCESS: Final = frozenset({"success", "done"})


def least_calls(graphs: Graphs) -> float:
    """Return how many tool calls every success makes at least."""
    return least(graphs, lambda facts: int(facts.kind == "tool"))


def least(graphs: Graphs, worth: Worth, block: str = "") -> float:
    """Return the least of something that every success of a block uses, by what steps use of it."""
    if block not in graphs.blocks:
        return 0

    def cost(facts: StepFacts) -> float:
        if does_without(facts.step):
            return 0
        if isinstance(facts.step.body, Repeat) and not facts.step.on_error:
            return least(graphs, worth, facts.path)
        return worth(facts)

    return _least(graphs.blocks[block], graphs.facts, cost)


def does_without(step: Step) -> bool:
    """Tell whether a run goes on where the budget leaves nothing to the step."""
    classes = [{name.value for name in handler.on} for handler in step.on_error]
    return any(not each or "budget" in each for each in classes)


def certain_answers(graphs: Graphs) -> Iterator[tuple[StepFacts, int]]:
    """Yield the models' answers that every success needs, and how many tokens each may take."""
    if "" not in graphs.blocks:
        return
    for facts in certain_steps(graphs.blocks[""], graphs.facts):
        if facts.kind == "llm" and not does_without(facts.step):
            bound = facts.step.body.max_tokens
            yield facts, MAX_TOKENS if bound is None else bound.value


def _least(
    graph: BlockGraph, facts: Mapping[str, StepFacts], cost: Callable[[StepFacts], float]
) -> float:
    """Return the sum over what is certain, and of each certain switch the cheapest branch."""
    ways = _ways(graph, facts)
    hung: dict[str, list[tuple[frozenset[int], float]]] = {}
    total = 0.0
    for step in reversed(graph.order):
        if step not in ways:
            continue
        worth = cost(facts[step]) + _branches(facts[step].step, hung.pop(step, []))
        if ways[step]:
            switch, branches = ways[step][-1]
            hung.setdefault(switch, []).append((branches, worth))
        else:
            total += worth
    return total


def _branches(step: Step, hung: list[tuple[frozenset[int], float]]) -> float:
    """Return what the cheapest branch comes to; nothing where none may be taken."""
    body = step.body
    if not hung or not isinstance(body, Switch) or not any(each.else_ for each in body.branches):
        return 0.0
    return min(
        sum(worth for branches, worth in hung if index in branches)
        for index in range(len(body.branches))
    )


def _ways(graph: BlockGraph, facts: Mapping[str, StepFacts]) -> dict[str, Way]:
    """Return the steps that certainly run wherever their switches take those branches."""
    found: dict[str, Way] = {}
    for step in graph.order:
        if facts[step].step.when is not None:
            continue
        way = _way(graph, facts, step, found)
        if way is not None:
            found[step] = way
    return found


def _way(
    graph: BlockGraph, facts: Mapping[str, StepFacts], step: str, found: Mapping[str, Way]
) -> Way | None:
    edges = graph.incoming.get(step, ())
    if edges and graph.join(step).mode != "all":
        return None
    ways = [_through(edge, facts, found) for edge in edges]
    ways += [found.get(need) if _is_sound(facts[need].step) else None for need in graph.needs(step)]
    longest: Way = ()
    for way in ways:
        if way is None or not (way[: len(longest)] == longest or longest[: len(way)] == way):
            return None
        longest = max(longest, way, key=len)
    return longest


def _through(edge: Edge, facts: Mapping[str, StepFacts], found: Mapping[str, Way]) -> Way | None:
    """Return where an edge is certainly taken, None where that can't be told."""
    way = found.get(edge.source)
    if way is None or not _is_sound(facts[edge.source].step):
        return None
    if _SUCCESS & set(edge.on):
        return way
    return (*way, (edge.source, frozenset(edge.branches))) if edge.branches else None


def _is_sound(step: Step) -> bool:
    """Tell whether a failure of the step is one of the run, or goes on as if it had succeeded."""
    handled = any(handler.goto is not None for handler in step.on_error)
    is_switch = isinstance(step.body, Switch) and bool(step.on_error)
    return not handled and not is_switch and not hasattr(step.body, "on_expiry")
