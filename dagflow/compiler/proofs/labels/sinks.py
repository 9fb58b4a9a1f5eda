"""Where labelled values end: what a step takes, piece by piece, and what was approved of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

from dagflow.compiler.model import TOPS, Model, StepFacts, Typed
from dagflow.compiler.names.scopes import item_names
from dagflow.compiler.proofs.labels.carrying import carries
from dagflow.compiler.proofs.labels.steps import Labels
from dagflow.compiler.proofs.labels.trails import Label, Trails, is_outside, only
from dagflow.compiler.proofs.reach import Reach
from dagflow.core.node import Mapping as MappingNode
from dagflow.core.records import dataclass
from dagflow.core.steps.foreach import Foreach
from dagflow.core.steps.llm import Llm
from dagflow.expr.ast import Path

READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""The methods that change nothing."""

Place: TypeAlias = Literal[
    "path", "query", "header", "cookie", "body", "program", "system", "value"
]
"""What a piece of what a step takes is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A piece of what a step takes that carries labels. `paths` are those that it reads.

    `name` is the field of `with` that it stands in, or the template's own name.
    """

    facts: StepFacts
    typed: Typed
    name: str
    place: Place
    trails: Trails
    paths: tuple[Path, ...]


def acting(model: Model) -> Iterator[StepFacts]:
    """Yield the steps, and the compensations, that change something outside."""
    for facts in model.steps():
        for each in (facts, facts.compensate):
            if each is not None and is_acting(each):
                yield each


def is_acting(facts: StepFacts) -> bool:
    """Tell whether a step changes something outside: a write operation, code with network."""
    if facts.operation is not None:
        return facts.operation.method not in READING
    network = getattr(facts.step.body, "network", None)
    return network is not None and bool(network.value)


def taken(
    labels: Labels, facts: StepFacts, wanted: Callable[[Label], bool] = is_outside
) -> Iterator[Taken]:
    """Yield the pieces of what a step takes that carry wanted labels, in the order of the file.

    Of a step that says why it trusts what it takes, none.
    """
    if facts.step.trust is None or not facts.step.trust.value.strip():
        yield from labelled(labels, facts, wanted)


def labelled(labels: Labels, facts: StepFacts, wanted: Callable[[Label], bool]) -> Iterator[Taken]:
    """Yield the pieces of what a step takes that carry wanted labels, trusted or not."""
    for key, typed in facts.templates.items():
        if key.startswith("on_error."):
            continue
        for name, place, leaf in _leaves(facts, key, typed):
            trails = only(labels.of(facts, leaf), wanted)
            if trails and carries(leaf.schema):
                paths = tuple(dict.fromkeys(p for each in leaf.checked for p in each.paths))
                yield Taken(
                    facts=facts, typed=leaf, name=name, place=place, trails=trails, paths=paths
                )


def _leaves(facts: StepFacts, key: str, typed: Typed) -> Iterator[tuple[str, Place, Typed]]:
    if key == "with" and isinstance(typed.node, MappingNode):
        groups = _GROUPS if facts.operation is not None else {}
        for (entry, _), part in zip(typed.node.entries, typed.parts, strict=True):
            name = str(entry.value)
            yield from ((name, groups.get(name, "value"), leaf) for leaf in _parts(part))
        return
    place = "system" if _is_system(facts, key) else _BY_KEY.get((facts.kind, key), "value")
    yield from ((key, place, leaf) for leaf in _parts(typed))


def _is_system(facts: StepFacts, key: str) -> bool:
    """Tell whether a template of an llm step is a system message."""
    name, _, index = key.partition(".")
    if not isinstance(facts.step.body, Llm) or name not in {"system", "messages"}:
        return False
    return name == "system" or facts.step.body.messages[int(index)].role.value == "system"


_GROUPS: Final[dict[str, Place]] = {
    "path": "path", "query": "query", "header": "header", "cookie": "cookie", "body": "body",
}  # fmt: skip
_BY_KEY: Final[dict[tuple[str, str], Place]] = {("shell", "argv.0"): "program"}


def _parts(typed: Typed) -> Iterator[Typed]:
    if not typed.parts:
        yield typed
    for part in typed.parts:
        yield from _parts(part)


def decides(labels: Labels, piece: Taken) -> str | None:
    """Say what text from outside would choose by this piece, None where that is nothing of worth.

    What a service said of itself may go back to it: an id, an entity tag.
    """
    if piece.place == "program":
        return "text from outside would be the program that runs"
    if piece.place == "system":
        return "text from outside would be in the model's system message"
    if comes_from_the_same_tool(labels, piece):
        return None
    if piece.place in {"header", "cookie"}:
        return f"text from outside would be in a {piece.place} of the request"
    if piece.place == "path" and is_acting(piece.facts):
        return "text from outside would choose what the request changes"
    return None


def comes_from_the_same_tool(labels: Labels, piece: Taken) -> bool:
    """Tell whether all of a piece is what the called service itself said before."""
    own = _tool(piece.facts)
    sources = [labels.source(trail) for trail in piece.trails.values()]
    return "model" not in piece.trails and all(
        source is not None and _tool(source) == own for source in sources
    )


def _tool(facts: StepFacts) -> str:
    return facts.operation.id.partition(".")[0] if facts.operation is not None else facts.path


def approvals(model: Model, reach: Reach, facts: StepFacts) -> Iterator[StepFacts]:
    """Yield the approvals that were surely given when a step becomes ready, also around loops."""
    here: StepFacts | None = facts
    while here is not None:
        for other in model.blocks[here.block].of_kind("approve"):
            if _is_given(reach, here, other.path):
                yield other
        here = None if here.block in TOPS else model.find(here.block)


def is_approved(model: Model, reach: Reach, labels: Labels, piece: Taken) -> bool:
    """Tell whether somebody who saw all that a piece reads has surely approved its step."""
    here, paths = piece.facts, piece.paths
    while True:
        shown = labels.showing(here.block, paths)
        if any(_is_given(reach, here, approval) for approval in sorted(shown)):
            return True
        around = None if here.block in TOPS else model.find(here.block)
        if around is None:
            return False
        here, paths = around, outside(around, paths)


def outside(loop: StepFacts, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return what paths read that stand inside of a loop, as it is seen around it."""
    body, items = loop.step.body, loop.expressions.get("items")
    if not isinstance(body, Foreach) or items is None:
        return paths
    item, index = item_names(body)
    found = (
        items.paths if path[0] == item else () if path[0] == index else (path,) for path in paths
    )
    return tuple(dict.fromkeys(path for many in found for path in many))


def _is_given(reach: Reach, facts: StepFacts, approval: str) -> bool:
    block = reach.blocks[facts.block]
    ready = block.ready.get(facts.path.removesuffix(".compensate"))
    return ready is not None and block.implies(ready, approval)
