"""What a `foreach` iterates over and what a composite gives, from its inner steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dagflow.compiler.model import StepFacts
from dagflow.compiler.outputs import nullable
from dagflow.core.steps.approve import Approve, Goto
from dagflow.core.steps.switch import END, Switch
from dagflow.core.values import JsonValue, Schema
from dagflow.core.workflow import Step


def item_of(items: Schema) -> Schema:
    """Return the type of one item of a list."""
    found: JsonValue = items.get("items", True) if isinstance(items, dict) else True
    return found if isinstance(found, dict) or found is True else True


def followers(step: Step) -> Iterator[str]:
    """Yield the names of steps that a step's own text sends control to."""
    body = step.body
    if isinstance(body, Switch):
        for branch in body.branches:
            yield from (at.value for at in (*branch.then, *branch.else_) if at.value != END)
    if isinstance(body, Approve) and isinstance(body.on_expiry, Goto):
        yield body.on_expiry.goto.value
    yield from (handler.goto.value for handler in step.on_error if handler.goto is not None)


def sinks_of(steps: Sequence[StepFacts]) -> tuple[str, ...]:
    """Return the paths of the last steps of a block.

    They lead to no other step of it: none waits for them or reads them, itself or from inside,
    and they send control to none. The facts must hold the reads of composites' inner steps.
    """
    names = {facts.name: facts.path for facts in steps}
    before: set[str] = set()
    for facts in steps:
        before.update(names.get(after.step.value, "") for after in facts.step.after)
        before.update(read.step for read in facts.reads if read.step != facts.path)
        if any(name in names for name in followers(facts.step)):
            before.add(facts.path)
    return tuple(path for path in names.values() if path not in before)


def collected(composite: StepFacts, inner: Sequence[StepFacts]) -> str | None:
    """Return the path of the inner step whose output is what one frame of a composite gives.

    None where `collect` says what that is, or there are several last steps.
    """
    if composite.step.body.collect is not None:
        return None
    sinks = sinks_of(inner)
    return sinks[0] if len(sinks) == 1 else None


def entry_of(composite: StepFacts, inner: Sequence[StepFacts]) -> Schema:
    """Return the output type of a `foreach` or `repeat` whose inner steps are typed."""
    entry = _entry(composite, inner)
    may_skip = composite.step.body.collect is None and _may_skip(inner)
    if composite.kind == "repeat":
        return nullable(entry) if may_skip else entry
    body = composite.step.body
    tolerant = body.tolerate is not None and body.tolerate.value > 0
    items = nullable(entry) if may_skip or tolerant else entry
    return {"type": "array", "items": items, "maxItems": body.max_items.value}


def _entry(composite: StepFacts, inner: Sequence[StepFacts]) -> Schema:
    if composite.step.body.collect is not None:
        checked = composite.expressions.get("collect")
        return checked.result if checked else True
    sink = collected(composite, inner)
    return next((facts.output for facts in inner if facts.path == sink), True)


def _may_skip(inner: Sequence[StepFacts]) -> bool:
    """Tell whether the sink of a block may be skipped while the block as a whole succeeds."""
    return any(_may_divert(facts.step) for facts in inner)


def _may_divert(step: Step) -> bool:
    odd_edge = any(after.on is not None and after.on.value != "success" for after in step.after)
    return step.when is not None or odd_edge or any(True for _ in followers(step))
