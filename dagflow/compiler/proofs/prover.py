"""Asks whether expressions can come out so: cheaply where that decides, else of Z3."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from dagflow.compiler.graph.edges import sibling
from dagflow.compiler.memory import Memory
from dagflow.compiler.model import TOPS, Model, StepFacts
from dagflow.compiler.outputs import closed
from dagflow.compiler.proofs import guards
from dagflow.compiler.proofs.numbers import Lookup
from dagflow.compiler.proofs.schemas import schema_at
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, Schema, canonical
from dagflow.expr.ast import Node, Path, path_of, to_json, walk, without_places
from dagflow.expr.reads import paths_of
from dagflow.expr.scope import step_view
from dagflow.expr.types import Type, of_schema

if TYPE_CHECKING:
    from dagflow.compiler.proofs.solver.query import Answer

Asked: TypeAlias = tuple[Node, bool]
"""An expression, and whether it is to be true or false."""

Key: TypeAlias = tuple[str, tuple[tuple[int, bool], ...]]

TOTAL: Final = 6_000_000
"""How much the questions of one compilation may cost together, in Z3's units; beyond that all
others are undecided."""

INNER: Final = frozenset({"until", "collect"})
"""The expressions of a composite that see its inner steps."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of a question.

    "never": no values make it so. "sometimes": `values` do, by root variable, as the CEL engine
    has confirmed. "unknown": undecided.
    """

    kind: str
    values: JsonObject | None = None


NEVER: Final = Verdict("never")
UNKNOWN: Final = Verdict("unknown")


KEPT: Final = 4_096
_ANSWERS: Final[dict[tuple[bytes, str, int], tuple[bool, int]]] = {}
"""Answers of Z3 in this process, by the whole question and the effort that it was given. The order
of properties is a part of the question: the effort that an answer takes hangs on it, too."""


class Prover:
    """Answers for one workflow. It remembers answers, and how much effort is left."""

    def __init__(self, model: Model, memory: Memory, *, total: int = TOTAL) -> None:
        self._model = model
        self._memory = memory
        self._left = total
        self._known: dict[bytes, Verdict] = {}
        self._asked: dict[Key, Verdict] = {}
        self._never: dict[Key, bool] = {}
        self._kept: list[Node] = []

    def lookup(self, facts: StepFacts) -> Lookup:
        """Return how the expressions of a step find the schema of what a path reads."""

        def schema(path: tuple[str, ...]) -> Schema:
            found = schema_at(path, self._model, facts)
            return True if found is None else found

        return schema

    def ask(self, facts: StepFacts, asked: Sequence[Asked], *, inner: bool = False) -> Verdict:
        """Tell whether the expressions can come out so, all at once.

        They are read as `facts` sees its variables; with `inner` as its own inner steps do.
        """
        block = facts.path if inner else facts.block
        key = _key(block, asked)
        if key not in self._asked:
            self._asked[key] = self._simple(facts, asked, inner) or self._solved(block, asked)
            self._kept += [node for node, _ in asked]
        return self._asked[key]

    def _simple(self, facts: StepFacts, asked: Sequence[Asked], inner: bool) -> Verdict | None:
        """Return the answer where looking at one term at a time gives one."""
        if inner:
            return None
        key = (tuple([(id(node), wanted) for node, wanted in asked]), self._seen_by(facts, asked))
        return self._memory.recall(
            "guards", key, lambda: (asked, _decided(asked, self.lookup(facts)))
        )[1]  # what is kept holds the nodes, so that their ids are theirs

    def _seen_by(self, facts: StepFacts, asked: Sequence[Asked]) -> tuple[object, ...]:
        """Return what stands for the schemas that a lookup of these expressions can come to."""
        number = self._memory.number
        names = dict.fromkeys(name for node, _ in asked for name in self._steps_in(node))
        steps = ((name, self._seen(facts.block, name)) for name in names)
        outputs = [(name, number(step.output)) for name, step in steps if step is not None]
        inputs = self._model.blocks[facts.block].variables.get("inputs", True)
        return (number(inputs), *outputs)

    def _steps_in(self, node: Node) -> tuple[str, ...]:
        """Return the names behind `steps`, whether or not a loop gives that word another sense."""

        def found() -> tuple[str, ...]:
            paths = (path_of(each) for each in walk(node))
            return tuple({p[1]: None for p in paths if p and p[0] == "steps" and len(p) > 1})

        return self._memory.about("steps in", node, found)

    def is_never(self, facts: StepFacts, asked: Sequence[Asked], *, inner: bool = False) -> bool:
        """Tell whether the expressions can surely not come out so, all at once."""
        block = facts.path if inner else facts.block
        key = _key(block, asked)
        if key in self._asked:
            return self._asked[key].kind == "never"
        if key not in self._never:
            self._kept += [node for node, _ in asked]
            simple = self._simple(facts, asked, inner)
            self._never[key] = (
                self._never_of_z3(block, asked) if simple is None else simple.kind == "never"
            )
        return self._never[key]

    def _never_of_z3(self, block: str, asked: Sequence[Asked]) -> bool:
        if self._left <= 0:
            return False
        from dagflow.compiler.proofs.solver.query import EFFORT, Claim, is_never

        types = self._types(block, [node for node, _ in asked])
        effort = min(EFFORT, self._left)
        question = (_question(asked, types), repr(types), effort)
        if question not in _ANSWERS:  # the same question has the same answer in any workflow
            claims = [Claim(node, wanted) for node, wanted in asked]
            _ANSWERS[question] = is_never(claims, _root(types), effort=effort)
            while len(_ANSWERS) > KEPT:
                del _ANSWERS[next(iter(_ANSWERS))]
        found, spent = _ANSWERS[question]
        self._left -= spent
        return found

    def fails(self, facts: StepFacts, *nodes: Node, above: Sequence[Asked]) -> Verdict:
        """Tell whether expressions can all be errors where the others come out so."""
        return self._solved(facts.block, above, failing=nodes)

    def witness(self, facts: StepFacts | None, verdict: Verdict) -> JsonValue:
        """Return the values of a verdict with all that such values must hold besides."""
        from dagflow.compiler.proofs.solver.reading import UnreadableError, whole

        if not verdict.values:
            return None
        variables = self._model.blocks[facts.block if facts else ""].variables
        found = dict(verdict.values)
        inputs = found.get("inputs")
        try:
            if isinstance(inputs, dict):
                found["inputs"] = whole(of_schema(variables["inputs"]), inputs)
        except UnreadableError:
            pass  # what is read is there; the rest is the reader's to choose
        return found

    def _solved(
        self, block: str, asked: Sequence[Asked], failing: tuple[Node, ...] = ()
    ) -> Verdict:
        nodes = [*(node for node, _ in asked), *failing]
        types = self._types(block, nodes)
        key = _question(asked, types, failing)
        if key not in self._known:
            self._known[key] = self._of_z3(key, asked, failing, types)
        return self._known[key]

    def _of_z3(
        self,
        key: bytes,
        asked: Sequence[Asked],
        failing: tuple[Node, ...],
        types: dict[str, Schema],
    ) -> Verdict:
        if self._left <= 0:
            return UNKNOWN
        from dagflow.compiler.proofs.solver.query import EFFORT, Claim, ask

        claims = [Claim(node, wanted) for node, wanted in asked]
        claims += [Claim(node, "error") for node in failing]
        effort = min(EFFORT, self._left)
        question = (key, self._memory.number(types), effort)
        found: Answer = self._memory.recall(
            "solver", question, lambda: ask(claims, _root(types), effort=effort)
        )
        self._left -= found.effort
        return Verdict(found.verdict, found.values if found.verdict == "sometimes" else None)

    def _types(self, block: str, nodes: Iterable[Node]) -> dict[str, Schema]:
        """Return the schemas of the variables that the expressions read."""
        paths = dict.fromkeys(path for node in nodes for path in paths_of(node))
        variables = self._model.blocks[block].variables
        found: dict[str, Schema] = {
            name: variables[name]
            for name in dict.fromkeys(p[0] for p in paths)
            if name in variables
        }
        steps = self._steps(block, paths)
        return {**found, "steps": closed(steps, tuple(steps))} if steps else found

    def _steps(self, block: str, paths: Iterable[Path]) -> dict[str, Schema]:
        names = dict.fromkeys(path[1] for path in paths if path[0] == "steps" and len(path) > 1)
        found = {name: self._seen(block, name) for name in names}
        return {
            name: step_view(facts.output, foreach=facts.kind == "foreach")
            for name, facts in found.items()
            if facts is not None
        }

    def _seen(self, block: str, name: str) -> StepFacts | None:
        """Return the step of a name, as the steps of a block see it."""
        while True:
            found = self._model.find(sibling(block, name))
            if found is not None or block in TOPS:
                return found
            around = self._model.find(block)
            block = around.block if around else ""


def _question(
    asked: Sequence[Asked], types: Mapping[str, Schema], failing: tuple[Node, ...] = ()
) -> bytes:
    """Return what a question says, wherever it stands."""
    return canonical([
        [[without_places(to_json(node)), wanted] for node, wanted in asked],
        [without_places(to_json(node)) for node in failing],
        dict(types),
    ])  # fmt: skip


def _key(block: str, asked: Sequence[Asked]) -> Key:
    """Return a key of a question, by identity: comparing whole expressions costs more."""
    return block, tuple([(id(node), wanted) for node, wanted in asked])


def _decided(asked: Sequence[Asked], lookup: Lookup) -> Verdict | None:
    found = guards.decide(asked, lookup)
    if found == "never":
        return NEVER
    return None if found is None else Verdict("sometimes", found)


def _root(types: dict[str, Schema]) -> Callable[[str], Type | None]:
    def root(name: str) -> Type | None:
        return of_schema(types[name]) if name in types else None

    return root
