"""The conditions of a step's moves, as CEL texts over the states of other steps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.graph.edges import Edge, sibling
from dagflow.compiler.model import StepFacts
from dagflow.compiler.proofs.reach import needed
from dagflow.core.steps.approve import Approve, Goto

ALWAYS: Final = "true"
NEVER: Final = "false"

FAILED: Final = ("failed", "timed_out")
FINAL: Final = ("succeeded", *FAILED, "skipped", "cancelled")
_STATES: Final = {
    "success": ("succeeded",),
    "failure": FAILED,
    "skipped": ("skipped",),
    "done": ("succeeded", *FAILED, "skipped"),
}

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS: Final = frozenset({"in", "true", "false", "null"})


def joined(parts: Iterable[str]) -> str:
    """Return the condition that all the parts hold."""
    found = list(dict.fromkeys(part for part in parts if part != ALWAYS))
    if NEVER in found:
        return NEVER
    return " && ".join(map(_grouped, found) if len(found) > 1 else found) or ALWAYS


def either(parts: Iterable[str]) -> str:
    """Return the condition that one of the parts holds."""
    found = list(dict.fromkeys(part for part in parts if part != NEVER))
    if ALWAYS in found:
        return ALWAYS
    return " || ".join(map(_grouped, found) if len(found) > 1 else found) or NEVER


def denied(text: str) -> str:
    """Return the condition that the text does not hold."""
    return {ALWAYS: NEVER, NEVER: ALWAYS}.get(text, f"!({text})")


def _grouped(text: str) -> str:
    return f"({text})" if "&&" in text or "||" in text or "?" in text else text


def step_name(path: str) -> str:
    """Return how an expression of the same block names a step."""
    name = path.rpartition(".")[2]
    plain = _PLAIN.fullmatch(name) and name not in _WORDS
    return f"steps.{name}" if plain else f"steps.`{name}`"


def is_in(path: str, states: tuple[str, ...]) -> str:
    """Return the condition that a step is in one of these states."""
    return f"{step_name(path)}.status {_one_of(states)}"


@cache
def _one_of(states: tuple[str, ...]) -> str:
    if len(states) == 1:
        return f"== {json.dumps(states[0])}"
    return f"in [{', '.join(map(json.dumps, states))}]"


def taken(edge: Edge, source: StepFacts) -> str:
    """Return the condition that a control edge is taken."""
    return either((*_ways(edge, source), *_branches(edge)))


def _ways(edge: Edge, source: StepFacts) -> Iterator[str]:
    states = dict.fromkeys(s for on in edge.on if on != "goto" for s in _STATES[on])
    if states:
        yield is_in(edge.source, tuple(states))
    if "goto" in edge.on and not set(FAILED) <= set(states):
        yield joined((is_in(edge.source, FAILED), _sent(edge, source)))


def _branches(edge: Edge) -> Iterator[str]:
    if edge.branches and "success" not in edge.on:
        chosen = f"{step_name(edge.source)}.output.branch"
        numbers = ", ".join(map(str, edge.branches))
        wanted = f"{chosen} == {numbers}" if len(edge.branches) == 1 else f"{chosen} in [{numbers}]"
        yield joined((is_in(edge.source, ("succeeded",)), wanted))


def _sent(edge: Edge, source: StepFacts) -> str:
    """Return the condition that a failure of `source` goes to the edge's target."""
    error = f"{step_name(edge.source)}.error.class"
    earlier: list[str] = []
    found: list[str] = []
    for handler in source.step.on_error:
        here = one_of(error, [name.value for name in handler.on])
        target = None if handler.goto is None else sibling(source.block, handler.goto.value)
        if target == edge.target:
            found.append(joined((here, *map(denied, earlier))))
        earlier.append(here)
    body = source.step.body
    if isinstance(body, Approve) and isinstance(body.on_expiry, Goto):
        found.append(f'{error} == "expired"')
    return either(found)


def one_of(term: str, values: list[str]) -> str:
    """Return the condition that a term is one of the values; none named means any."""
    if not values:
        return ALWAYS
    if len(values) == 1:
        return f"{term} == {json.dumps(values[0])}"
    return f"{term} in [{', '.join(map(json.dumps, values))}]"


def _missed(edge: Edge, source: StepFacts) -> str:
    """Return the condition that a control edge can't be taken any more."""
    if edge.branches or "goto" in edge.on:
        return joined((is_in(edge.source, FINAL), denied(taken(edge, source))))
    return is_in(edge.source, _others(state for on in edge.on for state in _STATES[on]))


def _others(states: Iterable[str]) -> tuple[str, ...]:
    named = frozenset(states)
    return tuple(state for state in FINAL if state not in named)


def may_start(graph: BlockGraph, sources: dict[str, StepFacts], step: str) -> str:
    """Return the condition that a step's join fires and that all it reads is there."""
    edges = graph.incoming.get(step, ())
    each = [taken(edge, sources[edge.source]) for edge in edges]
    count = needed(graph.join(step), len(edges))
    mode = graph.join(step).mode
    control = {"all": joined(each), "any": either(each), "at_least": _count(each, count)}[mode]
    decided = [is_in(e.source, FINAL) for e in edges] if mode == "any" and len(edges) > 1 else []
    return joined(
        (
            control if edges else ALWAYS,
            *decided,
            *(is_in(need, ("succeeded",)) for need in graph.needs(step)),
            *(is_in(other, FINAL) for other in graph.awaits(step)),
        )
    )


def _count(each: list[str], count: int) -> str:
    if count <= 1:
        return either(each)
    return f"sum([{', '.join(f'{part} ? 1 : 0' for part in each)}]) >= {count}"


def cannot_start(graph: BlockGraph, sources: dict[str, StepFacts], step: str) -> str:
    """Return the condition that a step's join can't fire any more, or that a read has no value."""
    edges = graph.incoming.get(step, ())
    missed = [_missed(edge, sources[edge.source]) for edge in edges]
    spare = len(edges) - needed(graph.join(step), len(edges))
    if not edges:
        control = NEVER
    elif spare == 0:
        control = either(missed)
    elif spare == len(edges) - 1:
        control = joined(missed)
    else:
        control = _count(missed, spare + 1)
    lost = (is_in(need, _others(("succeeded",))) for need in graph.needs(step))
    return either((control, *lost))
