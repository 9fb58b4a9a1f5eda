"""Reads blocks of steps: each step's one kind, its body, its other keys, its compensation."""

from __future__ import annotations

from typing import Any, Final

from dagflow.compiler.source.bodies import DEMANDS, handlers, positive
from dagflow.compiler.source.names import Twins, name_of
from dagflow.compiler.source.problems import listed
from dagflow.compiler.source.records import Entries, below, read_slots, sort_out, table
from dagflow.compiler.source.shapes import read
from dagflow.compiler.source.spot import BAD, Bad, Level, Spot
from dagflow.compiler.source.wording import found
from dagflow.core.findings import Related
from dagflow.core.node import Mapping, Node, Scalar
from dagflow.core.shape import Record
from dagflow.core.source import At, Span
from dagflow.core.steps import FUTURE_KINDS, KINDS
from dagflow.core.steps.switch import END
from dagflow.core.workflow import Step

COMPENSATE: Final = "compensate"
FINALLY: Final = "finally"
RESERVED: Final = {
    END: "a switch branch that goes to `end` means that nothing more follows",
    FINALLY: "it is the name of the block of clean-up steps",
}
SLOTS: Final = table(Step)
ALL_KEYS: Final = frozenset({*SLOTS, COMPENSATE, *KINDS, *FUTURE_KINDS})
UNDO_KINDS: Final = frozenset(name for name, kind in KINDS.items() if not kind.in_engine)
UNDO_UNFIT: Final = frozenset({"after", "when", "join", "on_error", COMPENSATE, "cache"})
HELP: Final = (
    f"a step has one kind ({listed(sorted(KINDS))}) and any of "
    f"{listed(sorted({*SLOTS, COMPENSATE}), 'and')}"
)
STEP_LEVEL: Final = below(SLOTS.values())


def read_block(node: Node, spot: Spot) -> tuple[Step, ...] | Bad:
    """Read `name: step, …` in the order of the file.

    Steps that can't be read are left out and named in `spot.context.broken`.
    """
    if not isinstance(node, Mapping):
        empty = isinstance(node, Scalar) and node.value is None and not node.raw
        said = "has no steps" if empty else f"takes a mapping of names to steps, not {found(node)}"
        span = spot.span if empty else node.span
        return spot.bad(
            f"`{spot.label}` {said}", span, "for example `fetch: {transform: inputs.x}`"
        )
    if not node.entries:
        return spot.bad(f"`{spot.label}` has no steps", node.span, "write at least one step")
    twins = Twins(spot.names)
    names = (*spot.names, *((str(key.value), key.span) for key, _ in node.entries))
    steps = []
    for key, value in node.entries:
        label = str(key.value)
        path = f"{spot.path}.{label}" if spot.path else label
        inner = spot.child(key.value, label, key.span, HELP).step(path, names, "step")
        step = _named_step(key, value, inner, twins, nested=bool(spot.path))
        if not isinstance(step, Bad):
            steps.append(step)
    return tuple(steps)


def _named_step(key: Scalar, node: Node, spot: Spot, twins: Twins, *, nested: bool) -> Step | Bad:
    errors = spot.context.problems.errors
    name = _step_name(key, spot, twins, nested=nested)
    step = _step(key, node, spot)
    if spot.context.problems.errors > errors:
        spot.context.broken.add(spot.path)
    return step if isinstance(name, At) else BAD


def _step_name(key: Scalar, spot: Spot, twins: Twins, *, nested: bool) -> At[str] | Bad:
    name = name_of(key, spot)
    if isinstance(name, Bad):
        return name
    why = RESERVED.get(name.value)
    if nested and name.value == COMPENSATE:
        why = "the path of a compensation ends with it"
    if why:
        return spot.bad(f"a step can't be named `{name.value}`", key.span, why)
    return name if twins.admits(name.value, key.span, spot, "step") else BAD


def _step(key: Scalar, node: Node, spot: Spot) -> Step | Bad:
    name = At(str(key.value), key.span)
    if not isinstance(node, Mapping):
        return _no_mapping(name, node, spot)
    entries = sort_out(node, ALL_KEYS, spot, lambda: _deeper(node))
    moved = _moved(node) if len(entries) < len(node.entries) else ()
    kind_key = _kind(name, node, entries, spot)
    level = Level(f"step `{name.value}`", ALL_KEYS)
    inner = spot.inside(level)
    values = read_slots(SLOTS.values(), entries, inner, read)
    undo = _compensation(name, entries, inner)
    if kind_key is None or values is None:
        return BAD
    body = _body(kind_key, moved, entries, inner)
    if isinstance(body, Bad):
        return BAD
    at = At(kind_key, entries[kind_key][0].span)
    step = Step(name=name, kind=at, body=body, compensate=undo, span=node.span, **values)
    _demand(step, inner)
    return step


def _deeper(node: Mapping) -> dict[str, str]:
    """Return the keys that belong under one of a step's, those of its own kinds first."""
    kinds = [str(key.value) for key, _ in node.entries if key.value in KINDS]
    own = {key: kind for kind in kinds for key in table(KINDS[kind].body)}
    return {key: where for key, where in (STEP_LEVEL | own).items() if key not in ALL_KEYS}


