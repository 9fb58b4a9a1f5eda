"""DF904: models that read what others wrote, and write where nobody looks."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.proofs.labels.sinks import Taken, approvals, decides, is_acting, taken
from dagflow.compiler.proofs.labels.steps import Labels
from dagflow.compiler.proofs.labels.texts import reached_in
from dagflow.compiler.proofs.labels.trails import Trails, worst
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity


@rule("DF904", "injection-reach", Severity.WARNING, "graph")
def injection_reach(checks: Checks) -> Iterator[Violation]:
    """A model reads text from outside, and what it then writes freely changes something outside.

    Whoever wrote that text can tell the model what to write. Let a person approve it, let the
    answer leave no choice (an enum, a number, a format, a pattern), or say `trust: <why>` on the
    step where that is meant.

    Bad:

        dagflow: 1
        name: reply
        inputs: {ticket: string}
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        models: {default: {route: local}}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: "${{ inputs.ticket }}"}}
          draft:
            llm:
              prompt: "Answer this: ${{ steps.fetch.output.body.text }}"
              max_tokens: 300
            output: {text: {type: string, maxLength: 800}}
          send:
            tool: helpdesk.createTicket
            with: {body: {text: "${{ steps.draft.output.text }}"}}  # DF904: what 'send' writes is…

    Good:

        dagflow: 1
        name: reply
        inputs: {ticket: string}
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        models: {default: {route: local}}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: "${{ inputs.ticket }}"}}
          draft:
            llm:
              prompt: "Answer this: ${{ steps.fetch.output.body.text }}"
              max_tokens: 300
            output: {text: {type: string, maxLength: 800}}
          look:
            approve: {message: "Send this? ${{ steps.draft.output.text }}", expires: 1h}
          send:
            after: look
            tool: helpdesk.createTicket
            with: {body: {text: "${{ steps.draft.output.text }}"}}
    """
    model, reach, labels = checks.model, checks.reach, checks.labels
    if model is None or reach is None or labels is None:
        return
    for facts in model.steps():
        for each in (facts, facts.compensate):
            if each is None or each.broken:
                continue
            pieces = tuple(taken(labels, each))
            found = _of_workflow(pieces) if each.kind == "workflow" else _of_step(labels, pieces)
            if found is not None and not any(approvals(model, reach, each)):
                yield found


def _of_step(labels: Labels, pieces: tuple[Taken, ...]) -> Violation | None:
    injected = [piece for piece in pieces if _is_injected(piece.trails)]
    if not injected or not is_acting(injected[0].facts):
        return None
    if any(decides(labels, piece) for piece in injected):
        return None
    return _violation(injected[0], repr(injected[0].facts.path))


def _of_workflow(pieces: tuple[Taken, ...]) -> Violation | None:
    """Find what comes to pass inside a called workflow by what it is given."""
    for piece in pieces:
        is_injected = _is_injected(piece.trails)
        for reached in reached_in(piece):
            asks = reached.how == "asks" and "untrusted" in piece.trails
            if asks or (reached.how == "acts" and is_injected):
                return _violation(piece, f"{reached.step!r} of what is called")
    return None


def _is_injected(trails: Trails) -> bool:
    """Tell whether a model wrote it, and text from outside was in its prompt."""
    model, outside = trails.get("model"), trails.get("untrusted")
    return model is not None and outside is not None and model.source.span == outside.source.span


def _violation(piece: Taken, writer: str) -> Violation:
    trail = worst(piece.trails)
    assert trail is not None
    does = "passes it on" if piece.facts.kind == "workflow" else "writes it"
    return Violation(
        span=piece.typed.span,
        message=f"what {writer} writes is what a model made of text from outside",
        step=piece.facts.path,
        flow=(*trail.told(), Related(f"{piece.facts.path!r} {does}", piece.typed.span)),
        help="let a person approve it, bound what the model may answer, or say `trust: <why>` on "
        "the step",
    )
