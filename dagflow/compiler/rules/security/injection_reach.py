"""DF904: models that read what others wrote, and write where nobody looks."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.proofs.labels.sinks import Taken, acting, approvals, decides, taken
from dagflow.compiler.proofs.labels.trails import Trails
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
    for facts in acting(model):
        if facts.broken or any(True for _ in approvals(model, reach, facts)):
            continue
        pieces = [piece for piece in taken(labels, facts) if _is_injected(piece.trails)]
        if pieces and not any(decides(labels, piece) for piece in pieces):
            yield _violation(pieces[0])


def _is_injected(trails: Trails) -> bool:
    """Tell whether a model wrote it, and text from outside was in its prompt."""
    model, outside = trails.get("model"), trails.get("untrusted")
    return model is not None and outside is not None and model[0].span == outside[0].span


def _violation(piece: Taken) -> Violation:
    name = piece.facts.path
    return Violation(
        span=piece.typed.span,
        message=f"what {name!r} writes is what a model made of text from outside",
        step=name,
        flow=(*piece.trails["model"], Related(f"{name!r} writes it", piece.typed.span)),
        help="let a person approve it, bound what the model may answer, or say `trust: <why>` on "
        "the step",
    )
