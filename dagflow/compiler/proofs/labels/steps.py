"""The labels of what every step gives and takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Final

from dagflow.compiler.graph.build import Graphs
from dagflow.compiler.graph.edges import sibling
from dagflow.compiler.model import TOPS, Model, StepFacts, Typed
from dagflow.compiler.names.scopes import item_names
from dagflow.compiler.proofs.guards import ast_of
from dagflow.compiler.proofs.labels.carrying import carries
from dagflow.compiler.proofs.labels.expressions import Reading, fields_of, labels_of
from dagflow.compiler.proofs.labels.trails import (
    CLEAN,
    DERIVED,
    EVERY,
    INPUT,
    Label,
    Trail,
    Trails,
    is_input,
    is_outside,
    joined,
    only,
    through,
    written_of,
)
from dagflow.compiler.proofs.schemas import schema_at
from dagflow.compiler.types.composites import collected
from dagflow.core.findings import Related
from dagflow.core.node import Mapping as MappingNode
from dagflow.core.plan import GivenText
from dagflow.core.records import dataclass
from dagflow.core.steps.foreach import Foreach
from dagflow.core.steps.wait import Wait
from dagflow.core.workflow import FieldDecl
from dagflow.expr.ast import Path

MOST_INPUTS: Final = 32
"""Inputs of a workflow that are followed each by itself; of more, all are one."""

ROUNDS: Final = 3
"""How often a loop is gone through: what a turn says of the one before it settles by then."""


@dataclass(frozen=True, slots=True)
class Given:
    """The labels of a step's output: as a whole, and of single fields where they are known."""

    whole: Trails = field(default_factory=dict)
    fields: Mapping[str, Trails] | None = None

    def at(self, path: Path) -> Trails:
        """Return the labels of what lies at a path inside the output."""
        if path and self.fields is not None and path[0] in self.fields:
            return self.fields[path[0]]
        return self.whole


