"""What surely holds where a step runs: the guards and branches above it, on every path to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.graph.edges import Edge
from dagflow.compiler.model import StepFacts
from dagflow.compiler.proofs.branches import recovered
from dagflow.compiler.proofs.guards import ast_of
from dagflow.compiler.proofs.prover import Asked
from dagflow.core.records import dataclass
from dagflow.core.source import Span
from dagflow.core.steps.switch import Switch
from dagflow.expr.ast import Call, Const, Node, Select, Var
from dagflow.expr.reads import paths_of

MOST: Final = 40
"""How many conditions are kept for one step; the nearest matter most."""

_RAN: Final = frozenset({"success"})
_TRUE: Final = Const("bool", True)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a condition stands, and what it says of the runs that come by."""

    text: str
    span: Span
    node: Node


class Above:
    """The conditions above the steps of one workflow; each is worked out once.

    A condition above a step is an expression that came out true (or false) in every run in which
    the step becomes ready. An edge on failure says nothing: a step also fails when its guard does.
    """

    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs
        self._ready: dict[str, tuple[Asked, ...]] = {}
        self._success: dict[str, tuple[Asked, ...]] = {}
        self._origins: dict[int, Origin] = {}

    def ready(self, step: str) -> tuple[Asked, ...]:
        """Return what holds when a step becomes ready, its own guard not yet asked."""
        if step not in self._ready:
            for earlier in self._unknown(step):
                self._ready[earlier] = self._made(earlier)
        return self._ready[step]

    def running(self, step: str) -> tuple[Asked, ...]:
        """Return what holds when a step runs: its own guard is true, too."""
        return _few((*self._own(step), *self.ready(step)))

    def by_source(self, step: str) -> Iterator[tuple[str, tuple[Asked, ...]]]:
        """Yield what each step that `step` surely follows says by itself."""
        graph = self._graphs.block_of(step)
        edges = graph.incoming.get(step, ())
        if graph.join(step).mode == "all" or len(edges) == 1:
            yield from ((edge.source, self._taken(edge)) for edge in edges)
        yield from ((need, self._succeeded(need)) for need in graph.needs(step))

    def last(self, block: str) -> Iterator[tuple[Asked, ...]]:
        """Yield what the transforms of a block gave, for what is read when all have ended.

        Of a step that can be skipped or fail nothing is said.
        """
        for step in self._graphs.blocks[block].steps:
            facts = self._graphs.facts[step]
            if facts.step.when is None and not self._graphs.blocks[block].incoming.get(step):
                yield tuple(_given(facts))

    def origin(self, node: Node) -> Origin | None:
        """Return where a condition comes from; None for what is no text of the author's."""
        return self._origins.get(id(node))

    def _unknown(self, step: str) -> list[str]:
        """Return the steps that must be worked out first, each after those above it."""
        graph = self._graphs.block_of(step)
        order = graph.order[: graph.order.index(step) + 1]
        return [each for each in order if each not in self._ready]

    def _made(self, step: str) -> tuple[Asked, ...]:
        graph = self._graphs.block_of(step)
        needed = (one for need in graph.needs(step) for one in self._succeeded(need))
        return _few((*self._joined(graph, step), *needed, *self._around(graph)))

    def _around(self, graph: BlockGraph) -> Iterator[Asked]:
        """Yield what holds above the composite around a block, and means the same inside it."""
        if graph.path in self._graphs.facts:
            for node, wanted in self.running(graph.path):
                if all(path[0] in {"inputs", "run"} for path in paths_of(node)):
                    yield node, wanted

    def _joined(self, graph: BlockGraph, step: str) -> tuple[Asked, ...]:
        edges = graph.incoming.get(step, ())
        join = graph.join(step)
        is_all = join.mode == "all" or (join.mode == "at_least" and join.n >= len(edges))
        taken = [self._taken(edge) for edge in edges]
        if is_all or len(edges) == 1:
            return tuple(one for many in taken for one in many)
        if all(taken):  # one of them, whichever
            return ((_any(_all(many) for many in taken), True),) if taken else ()
        return ()

    def _taken(self, edge: Edge) -> tuple[Asked, ...]:
        """Return what holds when an edge is taken."""
        if edge.branches and not edge.on:
            return (*self._chosen(edge), *self._succeeded(edge.source))
        return self._succeeded(edge.source) if frozenset(edge.on) <= _RAN else ()

    def _chosen(self, edge: Edge) -> tuple[Asked, ...]:
        facts = self._graphs.facts[edge.source]
        if recovered(facts):
            return ()
        node = branches_taken(facts, edge.branches)
        branch = facts.step.body.branches[edge.branches[0]]
        text = f"{facts.name!r} takes the branch to {self._graphs.facts[edge.target].name!r}"
        self._origins[id(node)] = Origin(text, branch.span, node)
        return ((node, True),)

    def _succeeded(self, step: str) -> tuple[Asked, ...]:
        """Return what holds when a step succeeded: its guard was true, unless that was mended."""
        if step not in self._success:
            self._success[step] = _few(self._after(step))
        return self._success[step]

    def _after(self, step: str) -> tuple[Asked, ...]:
        facts = self._graphs.facts[step]
        status = Select(Select(Var("steps"), facts.name), "status")
        own = (Call("_==_", (status, Const("string", "succeeded"))), True)
        if any(handler.continue_ is not None for handler in facts.step.on_error):
            # it may have been mended: also after its guard could not be told, where that is handled
            mended = any(_mends_guard(handler) for handler in facts.step.on_error)
            return (own, *(self.ready(step) if mended else self.running(step)))
        return (own, *_given(facts), *self.running(step))

    def _own(self, step: str) -> tuple[Asked, ...]:
        facts = self._graphs.facts[step]
        guard = ast_of(facts, "when")
        if guard is None or facts.step.when is None:
            return ()
        text = f"{facts.name!r} runs only when this is true"
        self._origins[id(guard)] = Origin(text, facts.step.when.span, guard)
        return ((guard, True),)