def _moved(node: Mapping) -> tuple[tuple[Scalar, Node], ...]:
    """Return the entries that belong under the step's kind, to be read as if they stood there."""
    deeper = _deeper(node)
    return tuple(entry for entry in node.entries if deeper.get(str(entry[0].value)) in KINDS)


def _no_mapping(name: At[str], node: Node, spot: Spot) -> Bad:
    text = node.value if isinstance(node, Scalar) else None
    if text in KINDS:
        return spot.bad(
            f"step `{name.value}` is a mapping with one kind, not the word `{text}`", node.span,
            f"write `{name.value}: {{{text}: …}}`",
        )  # fmt: skip
    empty = isinstance(node, Scalar) and node.value is None and not node.raw
    said = "has nothing in it" if empty else f"is a mapping, not {found(node)}"
    span = name.span if empty else node.span
    return spot.bad(f"step `{name.value}` {said}", span, f"give it a kind: {listed(sorted(KINDS))}")


def _kind(name: At[str], node: Mapping, entries: Entries, spot: Spot) -> str | None:
    """Return the step's kind; a finding unless there is exactly one that this version runs."""
    kinds = [word for word in entries if word in KINDS or word in FUTURE_KINDS]
    kinds.sort(key=lambda word: entries[word][0].span)
    if not kinds:
        strange = {key.value for key, _ in node.entries} - {
            key.value for key, _ in entries.values()
        }
        if not strange:  # an unknown key may well be a kind; one finding is enough
            said = f"{spot.subject} has no kind"
            spot.bad(said, name.span, f"give it one of {listed(sorted(KINDS))}")
        return None
    if len(kinds) > 1:
        first, second = kinds[0], kinds[1]
        place = entries[second][0].span
        related = (Related(f"`{first}` is here", entries[first][0].span),)
        said = f"step `{name.value}` has two kinds, `{first}` and `{second}`"
        spot.child(second, second, place).bad(said, place, "make two steps of it", related=related)
    if kinds[0] in FUTURE_KINDS:
        place = entries[kinds[0]][0].span
        said = f"this version of dagflow runs no `{kinds[0]}` steps"
        remedy = f"the kinds it runs are {listed(sorted(KINDS), 'and')}"
        spot.child(kinds[0], kinds[0], place).bad(said, place, remedy)
        return None
    return kinds[0]


def _body(kind: str, moved: tuple[tuple[Scalar, Node], ...], entries: Entries, spot: Spot) -> Any:
    """Read what stands under the kind's key, with the keys that should stand there too."""
    key, node = entries[kind]
    if moved and isinstance(node, Mapping):
        node = Mapping((*node.entries, *moved), node.span)
    described = KINDS[kind]
    inner = spot.child(key.value, kind, key.span)
    body = read(Record(described.body, described.shorthand), node, inner)
    if body is not BAD:
        positive(body, inner)
        if kind in DEMANDS and not inner.context.problems.inside(inner.pointer):
            DEMANDS[kind](body, inner)
    return body


def _demand(step: Step, spot: Spot) -> None:
    positive(step, spot)
    if step.cache is not None:
        positive(step.cache, spot.child("cache", "cache", step.cache.span))
    if not spot.context.problems.inside(f"{spot.pointer}/on_error"):
        handlers(step, spot)


def _compensation(name: At[str], entries: Entries, spot: Spot) -> Step | None:
    """Read `compensate`: a step body of a kind that a worker runs."""
    if COMPENSATE not in entries:
        return None
    key, node = entries[COMPENSATE]
    at = spot.child(key.value, COMPENSATE, key.span)
    if not isinstance(node, Mapping):
        remedy = f"for example `{COMPENSATE}: {{tool: shop.refund}}`"
        at.bad(f"`{COMPENSATE}` takes a step body, not {found(node)}", key.span, remedy)
        return None
    if not _fits_undo(node, at):
        return None
    full = Scalar(f"{name.value}.{COMPENSATE}", key.span, "plain", "")
    step = _step(full, node, at.step(f"{spot.path}.{COMPENSATE}", spot.names))
    return None if isinstance(step, Bad) else step


def _fits_undo(node: Mapping, at: Spot) -> bool:
    fits = True
    for key, _ in node.entries:
        word = str(key.value)
        inner = at.child(word, word, key.span)
        if word in KINDS and word not in UNDO_KINDS:
            remedy = f"it is one of {listed(sorted(UNDO_KINDS))}"
            inner.bad(f"`{COMPENSATE}` can't be a `{word}` step", key.span, remedy)
            fits = False
        elif word in UNDO_UNFIT:
            remedy = "it runs by itself, in reverse order of completion, after the run has failed"
            inner.bad(f"`{COMPENSATE}` has no `{word}`", key.span, remedy)
            fits = False
    return fits


def refuse_compensation(steps: tuple[Step, ...], spot: Spot) -> None:
    """Refuse `compensate` in `finally`: those steps run after all compensation."""
    for step in steps:
        if step.compensate is not None:
            at = spot.child(step.name.value, step.name.value, step.name.span)
            place: Span = step.compensate.name.span
            at.child(COMPENSATE, COMPENSATE, place).bad(
                f"a `{FINALLY}` step has no `{COMPENSATE}`", place,
                "compensation is over when it runs",
            )  # fmt: skip
            at.context.broken.add(step.name.value)
