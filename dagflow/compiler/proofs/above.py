"""What surely holds where a step runs: the guards and branches above it, on every path to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.graph.edges import Edge
from dagflow.compiler.memory import Memory
from dagflow.compiler.model import StepFacts
from dagflow.compiler.proofs.branches import recovered
from dagflow.compiler.proofs.guards import ast_of
from dagflow.compiler.proofs.prover import Asked
from dagflow.core.records import dataclass
from dagflow.core.source import Span
from dagflow.core.steps.switch import Switch
from dagflow.expr.ast import Call, Const, Node, Path, Select, Var, walk
from dagflow.expr.reads import paths_of

MOST: Final = 40
"""How many conditions are kept for one step; the nearest matter most."""

_PLAIN: Final = frozenset({"boolean", "integer", "number"})
_UNSIGNED: Final = frozenset({"uint", "bytes"})
_TIMES: Final = frozenset({"timestamp", "duration"})
_SUCCESS: Final = frozenset({"success"})
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

    def __init__(self, graphs: Graphs, memory: Memory) -> None:
        self._graphs = graphs
        self._memory = memory
        self._ready: dict[str, tuple[Asked, ...]] = {}
        self._chosen: dict[tuple[str, str], tuple[Asked, ...]] = {}
        self._own: dict[str, tuple[Asked, ...]] = {}
        self._origins: dict[int, Origin] = {}

    def ready(self, step: str) -> tuple[Asked, ...]:
        """Return what holds when a step becomes ready, its own guard not yet asked."""
        if step not in self._ready:
            graph = self._graphs.block_of(step)
            around = tuple(self._around(graph))
            for each in graph.order:
                self._ready[each] = _few((*self._made(graph, each), *around))
        return self._ready[step]

    def running(self, step: str) -> tuple[Asked, ...]:
        """Return what holds when a step runs: its own guard is true, too."""
        return _few((*self._guard(step), *self.ready(step)))

    def waited(self, step: str) -> tuple[Asked, ...]:
        """Return what holds when a step's control edges and its own guard let it run."""
        graph = self._graphs.block_of(step)
        self.ready(step)
        return _few((*self._guard(step), *self._joined(graph, step), *self._around(graph)))

    def origin(self, node: Node) -> Origin | None:
        """Return where a condition comes from; None for what is no text of the author's."""
        return self._origins.get(id(node))

    def by_source(self, step: str) -> Iterator[tuple[str, tuple[Asked, ...]]]:
        """Yield what each step that `step` surely follows says by itself."""
        graph = self._graphs.block_of(step)
        edges = graph.incoming.get(step, ())
        if _is_all(graph, step, edges):
            yield from ((edge.source, self._taken(edge)) for edge in edges)
        yield from ((need, self._succeeded(need)) for need in graph.needs(step))

    def about(self, step: str, nodes: Iterable[Node]) -> tuple[Asked, ...]:
        """Return what holds of the steps that expressions of `step` read, when it is ready.

        A step whose success it needs has succeeded, and a transform gave what its expression says,
        which may read other steps in turn.
        """
        found: dict[str, list[Asked]] = {}
        waiting = [(step, name) for node in nodes for name in self._steps_read(node)]
        while waiting:
            reader, name = waiting.pop()
            source = self._source(reader, name)
            if source is None or source in found:
                continue
            facts = self._graphs.facts[source]
            given = list(self._given(facts))
            found[source] = [(self._success(facts.name), True), *given]
            waiting += [(source, n) for node, _ in given for n in self._steps_read(node)]
        return tuple(asked for many in found.values() for asked in many)

    def relevant(self, asked: Sequence[Asked], nodes: Iterable[Node]) -> tuple[Asked, ...]:
        """Return the conditions that have to do with what some expressions read."""
        wanted = {key for node in nodes for key in self._keys(node)}
        left = [(one, self._keys(one[0])) for one in asked]
        found: list[Asked] = []
        while True:
            near = [entry for entry in left if not wanted.isdisjoint(entry[1])]
            if not near:
                return tuple(found)
            left = [entry for entry in left if wanted.isdisjoint(entry[1])]
            found += [one for one, _ in near]
            wanted.update(*(keys for _, keys in near))

    def _source(self, reader: str, name: str) -> str | None:
        """Return the step of that name, if `reader` surely follows its success."""
        graph = self._graphs.block_of(reader)
        edges = graph.incoming.get(reader, ())
        sure = list(graph.needs(reader))
        if _is_all(graph, reader, edges):
            sure += [e.source for e in edges if e.branches or frozenset(e.on) <= _SUCCESS]
        return next((s for s in sure if self._graphs.facts[s].name == name), None)

    def last(self, block: str) -> Iterator[Asked]:
        """Yield what the transforms of a block gave, for what is read when all have ended.

        Of a step that can be skipped or fail nothing is said.
        """
        graph = self._graphs.blocks[block]
        for step in graph.steps:
            facts = self._graphs.facts[step]
            if facts.step.when is None and not graph.incoming.get(step):
                yield from self._given(facts)

    def _success(self, name: str) -> Node:
        """Return that a step has succeeded; the same object in every compilation."""
        return self._memory.recall("success", name, lambda: _succeeded(name))

    def _given(self, facts: StepFacts) -> Iterator[Asked]:
        """Yield that a transform gave what its expression says."""
        node = ast_of(facts, "expression") if facts.kind == "transform" else None
        mended = any(handler.continue_ is not None for handler in facts.step.on_error)
        if node is not None and facts.step.output is None and not mended and _is_kept(facts, node):
            name = facts.name
            key = (name, id(node))
            yield self._memory.recall("given", key, lambda: _gives(name, node)), True

    def _keys(self, node: Node) -> tuple[Path, ...]:
        """Return what an expression reads: an input, a step's output, a variable of a loop."""
        return self._memory.about("keys", node, lambda: tuple(dict.fromkeys(_keys(node))))

    def _steps_read(self, node: Node) -> Iterator[str]:
        return (key[1] for key in self._keys(node) if key[0] == "steps" and len(key) > 1)

    def _around(self, graph: BlockGraph) -> Iterator[Asked]:
        """Yield what holds above the composite around a block, and means the same inside it."""
        if graph.path in self._graphs.facts:
            for node, wanted in self.running(graph.path):
                if all(path[0] in {"inputs", "run"} for path in paths_of(node)):
                    yield node, wanted

    def _made(self, graph: BlockGraph, step: str) -> Iterator[Asked]:
        yield from self._joined(graph, step)
        for need in graph.needs(step):
            yield from self._succeeded(need)

    def _joined(self, graph: BlockGraph, step: str) -> Iterator[Asked]:
        edges = graph.incoming.get(step, ())
        taken = [self._taken(edge) for edge in edges]
        if _is_all(graph, step, edges):
            yield from (one for many in taken for one in many)
        elif taken and all(taken):  # one of them, whichever
            yield _any(_all(many) for many in taken), True

    def _taken(self, edge: Edge) -> tuple[Asked, ...]:
        """Return what holds when an edge is taken."""
        if edge.branches and not edge.on:
            return (*self._choice(edge), *self._succeeded(edge.source))
        return self._succeeded(edge.source) if frozenset(edge.on) <= _SUCCESS else ()

    def _choice(self, edge: Edge) -> tuple[Asked, ...]:
        """Return the condition under which a switch takes the branches of an edge."""
        key = (edge.source, edge.target)
        facts = self._graphs.facts[edge.source]
        if key not in self._chosen and not recovered(facts):
            node = branches_taken(facts, edge.branches)
            branch = facts.step.body.branches[edge.branches[0]]
            text = f"{facts.name!r} takes the branch to {self._graphs.facts[edge.target].name!r}"
            self._origins[id(node)] = Origin(text, branch.span, node)
            self._chosen[key] = ((node, True),)
        return self._chosen.get(key, ())

    def _succeeded(self, step: str) -> tuple[Asked, ...]:
        """Return what holds when a step succeeded: its guard was true, unless that was mended."""
        mended = any(_mends_guard(handler) for handler in self._graphs.facts[step].step.on_error)
        return self.ready(step) if mended else self.running(step)

    def _guard(self, step: str) -> tuple[Asked, ...]:
        if step not in self._own:
            self._own[step] = self._read_guard(self._graphs.facts[step])
        return self._own[step]

    def _read_guard(self, facts: StepFacts) -> tuple[Asked, ...]:
        guard = ast_of(facts, "when")
        if guard is None:
            return ()
        if facts.step.when is not None:
            text = f"{facts.name!r} runs only when this is true"
            self._origins[id(guard)] = Origin(text, facts.step.when.span, guard)
        return ((guard, True),)