class Labels:
    """The labels of one workflow's values; with `inputs`, those of its inputs, too."""

    def __init__(self, model: Model, graphs: Graphs, *, inputs: bool = False) -> None:
        self._model = model
        texts = tuple(texts_in(model)) if inputs else ()
        self._inputs = {each.name.value: each for each in texts}
        self._given: dict[str, Given] = {}
        self._showing: dict[str, dict[Path, set[str]]] = {}
        self._by_place = {facts.step.name.span: facts for facts in model.steps()}
        is_source = inputs or model.workflow.secrets or any(map(brings, model.steps()))
        if not is_source:
            return
        rounds = ROUNDS if any(block.kind == "repeat" for block in model.blocks.values()) else 1
        for _ in range(rounds):
            for top in TOPS:
                self._go_through(graphs, top)

    def _go_through(self, graphs: Graphs, block: str) -> None:
        """Label what a block's steps give, each after those that it reads."""
        for step in graphs.blocks[block].order if block in graphs.blocks else ():
            self._go_through(graphs, step)
            self._given[step] = self._output(graphs.facts[step])

    def given(self, step: str) -> Given:
        """Return the labels of a step's output."""
        return self._given.get(step, Given())

    def source(self, trail: Trail) -> StepFacts | None:
        """Return the step where a trail begins."""
        return self._by_place.get(trail.source.span)

    def of(self, facts: StepFacts | None, typed: Typed) -> Trails:
        """Return the labels of a template's value: none where its type can carry no text.

        `facts` is the step that it is of, None for the outputs of the workflow.
        """
        if not carries(typed.schema):
            return CLEAN
        parts = [self.of(facts, part) for part in typed.parts]
        read = self._reading(facts)
        own = typed.checked if not typed.parts else ()
        made = [labels_of(each.node, read) for each in own if each.node is not None]
        return joined((*parts, *made))

    def taken(self, facts: StepFacts, keys: Callable[[str], bool]) -> Trails:
        """Return the labels of all that a step takes by templates of these names."""
        return joined(self.of(facts, typed) for key, typed in facts.templates.items() if keys(key))

    def showing(self, block: str, paths: Iterable[Path]) -> set[str]:
        """Return the approvals of a block that show all that lies at these paths."""
        if block not in self._showing:
            self._showing[block] = _shown_by(self._model.blocks[block].of_kind("approve"))
        index = self._showing[block]
        found = [
            set().union(*(index.get(path[:end], ()) for end in range(1, len(path) + 1)))
            for path in paths
        ]
        return set.intersection(*found) if found else set()

    # what steps give

    def _output(self, facts: StepFacts) -> Given:
        if not carries(facts.output):
            return Given()
        make = _OUTPUTS.get(facts.kind, Labels.of_arguments)
        found = make(self, facts)
        handlers = self.taken(facts, lambda key: key.startswith("on_error."))
        return Given(joined((found.whole, handlers)), found.fields)

    def of_arguments(self, facts: StepFacts) -> Given:
        """A step that makes its output of what it takes."""
        taken = self.taken(facts, lambda key: not key.startswith("on_error."))
        network = getattr(facts.step.body, "network", None)
        if network is not None and network.value:  # its secrets are for whom it asks there
            read = _source(facts, "untrusted", "reads the network")
            return Given(joined((only(taken, _is_no_secret), read)))
        return Given(through(taken, _place(facts, "makes its output of it")))

    def of_tool(self, facts: StepFacts) -> Given:
        """A tool's answer is written by whoever runs or fills that service."""
        return Given(_source(facts, "untrusted", "gives what another service says"))

    def of_model(self, facts: StepFacts) -> Given:
        """A model's answer may be what the texts in its prompt told it to say."""
        asked = self.taken(facts, lambda key: not key.startswith("on_error."))
        told = through(asked, _place(facts, "a model writes its answer of it"))
        own = _source(facts, "model", "gives what a model says")
        inputs = dict(only(told, is_input))
        inputs |= {written_of(label): trail for label, trail in inputs.items()}
        if "untrusted" not in told:
            return Given(joined((own, inputs)))
        trail = told["untrusted"]
        return Given(joined(({"model": trail, "untrusted": trail}, inputs)))

    def of_wait(self, facts: StepFacts) -> Given:
        """A signal's payload is written by whoever sends it."""
        is_signal = isinstance(facts.step.body, Wait) and facts.step.body.signal is not None
        return Given(_source(facts, "untrusted", "gives what a signal holds") if is_signal else {})

    def of_transform(self, facts: StepFacts) -> Given:
        """A transform gives what its expression says, field by field where that is an object."""
        node = ast_of(facts, "expression")
        if node is None:
            return Given()
        read, place = self._reading(facts), _place(facts, "passes it on")
        fields = {name: through(trails, place) for name, trails in fields_of(node, read).items()}
        return Given(through(labels_of(node, read), place), fields or None)

    def of_composite(self, facts: StepFacts) -> Given:
        """A loop gives what its turns give."""
        node = ast_of(facts, "collect")
        if node is not None:
            inner = self._model.blocks[facts.path].steps
            read = self._reading(inner[0] if inner else facts)
            return Given(through(labels_of(node, read), _place(facts, "collects it")))
        last = collected(facts, self._model.blocks[facts.path].steps)
        whole = self.given(last).whole if last is not None else CLEAN
        return Given(through(whole, _place(facts, "collects it")))

    def of_child(self, facts: StepFacts) -> Given:
        """A called workflow gives what it reads itself, and what it is given, as its plan says."""
        texts = facts.child.texts if facts.child is not None else None
        if texts is None:
            return Given()
        fields = {
            each.output: joined((*_labelled(facts, each), *self._passed(facts, each)))
            for each in texts.given
        }
        rest = {name: CLEAN for name, _ in facts.child.outputs} if facts.child else {}
        return Given(joined(fields.values()), {**rest, **fields})

    def _passed(self, facts: StepFacts, given: GivenText) -> Iterator[Trails]:
        """Yield the labels of what a called workflow is given and puts into one of its outputs."""
        place = _place(facts, "passes it on")
        for name in given.inputs:
            yield through(self.of_field(facts, name), place)

    def of_field(self, facts: StepFacts, name: str) -> Trails:
        """Return the labels of one field of a step's `with`."""
        typed = facts.templates.get("with")
        if typed is None:
            return CLEAN
        if not isinstance(typed.node, MappingNode) or name == EVERY:
            return self.of(facts, typed)
        fields = zip(typed.node.entries, typed.parts, strict=True)
        return joined(self.of(facts, part) for (key, _), part in fields if key.value == name)

    def of_nothing(self, _facts: StepFacts) -> Given:
        """A switch, an approval or a failure gives nothing that anybody wrote freely."""
        return Given()

    # what expressions read

    def _reading(self, facts: StepFacts | None) -> Reading:
        return lambda path: self.read(facts, path)

    def read(self, facts: StepFacts | None, path: Path) -> Trails:
        """Return the labels of what lies at a path, as a step sees it."""
        if path[0] == "secrets":
            return {} if facts is None else {DERIVED: Trail(_place(facts, "is given a secret"))}
        if path[0] == "inputs":
            return joined(self._of_inputs(path))
        if path[0] == "steps" and len(path) > 2 and path[2] == "output":  # noqa: PLR2004
            return self._of_step(facts, path)
        if path[0] == "steps" and len(path) > 2 and path[2] in {"error", "errors"}:  # noqa: PLR2004
            source = self._seen(facts, path[1])
            return CLEAN if source is None else self.given(source.path).whole
        return self._of_loop(facts, path)

    @property
    def _is_each(self) -> bool:
        """Tell whether each input is followed by itself."""
        return len(self._inputs) <= MOST_INPUTS

    def _of_inputs(self, path: Path) -> Iterator[Trails]:
        schema = schema_at(path, self._model, None) if len(path) > 1 else True
        if schema is not None and not carries(schema):
            return
        for name in [path[1]] if len(path) > 1 else self._inputs:
            if name in self._inputs:
                place = Related(f"input {name!r}", self._inputs[name].name.span)
                yield {f"{INPUT}{name if self._is_each else EVERY}": Trail(place)}

    def _of_step(self, facts: StepFacts | None, path: Path) -> Trails:
        source = self._seen(facts, path[1])
        if source is None:
            return CLEAN
        schema = schema_at(path, self._model, facts)
        if schema is not None and not carries(schema):
            return CLEAN
        return self.given(source.path).at(path[3:])

    def _of_loop(self, facts: StepFacts | None, path: Path) -> Trails:
        """Return the labels of an item, or of what the turn before gave."""
        for composite in self._around(facts.block if facts is not None else ""):
            body = composite.step.body
            if isinstance(body, Foreach):
                if path[0] == item_names(body)[0]:
                    node = ast_of(composite, "items")
                    place = _place(composite, "goes through it item by item")
                    found = labels_of(node, self._reading(composite)) if node else CLEAN
                    return through(found, place)
            elif path[0] == "previous":
                return self.given(composite.path).whole
        return CLEAN

    def _around(self, block: str) -> Iterator[StepFacts]:
        while block not in TOPS:
            composite = self._model.find(block)
            if composite is None:
                return
            yield composite
            block = composite.block

    def _seen(self, facts: StepFacts | None, name: str) -> StepFacts | None:
        block = facts.block if facts is not None else ""
        while True:
            found = self._model.find(sibling(block, name))
            if found is not None or block in TOPS:
                return found
            around = self._model.find(block)
            block = around.block if around else ""


