"""Edges and joins as the description has them: what others' ends mean for a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Verdict: TypeAlias = Literal["taken", "not taken", "undecided"]

FINAL = {"succeeded", "failed", "timed_out", "skipped(guard)", "skipped(upstream)", "cancelled"}


@dataclass(frozen=True)
class Edge:
    """`after`: a step and the ways it may have ended."""

    step: str
    on: str = "success"


@dataclass(frozen=True)
class Handler:
    """`on_error`: classes (none: all), and a value to go on with or a step to go to."""

    on: tuple[str, ...] = ()
    continue_: int | None = None
    goto: str | None = None


class Controlled(Protocol):
    """What a step says of others; `targets` are the steps of each branch of a switch."""

    @property
    def name(self) -> str: ...
    @property
    def after(self) -> tuple[Edge, ...]: ...
    @property
    def join(self) -> str | int: ...
    @property
    def handlers(self) -> tuple[Handler, ...]: ...
    @property
    def targets(self) -> tuple[tuple[str, ...], ...]: ...


class Ended(Protocol):
    """How a step stands: its state, the branch that it took, where its failure led."""

    state: str
    branch: int | None
    goto: str


def edges(
    step: Controlled, block: Iterable[Controlled], seen: Mapping[str, Ended]
) -> list[tuple[str, Verdict]]:
    """One edge for each step that controls this one, taken when any of its conditions is."""
    block = tuple(block)
    conditions: dict[str, list[bool]] = {}
    leading = {it.name for it in block for to in it.targets if step.name in to}
    for edge in step.after:
        held = conditions.setdefault(edge.step, [])
        if edge.on != "success" or edge.step not in leading:
            held.append(_holds(edge, seen[edge.step].state))
    for other in block:
        chosen = [i for i, targets in enumerate(other.targets) if step.name in targets]
        if chosen:
            it = seen[other.name]
            taken = it.state == "succeeded" and it.branch in chosen
            conditions.setdefault(other.name, []).append(taken)
        if any(handler.goto == step.name for handler in other.handlers):
            taken = seen[other.name].goto == step.name
            conditions.setdefault(other.name, []).append(taken)
    return [(name, _verdict(seen[name].state, held)) for name, held in conditions.items()]


def _verdict(state: str, held: list[bool]) -> Verdict:
    if state not in FINAL:
        return "undecided"
    return "taken" if any(held) and state != "cancelled" else "not taken"


def _holds(edge: Edge, state: str) -> bool:
    return {
        "success": state == "succeeded",
        "failure": state in {"failed", "timed_out"},
        "skipped": state.startswith("skipped"),
        "done": state in FINAL,
    }[edge.on]


def joined(join: str | int, edges: Sequence[tuple[str, Verdict]]) -> Verdict:
    """Tell whether enough edges are taken, or can't be any more."""
    counts = {"taken": 0, "not taken": 0, "undecided": 0}
    for _, verdict in edges:
        counts[verdict] += 1
    if not edges:
        return "taken"
    if isinstance(join, int):
        if counts["taken"] >= join:
            return "taken"
        possible = counts["taken"] + counts["undecided"] >= join
        return "undecided" if possible else "not taken"
    if join == "any":
        if counts["undecided"]:
            return "undecided"
        return "taken" if counts["taken"] else "not taken"
    if counts["not taken"]:
        return "not taken"
    return "undecided" if counts["undecided"] else "taken"


def moment(join: str | int, edges: Sequence[tuple[int, Verdict]]) -> int:
    """Return when a join was decided, by when each edge was; 0 for one that isn't yet."""
    taken = sorted(at for at, verdict in edges if verdict == "taken")
    missed = sorted(at for at, verdict in edges if verdict == "not taken")
    if not edges or join == "any":
        return max([0, *taken, *missed])
    wanted = join if isinstance(join, int) else len(edges)
    if len(taken) >= wanted:
        return taken[wanted - 1]
    spare = max(0, len(edges) - wanted)
    return missed[spare] if len(missed) > spare else 0