def _is_all(graph: BlockGraph, step: str, edges: Sequence[Edge]) -> bool:
    join = graph.join(step)
    return (
        join.mode == "all" or len(edges) <= 1 or (join.mode == "at_least" and join.n >= len(edges))
    )


def _succeeded(name: str) -> Node:
    status = Select(Select(Var("steps"), name), "status")
    return Call("_==_", (status, Const("string", "succeeded")))


def _gives(name: str, node: Node) -> Node:
    """Return that a step's output is the value of an expression, which it holds as an operand."""
    return Call("_==_", (Select(Select(Var("steps"), name), "output"), node))


def _is_kept(facts: StepFacts, node: Node) -> bool:
    """Tell whether who reads a step's output sees the very value of its expression.

    Outputs are JSON: an instant or a span of time is read as its text, an unsigned number as a
    plain one.
    """
    checked = facts.expressions.get("expression")
    result = checked.result if checked is not None else True
    plain = isinstance(result, dict) and result.get("type") in _PLAIN
    other = _UNSIGNED if plain else _UNSIGNED | _TIMES
    return not any(
        (isinstance(each, Call) and each.function in other)
        or (isinstance(each, Const) and each.kind in other)
        for each in walk(node)
    )


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


def _keys(node: Node) -> Iterator[Path]:
    for path in paths_of(node):
        yield path[:2] if path[0] in {"inputs", "steps", "run"} else path[:1]
