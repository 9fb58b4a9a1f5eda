"""What is certain about the expressions of a workflow's steps, and the values that show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dagflow.compiler.graph.build import Graphs
from dagflow.compiler.memory import Memory
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.proofs import guards
from dagflow.compiler.proofs.above import Above
from dagflow.compiler.proofs.prover import Asked, Prover, Verdict
from dagflow.core.findings import Related
from dagflow.core.records import dataclass
from dagflow.core.steps.switch import Switch
from dagflow.core.values import JsonObject, JsonValue, canonical
from dagflow.expr.ast import (
    Call,
    Const,
    Let,
    Loop,
    Node,
    Path,
    Var,
    children,
    to_json,
    walk,
    without_places,
)
from dagflow.expr.reads import paths_of

ROOTS: Final = frozenset({"inputs", "steps", "run"})

MOST_SHOWN: Final = 4
"""More values than this are left to the witness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Answers about one workflow, under the conditions above each step."""

    prover: Prover
    above: Above

    def is_never(self, facts: StepFacts, name: str) -> bool:
        """Tell whether an expression ("when", "branches.0") is surely not true where it is."""
        node = guards.ast_of(facts, name)
        return node is not None and self._never(facts, ((node, True),), name)

    def is_always(self, facts: StepFacts, name: str) -> bool:
        """Tell whether an expression is surely not false where it is asked."""
        node = guards.ast_of(facts, name)
        return node is not None and self._never(facts, ((node, False),), name)

    def is_never_by_itself(self, facts: StepFacts, name: str) -> bool:
        """Tell whether an expression is surely not true, whatever stands above its step."""
        node = guards.ast_of(facts, name)
        return node is not None and self.prover.is_never(facts, ((node, True),))

    def is_always_by_itself(self, facts: StepFacts, name: str) -> bool:
        """Tell whether an expression is surely not false, whatever stands above its step."""
        node = guards.ast_of(facts, name)
        return node is not None and self.prover.is_never(facts, ((node, False),))

    def excludes(self, facts: StepFacts, earlier: Sequence[Node], node: Node | None) -> bool:
        """Tell whether a switch's condition (None: `else`) surely isn't true after the others."""
        asked = [*((other, False) for other in earlier), *(((node, True),) if node else ())]
        return self._never(facts, asked, "branches")

    def taken(self, facts: StepFacts, asked: Sequence[Asked]) -> Verdict:
        """Tell whether conditions of a switch can come out so where it runs."""
        return self.prover.ask(facts, self._with_above(facts, asked, "branches"))

    def ends_never(self, loop: StepFacts) -> bool:
        """Tell whether the `until` of a loop is surely never true."""
        node = guards.ast_of(loop, "until")
        if node is None:
            return False
        if self.prover.is_never(loop, ((node, True),), inner=True):
            return True
        conditions = self.above.relevant(tuple(self.above.last(loop.path)), [node])
        return bool(conditions) and self.prover.is_never(
            loop, ((node, True), *conditions), inner=True
        )

    def fails(self, facts: StepFacts, node: Node, part: Node | None = None) -> Verdict:
        """Tell whether an expression of a step can be an error where it is evaluated.

        With a `part` of it, by that operation: its operands have values, and it has none.
        """
        is_guard = node is guards.ast_of(facts, "when")
        above = self.above.ready if is_guard else self.above.running
        conditions = self._near(facts, [node], above(facts.path))
        whole = self.prover.fails(facts, node, above=conditions)
        if whole.kind != "sometimes" or part is None or part is node or not _is_closed(part):
            return whole
        return self.prover.fails(facts, node, part, above=(*conditions, *_have_values(part)))

    def contradict(self, facts: StepFacts) -> tuple[str, ...] | None:
        """Return the steps above a step whose conditions can surely not hold all at once.

        It is one step where that one's own can't hold, and None where nothing is sure.
        """
        if not self._never_all(facts, self.above.ready(facts.path)):
            return None
        sources = tuple(self.above.by_source(facts.path))
        alone = (source for source, asked in sources if self._never_all(facts, asked))
        one = next(alone, None)
        return (one,) if one is not None else tuple(dict.fromkeys(name for name, _ in sources))

    def _never_all(self, facts: StepFacts, conditions: tuple[Asked, ...]) -> bool:
        return len(conditions) > 0 and self.prover.is_never(facts, conditions)

    def reasons(self, facts: StepFacts, name: str, *, wanted: bool) -> tuple[Related, ...]:
        """Return the conditions above a step without which its expression could come out so."""
        node = guards.ast_of(facts, name)
        if node is None:
            return ()
        kept = list(self._with_above(facts, ((node, wanted),), name))
        for one in kept[1:]:
            without = [other for other in kept if other is not one]
            if self.prover.is_never(facts, without):
                kept = without
        origins = (self.above.origin(condition) for condition, _ in kept[1:])
        found = [Related(origin.text, origin.span) for origin in origins if origin is not None]
        return tuple(sorted(found, key=lambda related: related.span))

    def needs_guard(self, reader: StepFacts, other: StepFacts) -> bool:
        """Tell whether a step surely does not run when another's guard is false.

        Asked are its own guard and what its control edges say, not what its reads need.
        """
        node = guards.ast_of(other, "when")
        asked = self.above.waited(reader.path)
        if node is None or not asked:
            return False
        near = self.above.relevant(asked, [node])
        return bool(near) and self.prover.is_never(reader, ((node, False), *near))

    def happens(
        self, reader: StepFacts | None, decided: Sequence[tuple[StepFacts, str, bool]]
    ) -> JsonObject:
        """Return values with which expressions of steps come out so and a reader is waited for.

        `{}` where that is not known: values are only shown that were confirmed.
        """
        asked: list[Asked] = []
        for facts, name, wanted in decided:
            found = _outcome(facts, name, wanted=wanted)
            if not found:
                return {}
            asked += [*found, *self._with_above(facts, found, name)]
        if not asked:
            return {}
        first = decided[0][0]
        waited = self.above.waited(reader.path) if reader and reader.block == first.block else ()
        near = self.above.relevant(waited, [node for node, _ in asked])
        verdict = self.prover.ask(first, tuple(dict.fromkeys((*asked, *near))))
        values = self.prover.witness(first, verdict)
        return values if isinstance(values, dict) else {}

    def is_excluded(self, facts: StepFacts, node: Node) -> bool:
        """Tell whether a formula is surely not true where a step's templates are made."""
        return self._never(facts, ((node, True),), "with")

    def repeats(self, facts: StepFacts, name: str) -> bool:
        """Tell whether an expression says again, word by word, what a guard above it says."""
        node = guards.ast_of(facts, name)
        if node is None:
            return False
        own = to_json(node)
        above = (one for one, wanted in self.above.ready(facts.path) if wanted)
        return any(without_places(to_json(one)) == without_places(own) for one in above)

    def exclusive(self, one: StepFacts, two: StepFacts) -> bool:
        """Tell whether two steps of a block can surely not both run."""
        first, second = self.above.running(one.path), self.above.running(two.path)
        if not first or not second:
            return False
        near = self.above.relevant(second, [node for node, _ in first])
        return bool(near) and self.prover.is_never(one, tuple(dict.fromkeys((*first, *near))))

    def _never(self, facts: StepFacts, asked: Sequence[Asked], name: str) -> bool:
        if self.prover.is_never(facts, asked):
            return True
        whole = self._with_above(facts, asked, name)
        return len(whole) > len(asked) and self.prover.is_never(facts, whole)

    def _with_above(self, facts: StepFacts, asked: Sequence[Asked], name: str) -> tuple[Asked, ...]:
        above = self.above.ready if name == "when" else self.above.running
        return (*asked, *self._near(facts, [node for node, _ in asked], above(facts.path)))

    def _near(
        self, facts: StepFacts, nodes: Sequence[Node], conditions: Sequence[Asked]
    ) -> tuple[Asked, ...]:
        """Return the conditions that bear on expressions, and what is known of what they read."""
        about = self.above.about(facts.path, [*nodes, *(node for node, _ in conditions)])
        return self.above.relevant((*conditions, *about), nodes)


