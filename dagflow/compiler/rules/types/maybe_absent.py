"""DF204: plain reads of steps that may be absent."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.graph.build import Graphs
from dagflow.compiler.proofs.absence import Absent, absences
from dagflow.compiler.proofs.claims import Claims
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity
from dagflow.core.values import JsonObject


@rule("DF204", "maybe-absent", Severity.ERROR, "graph")
def maybe_absent(checks: Checks) -> Iterator[Violation]:
    """A plain read of a step that may have been skipped, or may have failed and been handled.

    A step that was not run has no output, so the reader would be skipped without a word, and the
    run's `outputs` would have no value. Say what counts instead (`steps.?x.output.orValue(d)`),
    guard the reader, or make it wait for the step. Where a step's edges say already that the
    other has succeeded, a plain read is right.

    Bad:

        dagflow: 1
        name: greet
        inputs: {polite: boolean}
        steps:
          hello:
            when: inputs.polite
            transform: '"hello"'
        outputs:
          text: ${{ steps.hello.output }}  # DF204: step 'hello' may have no output when the run …

    Good:

        dagflow: 1
        name: greet
        inputs: {polite: boolean}
        steps:
          hello:
            when: inputs.polite
            transform: '"hello"'
        outputs:
          text: ${{ steps.?hello.output.orValue("") }}
    """
    model, graphs, reach, claims = checks.model, checks.graphs, checks.reach, checks.claims
    if model is None or graphs is None or reach is None or claims is None:
        return
    if any(block.rings for block in graphs.blocks.values()):
        return
    for absent in absences(model, graphs, reach, claims):
        yield _violation(absent, graphs, claims)


_MOMENTS = {
    "step": "when {reader} becomes ready",
    "outputs": "when the run's outputs are made",
    "finally": "when {reader} runs: `finally` follows on every end of a run",
    "compensate": "when {reader} runs",
    "collect": "when {reader} puts its output together",
}


def _violation(absent: Absent, graphs: Graphs, claims: Claims) -> Violation:
    producer = graphs.facts[absent.read.step]
    moment = _MOMENTS[absent.where].format(reader=repr(absent.reader))
    reader = graphs.facts.get(absent.reader.removesuffix(".compensate"))
    return Violation(
        span=absent.read.span,
        message=f"step {producer.name!r} may have no output {moment}",
        step=reader.path if reader is not None else "",
        related=(Related(f"{producer.name!r} is here", producer.step.name.span),),
        flow=_way(absent, graphs),
        witness={"path": list(absent.path), **_values(absent, graphs, claims)},
        help=_help(absent, producer.name),
    )


def _values(absent: Absent, graphs: Graphs, claims: Claims) -> JsonObject:
    """Return values with which it comes about, where expressions decide it."""
    reader = graphs.facts.get(absent.reader)
    decided = [(graphs.facts[each.step], each.name, each.wanted) for each in absent.decided]
    if len({facts.block for facts, _, _ in decided}) > 1:
        return {}
    return claims.happens(reader, decided)


def _way(absent: Absent, graphs: Graphs) -> tuple[Related, ...]:
    """Return the path as places: the steps that each of its lines begins with."""
    names = {f"{facts.path!r}": facts for facts in graphs.facts.values()}
    found = []
    for line in absent.path:
        facts = names.get(line.partition(" ")[0])
        if facts is not None:
            found.append(Related(line, facts.step.name.span))
    return (*found, Related("and this reads its output", absent.read.span))


def _help(absent: Absent, name: str) -> str:
    default = f"write `steps.?{name}.output.orValue(…)` with what counts instead"
    if absent.where == "step":
        return (
            f'{default}, guard the reader with `when: steps.{name}.status == "succeeded"`, '
            f"or let it wait for {name!r} (`after: {name}`)"
        )
    return f'{default}, or test `steps.{name}.status == "succeeded"` first'
