"""YAML source to `Workflow`: every problem in one pass, each at its place."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar

from dagflow.compiler.source.bodies import model_ref, positive, tool_ref
from dagflow.compiler.source.names import Twins
from dagflow.compiler.source.problems import Problems
from dagflow.compiler.source.records import Entries, below, read_slots, sort_out, table
from dagflow.compiler.source.shapes import read
from dagflow.compiler.source.spot import Bad, Context, Level, Spot
from dagflow.compiler.source.steps import FINALLY, read_block, refuse_compensation
from dagflow.compiler.source.wording import found
from dagflow.compiler.source.yaml import compose
from dagflow.core.findings import Finding
from dagflow.core.node import Mapping
from dagflow.core.records import dataclass
from dagflow.core.shape import Table
from dagflow.core.source import At, Source, Span
from dagflow.core.workflow import Step, Workflow

T = TypeVar("T")

STEPS: Final = "steps"
SLOTS: Final = table(Workflow)
KEYS: Final = frozenset({*SLOTS, STEPS, FINALLY})
BELOW: Final = {key: where for key, where in below(SLOTS.values()).items() if key not in KEYS}
MISSING: Final = {"dagflow": 1, "name": "workflow"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """What could be read of a file.

    `workflow` is None only when the file is no mapping at all. Where something in it could not be
    read there is a finding, and the workflow has what could: an optional key is left out, a
    missing name replaced. `broken` are the static paths of steps with an error in them; such a
    step is in `workflow` when enough of it could be read, so a name in `broken` that is not
    there is no unknown name.
    """

    workflow: Workflow | None
    findings: tuple[Finding, ...]
    broken: frozenset[str] = frozenset()


@lru_cache(maxsize=4)  # who reads the files that a workflow names asks just before the compiler
def parse(source: Source) -> Parsed:
    """Read a workflow file. Never raises: what is wrong with the text is a finding."""
    composed = compose(source)
    problems = Problems(composed.findings)
    root = composed.root
    start = Span(1, 1, 1, 1, source.name)
    context = Context(problems, read_block)
    spot = Spot(context, "", "", start)
    if root is None:
        if not problems.errors:
            spot.bad("the file is empty", start, "write a workflow: docs/yaml.md begins with one")
        return Parsed(None, problems.findings())
    if not isinstance(root, Mapping):
        said = f"a workflow is a mapping, not {found(root)}"
        spot.bad(said, root.span, "it begins with `dagflow: 1` and `name: …`")
        return Parsed(None, problems.findings())
    if "dagflow_test" in {key.value for key, _ in root.entries} and root.get("dagflow") is None:
        spot.bad("this is a test file, and no workflow", root.span, "`dagflow test` runs it")
        return Parsed(None, problems.findings())
    workflow = _workflow(source, root, spot)
    return Parsed(workflow, problems.findings(), frozenset(context.broken))


def _workflow(source: Source, root: Mapping, spot: Spot) -> Workflow:
    first = root.entries[0][0].span if root.entries else root.span
    spot = Spot(spot.context, "", "", first)
    entries = sort_out(root, KEYS, spot, lambda: BELOW)
    inner = spot.inside(Level("the workflow", KEYS))
    values = {key: At(value, first) for key, value in MISSING.items()} | _slots(entries, inner)
    steps = _block(STEPS, entries, inner, ())
    names = tuple((step.name.value, step.name.span) for step in steps)
    last = _block(FINALLY, entries, inner, names)
    if FINALLY in entries:
        refuse_compensation(last, inner.child(FINALLY, FINALLY, entries[FINALLY][0].span))
    workflow = Workflow(
        source=source, root=root, steps=steps, finally_=last, span=root.span, **values
    )
    _demand(workflow, inner)
    return workflow


def _slots(entries: Entries, spot: Spot) -> dict[str, Any]:
    """Return the top-level values that could be read; a required one that is bad is left out."""
    values: dict[str, Any] = {}
    for slot in SLOTS.values():
        values |= read_slots((slot,), entries, spot, read) or {}
    return values


def _block(
    key: str, entries: Entries, spot: Spot, names: tuple[tuple[str, Span], ...]
) -> tuple[Step, ...]:
    if key not in entries:
        if key == STEPS:
            spot.bad("the workflow has no `steps`", spot.span, "`steps`: name → step")
        return ()
    written, node = entries[key]
    at = spot.child(written.value, key, written.span).step("", names)
    steps = read_block(node, at)
    return () if isinstance(steps, Bad) else steps


def _demand(workflow: Workflow, spot: Spot) -> None:
    positive(workflow, spot)
    for key, record in (("defaults", workflow.defaults), ("cleanup", workflow.cleanup)):
        if record is not None:
            positive(record, spot.child(key, key, record.span))
    _entries("tools", workflow.tools, tool_ref, spot)
    _entries("models", workflow.models, model_ref, spot)
    twins = Twins()
    for index, secret in enumerate(workflow.secrets):
        at = spot.child("secrets", "secrets", secret.span).child(index, "secrets", secret.span)
        twins.admits(secret.value, secret.span, at, "the secret")


def _entries(key: str, table: Table[T], check: Callable[[T, Spot], None], spot: Spot) -> None:
    for name, value in table:
        at = spot.child(key, key, name.span).child(name.value, name.value, name.span)
        if not spot.context.problems.inside(at.pointer):
            check(value, at)
