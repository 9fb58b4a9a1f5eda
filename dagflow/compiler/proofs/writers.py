"""Steps that write the same thing, and steps of one block that may run at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import combinations, product
from operator import or_
from typing import Final

from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.model import Model, StepFacts, Typed
from dagflow.compiler.proofs.claims import Claims
from dagflow.compiler.proofs.follow import can_be
from dagflow.compiler.proofs.outcomes import NOTHING, Facts
from dagflow.compiler.proofs.reach import BlockReach, Reach, needed
from dagflow.core.plan import Evaluated, Expression, Joined, Listed, Literal_, Value, expressions_in
from dagflow.core.records import dataclass
from dagflow.core.steps.foreach import Foreach
from dagflow.core.tool import Operation
from dagflow.core.values import JsonValue, canonical
from dagflow.expr.ast import without_places

MOST_WAYS: Final = 36
"""Pairs of ways to two steps that are gone through one by one."""

WRITING: Final = frozenset({"PUT", "PATCH", "DELETE"})
"""The methods that change what their address names, so that of two the last one wins."""


@dataclass(frozen=True, slots=True)
class Race:
    """Two steps that may write one resource at a time; for items of a loop, the same step."""

    first: StepFacts
    second: StepFacts
    operation: Operation
    loop: StepFacts | None = None


def races(model: Model, graphs: Graphs, reach: Reach, claims: Claims) -> Iterator[Race]:
    """Yield the pairs of steps of one block, and the steps of a loop, that may race."""
    for path in model.blocks:
        graph = graphs.blocks[path]
        writers = _writers(graph, graphs)
        for group in writers.values():
            for one, two in combinations(group, 2):
                if may_run_together(claims, graph, reach, one, two):
                    assert two.operation is not None
                    yield Race(one, two, two.operation)
        yield from _between_items(model, graphs, graph)


def _writers(graph: BlockGraph, graphs: Graphs) -> dict[bytes, list[StepFacts]]:
    """Return the steps of a block that write, by what they write."""
    found: dict[bytes, list[StepFacts]] = {}
    for step in graph.steps:
        facts = graphs.facts[step]
        if facts.operation is not None and facts.operation.method in WRITING and not facts.broken:
            found.setdefault(_resource(facts, facts.operation), []).append(facts)
    return {key: group for key, group in found.items() if len(group) > 1}


def _resource(facts: StepFacts, operation: Operation) -> bytes:
    """Return the same bytes for the same resource: a tool, an address, and what fills it in."""
    path = _path_arguments(facts)
    filled = None if path is None else _shape(path.value)
    return canonical([operation.id.partition(".")[0], operation.path, filled])


def _path_arguments(facts: StepFacts) -> Typed | None:
    """Return what a step gives for the parameters in the address of its operation."""
    typed = facts.templates.get("with")
    entries = getattr(typed.node, "entries", ()) if typed is not None else ()
    parts = typed.parts if typed is not None else ()
    return next(
        (part for (key, _), part in zip(entries, parts, strict=False) if key.value == "path"), None
    )


def _shape(value: Value) -> JsonValue:
    """Return the same JSON for templates that say the same, wherever they stand."""
    match value:
        case Literal_():
            return ["literal", value.literal]
        case Evaluated():
            return ["value", _ast(value.expression)]
        case Joined():
            return ["text", *(p if isinstance(p, str) else [_ast(p)] for p in value.parts)]
        case Listed():
            return ["list", *map(_shape, value.items)]
    return ["object", {name: _shape(entry) for name, entry in value.entries}]


def _ast(expression: Expression) -> JsonValue:
    return without_places(expression.ast)


def may_run_together(
    claims: Claims, graph: BlockGraph, reach: Reach, one: StepFacts, two: StepFacts
) -> bool:
    """Tell whether two steps of a block may run in one run, and neither waits for the other."""
    block = reach.blocks[graph.path]
    if one.path in block.causes or two.path in block.causes:
        return False
    if block.outcomes.contradict(block.passed[one.path] | block.passed[two.path]):
        return False
    if claims.exclusive(one, two):
        return False
    if one.path in ancestors(graph, two.path) or two.path in ancestors(graph, one.path):
        return False
    both = block.passed[one.path] | block.passed[two.path] | _ran(block, one, two)
    ways = list(product(_ways(graph, block, one), _ways(graph, block, two)))
    if len(ways) > MOST_WAYS:
        return can_be(graph, block, both)
    return any(can_be(graph, block, both | first | second) for first, second in ways)


def _ways(graph: BlockGraph, block: BlockReach, facts: StepFacts) -> list[Facts]:
    """Return what each edge says by which a step may come to run; of a join of all, nothing."""
    edges = graph.incoming.get(facts.path, ())
    if len(edges) < 2 or needed(graph.join(facts.path), len(edges)) > 1:  # noqa: PLR2004  # a choice
        return [NOTHING]
    taken = ((edge.source, block.outcomes.of[edge.source].taken(edge)) for edge in edges)
    return [block.known(source, bits) for source, bits in taken]


def _ran(block: BlockReach, *several: StepFacts) -> Facts:
    """Return the facts that all of these steps ran."""
    ran = (block.outcomes.only(it.path, block.outcomes.of[it.path].ran) for it in several)
    return reduce(or_, ran)


def ancestors(graph: BlockGraph, step: str) -> frozenset[str]:
    """Return the steps of the block that have surely ended when `step` starts."""
    found: dict[str, None] = {}
    waiting = [step]
    while waiting:
        current = waiting.pop()
        for before in _waited_for(graph, current):
            if before not in found:
                found[before] = None
                waiting.append(before)
    return frozenset(found)


def _waited_for(graph: BlockGraph, step: str) -> Iterator[str]:
    yield from graph.needs(step)
    yield from graph.awaits(step)
    if graph.join(step).mode != "at_least":  # that one doesn't wait for all of its edges
        yield from (edge.source for edge in graph.incoming.get(step, ()))


def _between_items(model: Model, graphs: Graphs, graph: BlockGraph) -> Iterator[Race]:
    """Yield the writers of a loop over several items at a time that all write one resource."""
    loop = model.find(graph.path) if graph.kind == "foreach" else None
    if loop is None or not isinstance(loop.step.body, Foreach):
        return
    at_a_time = loop.step.body.concurrency
    most = loop.step.body.max_items.value
    if at_a_time is None or min(at_a_time.value, most) <= 1:
        return
    inner = frozenset(graphs.facts[step].name for step in graph.steps)
    for step in graph.steps:
        facts = graphs.facts[step]
        operation = facts.operation
        if operation is None or operation.method not in WRITING or facts.broken:
            continue
        if _is_the_same_for_all(facts, loop.step.body, inner):
            yield Race(facts, facts, operation, loop)


def _is_the_same_for_all(facts: StepFacts, body: Foreach, inner: frozenset[str]) -> bool:
    """Tell whether every item's step writes the same: nothing of the item is in the address."""
    name = body.as_.value if body.as_ is not None else "item"
    index = f"{name}_index" if body.as_ is not None else "index"
    path = _path_arguments(facts)
    return path is None or not any(
        read[0] in {name, index} or (read[0] == "steps" and len(read) > 1 and read[1] in inner)
        for expression in expressions_in(path.value)
        for read in expression.reads
    )
