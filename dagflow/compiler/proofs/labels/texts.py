"""What a plan tells those who call it: where text that they give ends, whose text it gives back."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.graph.build import Graphs
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.proofs.labels.sinks import (
    Taken,
    approvals,
    decides,
    is_acting,
    is_approved,
    taken,
)
from dagflow.compiler.proofs.labels.steps import Labels, brings, texts_in
from dagflow.compiler.proofs.labels.trails import (
    DERIVED,
    EVERY,
    INPUT,
    Label,
    is_input,
    is_outside,
    written_of,
)
from dagflow.compiler.proofs.reach import Reach
from dagflow.core.plan import GivenText, ReachedText, Reaches, Texts


def texts_of(model: Model, graphs: Graphs, reach: Reach) -> Texts | None:
    """Return where the inputs of a workflow end, and whose text its outputs hold.

    None where nothing in it takes or brings text from outside.
    """
    has_inputs = any(True for _ in texts_in(model))
    if not has_inputs and not model.workflow.secrets and not any(map(brings, model.steps())):
        return None
    labels = Labels(model, graphs, inputs=has_inputs)
    found = Texts(
        reached=tuple(dict.fromkeys(_reached(model, reach, labels))) if has_inputs else (),
        given=tuple(_given(model, labels)),
    )
    return None if found == Texts() else found


def _given(model: Model, labels: Labels) -> Iterator[GivenText]:
    for name, typed in model.outputs.items():
        found = sorted(labels.of(None, typed))
        own = tuple(label for label in found if is_outside(label) or label == DERIVED)
        inputs = tuple(label.removeprefix(INPUT) for label in found if is_input(label))
        if found:
            yield GivenText(output=name, labels=own, inputs=inputs)


def _reached(model: Model, reach: Reach, labels: Labels) -> Iterator[ReachedText]:
    for facts in model.steps():
        for each in (facts, facts.compensate):
            if each is not None:
                yield from _of_step(model, reach, labels, each)


def _of_step(model: Model, reach: Reach, labels: Labels, facts: StepFacts) -> Iterator[ReachedText]:
    for piece in taken(labels, facts, is_input):
        if is_approved(model, reach, labels, piece):
            continue
        asked = any(approvals(model, reach, facts))
        for label in piece.trails:
            yield from _of_piece(labels, piece, label, asked=asked)


def _of_piece(labels: Labels, piece: Taken, label: Label, *, asked: bool) -> Iterator[ReachedText]:
    """Yield what text of one input comes to by one piece of what a step takes."""
    name, step = label.removeprefix(INPUT), piece.facts.path
    message = decides(labels, piece)
    acts: Reaches = "asks" if _is_written_of(labels, piece, label) else "acts"
    if message is not None:
        yield ReachedText(input=name, how="decides", step=step, message=message)
    elif is_acting(piece.facts) and not asked:
        yield ReachedText(input=name, how=acts, step=step)
    for inner in reached_in(piece):
        how = acts if inner.how == "acts" else inner.how
        if how == "decides" or not asked:
            path = f"{step}/{inner.step}"
            yield ReachedText(input=name, how=how, step=path, message=inner.message)


def reached_in(piece: Taken) -> Iterator[ReachedText]:
    """Yield where a piece of what a called workflow is given comes to matter inside of it."""
    texts = piece.facts.child.texts if piece.facts.child is not None else None
    for reached in texts.reached if texts is not None else ():
        if piece.name == "with" or reached.input in {piece.name, EVERY}:
            yield reached


def _is_written_of(labels: Labels, piece: Taken, label: Label) -> bool:
    """Tell whether a piece is what a model has written of an input's text."""
    return written_of(label) in labels.of(piece.facts, piece.typed)
