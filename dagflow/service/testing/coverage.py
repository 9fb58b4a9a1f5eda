"""Which parts of a plan no case came to: steps, branches, handlers, guards never false."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from dagflow.core.plan import Plan, PlanStep, steps_of
from dagflow.core.records import dataclass
from dagflow.service.testing.trace import EXPIRED, RAN, SKIPPED, Reached, branch, handler


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many parts of a plan cases came to, of how many, and those that they did not.

    `needless` are parts that cases came to, though files say that none does.
    """

    reached: int
    total: int
    missing: tuple[str, ...]
    needless: tuple[str, ...] = ()


def coverage(
    plan: Plan, reached: AbstractSet[Reached], spared: AbstractSet[str] = frozenset()
) -> Coverage:
    """Return what cases came to of a plan; the workflows that it calls have tests of their own.

    Of a step that was never run, its branches, guard and handlers are not named again; what is
    `spared` is not named at all.
    """
    parts = [part for step in steps_of(plan) for part in parts_of(step)]
    missing = [part for part in parts if part not in reached]
    unrun = {path for path, part in missing if part == RAN}
    told = [name(*it) for it in missing if it[1] == RAN or it[0] not in unrun]
    needless = {name(*it) for it in parts if it in reached} & spared
    shown = tuple(it for it in told if it not in spared)
    return Coverage(len(parts) - len(missing), len(parts), shown, tuple(sorted(needless)))


def parts_of(step: PlanStep) -> Iterator[Reached]:
    """Yield the parts of a step that a run may come to."""
    yield step.path, RAN
    if step.when is not None:
        yield step.path, SKIPPED
    for index, _ in enumerate(step.branches):
        yield step.path, branch(index)
    if step.body.get("on_expiry") == "goto":
        yield step.path, EXPIRED
    for index, _ in enumerate(step.on_error):
        yield step.path, handler(index)


def name(path: str, part: str) -> str:
    """Write a part as the note shows it: `close`, `route[1]`, `taken.on_error[0]`."""
    if part == RAN:
        return path
    if part.startswith("["):
        return f"{path}{part}"
    return f"{path} {part}" if part in {SKIPPED, EXPIRED} else f"{path}.{part}"