def claims_of(model: Model, graphs: Graphs, memory: Memory | None = None) -> Claims:
    """Return the claims of one workflow; `memory` saves proving them anew, and changes nothing."""
    memory = Memory() if memory is None else memory
    return Claims(prover=Prover(model, memory), above=Above(graphs, memory))


def conditions(facts: StepFacts) -> tuple[Node | None, ...] | None:
    """Return the conditions of a switch, None for `else`; None when one of them is not known."""
    body = facts.step.body
    if not isinstance(body, Switch):
        return None
    found = [
        None if branch.when is None else guards.ast_of(facts, f"branches.{index}")
        for index, branch in enumerate(body.branches)
    ]
    known = all(
        node is not None or branch.when is None
        for node, branch in zip(found, body.branches, strict=True)
    )
    return tuple(found) if known else None


def _is_closed(part: Node) -> bool:
    """Tell whether a part of an expression reads nothing that the expression names itself."""
    own = {each.var for each in walk(part) if isinstance(each, Loop)}
    own |= {each.name for each in walk(part) if isinstance(each, Let)}
    names = {each.name for each in walk(part) if isinstance(each, Var)}
    return names - own <= ROOTS


def _have_values(part: Node) -> Iterator[Asked]:
    """Yield that the operands of an operation are no errors."""
    for operand in children(part):
        if not isinstance(operand, Const):
            yield Call("_==_", (operand, operand)), True


def _outcome(facts: StepFacts, name: str, *, wanted: bool) -> tuple[Asked, ...]:
    """Return what must be asked for an expression to come out so; `else` is all the others."""
    node = guards.ast_of(facts, name)
    if node is not None:
        return ((node, wanted),)
    every = conditions(facts) or ()
    if not name.startswith("branches.") or wanted:
        return ()
    return tuple((each, True) for each in every[:1] if each is not None)


def shown(values: JsonObject, nodes: Sequence[Node]) -> str:
    """Return the values of what the expressions read, in words: "`inputs.size` is 3 and …"."""
    paths = dict.fromkeys(path for node in nodes for path in paths_of(node))
    parts = []
    for path in paths:
        found = _at(values, path)
        if found is not None:
            parts.append(f"`{'.'.join(path)}` is {canonical(found[0]).decode()}")
    return " and ".join(parts) if len(parts) <= MOST_SHOWN else ""


def _at(values: JsonValue, path: Path) -> tuple[JsonValue] | None:
    for name in path:
        if not isinstance(values, dict) or name not in values:
            return None
        values = values[name]
    return (values,)
