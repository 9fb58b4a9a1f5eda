"""The workflow as resolved and typed: blocks of steps, what each reads, and what each gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from dagflow.core.findings import Fix
from dagflow.core.node import Node
from dagflow.core.plan import Expression, Plan, Value
from dagflow.core.records import dataclass
from dagflow.core.source import Span
from dagflow.core.steps.kind import Effects
from dagflow.core.tool import Operation, ToolCatalog
from dagflow.core.values import JsonValue, Schema
from dagflow.core.workflow import Step, Workflow

if TYPE_CHECKING:
    from dagflow.expr import Checked
    from dagflow.expr.ast import Node as ExpressionNode

TOPS: Final = ("", "finally")
"""The paths of the blocks that stand in no step."""

BlockKind: TypeAlias = Literal["steps", "finally", "foreach", "repeat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One expression of a step reads another step.

    `step` is the producer's static path; `required` tells a plain read (the producer must have
    succeeded) from an ordering one (under `?`, of `status|error|errors|reason`, or dominated by
    a test of that status). `field` is "output", "status", "error", "errors", "reason" or "".
    `where` is "when", "with", "body", "output", "until", "items", "collect", "on_error",
    "branches", "compensate" or, of the steps inside a composite, "inner".
    """

    step: str
    required: bool
    field: str
    span: Span
    text: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """A template as checked: what runs, and the schema of what it gives.

    `parts` are the typed entries of a mapping or list, in order; `node` is what it was made of.
    """

    value: Value
    schema: Schema
    node: Node
    parts: tuple[Typed, ...] = ()
    checked: tuple[Checked, ...] = ()

    @property
    def span(self) -> Span:
        """Return the place of the template."""
        return self.node.span


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """A step with all that was found out about it.

    `path` is static (`loop.grade`); `block` the path of the block it stands in. `reads` are those
    of all its expressions, and for a composite also those that its inner steps make of steps
    outside it. `expressions` are the checked bare expressions by name ("when", "items", "until",
    "collect", "expression", "branches.0"), `lowered` the same as they will run, `templates` the
    checked templates ("with", "message", "messages.0", "argv.0", "on_error.0"); all leave out what
    did not check. `input` is what `with` must satisfy. `broken` tells that an error was found in
    it, so that its types are unknown and no later check should speak of it.
    """

    step: Step
    path: str
    block: str
    reads: tuple[Read, ...] = ()
    output: Schema = True
    expressions: Mapping[str, Checked] = field(default_factory=dict)
    lowered: Mapping[str, Expression] = field(default_factory=dict)
    templates: Mapping[str, Typed] = field(default_factory=dict)
    effects: Effects = "once"
    operation: Operation | None = None
    child: Plan | None = None
    input: Schema = True
    check_input: bool = False
    check_output: bool = False
    compensate: StepFacts | None = None
    broken: bool = False

    @property
    def name(self) -> str:
        """Return the step's name as written."""
        return self.step.name.value

    @property
    def kind(self) -> str:
        """Return the step's kind."""
        return self.step.kind.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One scope of steps, in the order of the file.

    The top is "", `finally` is "finally", and the inner steps of a composite have its path.
    `parent` is the path of the block around it, None for the top and `finally`. `variables` are the
    types of what its steps see beside `steps` and `secrets` (`inputs`, `run`, an item, a turn).
    """

    path: str
    kind: BlockKind
    steps: tuple[StepFacts, ...]
    parent: str | None = None
    variables: Mapping[str, Schema] = field(default_factory=dict)
    _named: Mapping[str, StepFacts] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    _kinds: Mapping[str, tuple[StepFacts, ...]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def of_kind(self, kind: str) -> tuple[StepFacts, ...]:
        """Return the steps of a kind."""
        if self._kinds is None:
            found: dict[str, list[StepFacts]] = {}
            for facts in self.steps:
                found.setdefault(facts.kind, []).append(facts)
            object.__setattr__(self, "_kinds", {name: tuple(of) for name, of in found.items()})
        return () if self._kinds is None else self._kinds.get(kind, ())

    def get(self, name: str) -> StepFacts | None:
        """Return the step of that name, or None."""
        if self._named is None:
            named = {facts.name: facts for facts in reversed(self.steps)}
            object.__setattr__(self, "_named", named)
        return None if self._named is None else self._named.get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something wrong that resolving or typing met; the rule of that name makes it a finding.

    `about` is the whole expression that it is about, where a proof may tell more of it, and `part`
    the operation in it that is at fault.
    """

    rule: str
    span: Span
    message: str
    step: str = ""
    help: str = ""
    severity: Literal["error", "warning", "note"] | None = None
    fixes: tuple[Fix, ...] = ()
    witness: JsonValue = None
    about: ExpressionNode | None = None
    part: ExpressionNode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A whole workflow, resolved and typed.

    `blocks` are by path: the top first, then the others in the order of the file, `finally` last.
    `outputs` are the run's outputs as checked and `output_reads` what they read; `used` the names
    that expressions read ("input:x", "secret:y"); `missing` steps that could not be read at all.
    """

    workflow: Workflow
    blocks: Mapping[str, Block]
    catalog: ToolCatalog
    output_reads: tuple[Read, ...] = ()
    outputs: Mapping[str, Typed] = field(default_factory=dict)
    concurrency: Typed | None = None
    children: Mapping[str, Plan] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    used: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()

    def steps(self) -> Iterator[StepFacts]:
        """Yield every step of every block, without compensations."""
        for block in self.blocks.values():
            yield from block.steps

    def find(self, path: str) -> StepFacts | None:
        """Return the step at a static path, or None."""
        inner, _, name = path.rpartition(".")
        for block in (inner,) if inner else TOPS:
            found = self.blocks[block].get(name) if block in self.blocks else None
            if found is not None:
                return found
        return None


def block_of(path: str) -> str:
    """Return the path of the block that a nested step stands in; "" for a step of the top."""
    return path.rpartition(".")[0]


def called(model: Model | None) -> Iterator[tuple[StepFacts, Operation]]:
    """Yield every step that calls a tool's operation, compensations too, with the operation."""
    for facts in model.steps() if model is not None else ():
        for each in (facts, facts.compensate):
            if each is not None and each.operation is not None:
                yield each, each.operation
