"""Which steps every successful run makes."""

from __future__ import annotations

from dagflow.compiler.defaults import seconds
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.types.composites import followers
from dagflow.core.steps.wait import Wait

_SUCCESS = frozenset({"success", "done"})


def certain_steps(model: Model) -> tuple[StepFacts, ...]:
    """Return the steps of the top that no guard, branch, join or handler can leave out.

    A run in which one of them fails or is skipped does not succeed, but for `on_error`: what
    waits for a handled step is not counted. Safe: a step that is not certain is never returned.
    Each comes after those it waits for.
    """
    top = model.blocks[""]
    diverted = {name for facts in top.steps for name in followers(facts.step)}
    certain: dict[str, StepFacts] = {}
    pending = [facts for facts in top.steps if facts.name not in diverted]
    while pending:
        ready = [facts for facts in pending if _is_certain(facts, certain)]
        if not ready:
            break
        certain.update((facts.path, facts) for facts in ready)
        pending = [facts for facts in pending if facts.path not in certain]
    return tuple(certain.values())


def _is_certain(facts: StepFacts, certain: dict[str, StepFacts]) -> bool:
    if facts.step.when is not None:
        return False
    for after in facts.step.after:
        word = after.on.value if after.on is not None else "success"
        if word not in _SUCCESS or not _is_sound(after.step.value, certain):
            return False
    return all(_is_sound(read.step, certain) for read in facts.reads if read.required)


def _is_sound(path: str, certain: dict[str, StepFacts]) -> bool:
    found = certain.get(path)
    return found is not None and not any(h.goto is not None for h in found.step.on_error)


def fastest(model: Model) -> float:
    """Return the seconds that no run that succeeds can beat: the waits of a fixed length."""
    ends: dict[str, float] = {}
    for facts in certain_steps(model):
        before = [after.step.value for after in facts.step.after]
        before += [read.step for read in facts.reads if read.required]
        start = max((ends[path] for path in before), default=0.0)
        body = facts.step.body
        length = seconds(body.for_) if isinstance(body, Wait) else None
        ends[facts.path] = start + (length or 0.0)
    return max(ends.values(), default=0.0)
