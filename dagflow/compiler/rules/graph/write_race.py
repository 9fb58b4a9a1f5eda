"""DF308: steps that may write one resource at the same time."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.proofs.writers import Race, races
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity


@rule("DF308", "write-race", Severity.ERROR, "graph")
def write_race(checks: Checks) -> Iterator[Violation]:
    """Two steps that may run together write the same thing.

    Nothing says which of them is the last, so the same run may leave one or the other. Steps
    that change (PUT, PATCH, DELETE) the same address of a tool, filled in with the same values,
    must wait for each other or exclude each other; so must the items of a `foreach` that runs
    several at a time. The engine's own keys (cache, idempotency) hold the step's path and item,
    so that no two steps share one.

    Bad:

        dagflow: 1
        name: close
        inputs: {ticket: string}
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          grade:
            tool: helpdesk.changeTicket
            with: {path: {id: "${{ inputs.ticket }}"}, body: {severity: low}}
          explain:
            tool: helpdesk.changeTicket  # DF308: 'grade' and 'explain' may run at the same time…
            with: {path: {id: "${{ inputs.ticket }}"}, body: {text: Closed by the night shift}}

    Good:

        dagflow: 1
        name: close
        inputs: {ticket: string}
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          grade:
            tool: helpdesk.changeTicket
            with: {path: {id: "${{ inputs.ticket }}"}, body: {severity: low}}
          explain:
            tool: helpdesk.changeTicket
            with: {path: {id: "${{ inputs.ticket }}"}, body: {text: Closed by the night shift}}
            after: grade

    Bad:

        dagflow: 1
        name: note
        inputs:
          ticket: string
          lines: {type: array, items: {type: string, maxLength: 100}, maxItems: 10}
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          each:
            foreach:
              items: inputs.lines
              max_items: 10
              concurrency: 4
              steps:
                add:
                  tool: helpdesk.changeTicket  # DF308: 4 items of 'each' at a time…
                  with: {path: {id: "${{ inputs.ticket }}"}, body: {text: "${{ item }}"}}

    Good:

        dagflow: 1
        name: note
        inputs:
          ticket: string
          lines: {type: array, items: {type: string, maxLength: 100}, maxItems: 10}
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        steps:
          each:
            foreach:
              items: inputs.lines
              max_items: 10
              steps:
                add:
                  tool: helpdesk.changeTicket
                  with: {path: {id: "${{ inputs.ticket }}"}, body: {text: "${{ item }}"}}
    """
    model, graphs, reach, claims = checks.model, checks.graphs, checks.reach, checks.claims
    if model is None or graphs is None or reach is None or claims is None:
        return
    for race in races(model, graphs, reach, claims):
        yield _between_items(race) if race.loop is not None else _between_steps(race)


def _between_steps(race: Race) -> Violation:
    first, second = race.first, race.second
    return Violation(
        span=second.step.body.operation.span,
        message=f"{first.name!r} and {second.name!r} may run at the same time, and both write "
        f"{race.operation.path}",
        step=second.path,
        related=(Related(f"{first.name!r} writes it here", first.step.body.operation.span),),
        help=f"let one wait for the other (`after: {first.name}`), or guard them so that only "
        "one runs",
    )


def _between_items(race: Race) -> Violation:
    assert race.loop is not None
    loop, step = race.loop, race.first
    count = min(loop.step.body.concurrency.value, loop.step.body.max_items.value)
    return Violation(
        span=step.step.body.operation.span,
        message=f"{count} items of {loop.name!r} at a time may run {step.path!r}, and all write "
        f"one {race.operation.path}",
        step=step.path,
        related=(Related("several items run at a time", loop.step.body.concurrency.span),),
        help="put the item into the address, or leave `concurrency` out",
    )