_OUTPUTS: Final[Mapping[str, Callable[[Labels, StepFacts], Given]]] = {
    "tool": Labels.of_tool,
    "llm": Labels.of_model,
    "wait": Labels.of_wait,
    "transform": Labels.of_transform,
    "foreach": Labels.of_composite,
    "repeat": Labels.of_composite,
    "workflow": Labels.of_child,
    "switch": Labels.of_nothing,
    "approve": Labels.of_nothing,
    "fail": Labels.of_nothing,
}
"""What each kind gives; of a kind that isn't listed, what it takes."""


def texts_in(model: Model) -> Iterator[FieldDecl]:
    """Yield the inputs of a workflow that may hold text which somebody has freely chosen."""
    declared = model.workflow.inputs
    for each in declared.fields if declared is not None else ():
        if carries(each.type.schema):
            yield each


def brings(facts: StepFacts) -> bool:
    """Tell whether a step may bring text from outside."""
    network = getattr(facts.step.body, "network", None)
    return facts.kind in {"tool", "llm", "wait", "workflow"} or network is not None


def _place(facts: StepFacts, text: str) -> Related:
    return Related(f"{facts.path!r} {text}", facts.step.name.span)


def _source(facts: StepFacts, label: str, text: str) -> Trails:
    trail = Trail(_place(facts, text))
    return {"model": trail} if label == "model" else {"untrusted": trail}


def _labelled(facts: StepFacts, given: GivenText) -> Iterator[Trails]:
    """Yield the labels of an output that a called workflow brings in itself."""
    trail = Trail(_place(facts, "gives what a workflow read outside"))
    yield {label: trail for label in given.labels if is_outside(label) or label == DERIVED}


def _shown_by(approvals: Iterable[StepFacts]) -> dict[Path, set[str]]:
    """Return the approvals that show what lies at a path, by that path."""
    found: dict[Path, set[str]] = {}
    for approval in approvals:
        seen = (approval.templates.get(key) for key in ("with", "message"))
        for read in (each for typed in seen if typed is not None for each in typed.checked):
            for path in read.paths:
                found.setdefault(path, set()).add(approval.path)
    return found


def _is_no_secret(label: Label) -> bool:
    return label != DERIVED
