"""DF905: approvals of something else than what is then done."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.model import StepFacts
from dagflow.compiler.proofs.labels.sinks import (
    Taken,
    approvals,
    comes_from_the_same_tool,
    decides,
    is_acting,
    is_approved,
    taken,
)
from dagflow.compiler.proofs.labels.trails import worst
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity


@rule("DF905", "approval-blind", Severity.WARNING, "graph")
def approval_blind(checks: Checks) -> Iterator[Violation]:
    """An approval does not show the text from outside that the approved step will use.

    The person decides without seeing what is decided. Put it into the approval's `with`, or into
    its message.

    Bad:

        dagflow: 1
        name: reply
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        models: {default: {route: local}}
        steps:
          draft:
            llm: {prompt: Write something kind., max_tokens: 150}
            output: {text: {type: string, maxLength: 400}}
          look:
            approve: {message: Send it?, expires: 1h}  # DF905: 'look' does not show what 'send'…
          send:
            after: look
            tool: helpdesk.createTicket
            with: {body: {text: "${{ steps.draft.output.text }}"}}

    Good:

        dagflow: 1
        name: reply
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        models: {default: {route: local}}
        steps:
          draft:
            llm: {prompt: Write something kind., max_tokens: 150}
            output: {text: {type: string, maxLength: 400}}
          look:
            approve: {message: Send it?, expires: 1h}
            with: {text: "${{ steps.draft.output.text }}"}
          send:
            after: look
            tool: helpdesk.createTicket
            with: {body: {text: "${{ steps.draft.output.text }}"}}
    """
    model, reach, labels = checks.model, checks.reach, checks.labels
    if model is None or reach is None or labels is None:
        return
    for facts in model.steps():
        asked = tuple(approvals(model, reach, facts)) if is_acting(facts) else ()
        if not asked or facts.broken:
            continue
        for piece in taken(labels, facts):
            is_own = comes_from_the_same_tool(labels, piece)
            shown = is_own or is_approved(model, reach, labels, piece)
            if not shown and decides(labels, piece) is None:
                yield _violation(asked[-1], piece)
                break


def _violation(approval: StepFacts, piece: Taken) -> Violation:
    name, trail = piece.facts.path, worst(piece.trails)
    return Violation(
        span=approval.step.body.span,
        message=f"{approval.name!r} does not show what {name!r} will use",
        step=approval.path,
        related=(Related(f"{name!r} uses this", piece.typed.span),),
        flow=(*(trail.told() if trail else ()), Related(f"{name!r} uses it", piece.typed.span)),
        help="give it to the approval in `with`, or put it into the message",
    )
