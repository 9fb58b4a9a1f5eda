"""Which branches of a switch can be taken: by its conditions, or where `on_error` names them."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.model import StepFacts
from dagflow.compiler.proofs.guards import constant
from dagflow.core.plan import Literal_
from dagflow.core.records import dataclass
from dagflow.core.steps.switch import Switch


@dataclass(frozen=True, slots=True)
class LiveBranches:
    """Which branches of a switch can be taken, and whether none may be."""

    branches: tuple[bool, ...]
    none: bool


def live_branches(facts: StepFacts) -> LiveBranches:
    """Return which branches of a switch can be taken: constant conditions and handlers tell."""
    body = facts.step.body
    branches = body.branches if isinstance(body, Switch) else ()
    live: list[bool] = []
    settled = False
    for index, branch in enumerate(branches):
        fixed = True if branch.when is None else constant(facts, f"branches.{index}")
        live.append(not settled and fixed is not False)
        settled = settled or fixed is True
    also = recovered(facts)
    return LiveBranches(
        tuple(is_live or index in also for index, is_live in enumerate(live)),
        none=not settled or len(live) in also,
    )


def recovered(facts: StepFacts) -> frozenset[int]:
    """Return the branches that a failed switch may go on with (`on_error: continue`).

    The number after the last stands for none of them.
    """
    body = facts.step.body
    count = len(body.branches) if isinstance(body, Switch) else 0
    found: set[int] = set()
    for index, handler in enumerate(facts.step.on_error):
        if handler.continue_ is not None:
            found.update(_named(facts, f"on_error.{index}", count))
    return frozenset(found)


def _named(facts: StepFacts, template: str, count: int) -> Iterator[int]:
    """Yield the branch that a handler's value names, every one where the value isn't fixed."""
    typed = facts.templates.get(template)
    value = typed.value.literal if typed and isinstance(typed.value, Literal_) else None
    if not isinstance(value, dict):
        yield from range(count + 1)
        return
    branch = value.get("branch")
    yield branch if isinstance(branch, int) and branch < count else count