def _given(facts: StepFacts) -> Iterator[Asked]:
    """Yield that a transform gave what its expression says."""
    node = ast_of(facts, "expression") if facts.kind == "transform" else None
    if node is not None and facts.step.output is None:
        output = Select(Select(Var("steps"), facts.name), "output")
        yield Call("_==_", (output, node)), True


def _mends_guard(handler: object) -> bool:
    on = [name.value for name in getattr(handler, "on", ())]
    return getattr(handler, "continue_", None) is not None and (not on or "guard" in on)


def branches_taken(facts: StepFacts, chosen: Sequence[int]) -> Node:
    """Return the condition under which a switch takes one of the branches."""
    body = facts.step.body
    assert isinstance(body, Switch)
    nodes = [
        _TRUE if branch.when is None else ast_of(facts, f"branches.{index}")
        for index, branch in enumerate(body.branches)
    ]
    ways = (_branch(nodes, index) for index in chosen)
    return _any(way for way in ways)


def _branch(nodes: Sequence[Node | None], index: int) -> Node:
    if any(node is None for node in nodes[: index + 1]):
        return _TRUE  # one that did not check
    earlier = (Call("!_", (node,)) for node in nodes[:index] if node is not None)
    last = nodes[index]
    assert last is not None
    return _all((node, True) for node in (*earlier, last))


def _all(asked: Iterable[Asked]) -> Node:
    parts = [node if wanted else Call("!_", (node,)) for node, wanted in asked]
    return _folded("_&&_", parts)


def _any(parts: Iterable[Node]) -> Node:
    return _folded("_||_", list(parts))


def _folded(operator: str, parts: list[Node]) -> Node:
    """Return one call of an operator over all parts, in a tree that is not deep."""
    while len(parts) > 1:
        parts = [
            Call(operator, tuple(parts[at : at + 2])) if at + 1 < len(parts) else parts[at]
            for at in range(0, len(parts), 2)
        ]
    return parts[0] if parts else _TRUE


def _few(asked: Iterable[Asked]) -> tuple[Asked, ...]:
    """Return each once, the nearest first, and no more than are worth keeping."""
    found: dict[tuple[int, bool], Asked] = {}
    for node, wanted in asked:
        if node is not _TRUE:
            found.setdefault((id(node), wanted), (node, wanted))
    return tuple(found.values())[:MOST]


def relevant(asked: Sequence[Asked], nodes: Iterable[Node]) -> tuple[Asked, ...]:
    """Return the conditions that have to do with what some expressions read."""
    wanted = {key for node in nodes for key in _keys(node)}
    left = [(one, frozenset(_keys(one[0]))) for one in asked]
    found: list[Asked] = []
    while True:
        near = [entry for entry in left if entry[1] & wanted]
        if not near:
            return tuple(found)
        found += [one for one, _ in near]
        wanted = wanted | {key for _, keys in near for key in keys}
        left = [entry for entry in left if entry not in near]


def _keys(node: Node) -> Iterator[tuple[str, ...]]:
    """Yield what an expression reads: an input, a step's output, a variable of a loop."""
    for path in paths_of(node):
        yield path[:2] if path[0] in {"inputs", "steps", "run"} else path[:1]
