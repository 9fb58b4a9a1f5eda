"""DF305: blocks of steps that come to no end of their own."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.model import Block, Model, StepFacts
from dagflow.compiler.proofs.reach import Reach
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.types.composites import collected, sinks_of
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.words import listed


@rule("DF305", "no-terminal", Severity.ERROR, "graph")
def no_terminal(checks: Checks) -> Iterator[Violation]:
    """No step of a block can run, or nothing says which of its last steps gives its output.

    A `foreach` or `repeat` gives what its only last step gives. With several last steps, and
    something that reads the output, `collect` has to say what it is.

    Bad:

        dagflow: 1
        name: sizes
        inputs: {words: {type: array, items: {type: string}, maxItems: 10}}
        steps:
          each:  # DF305: 'each' has 2 last steps ('size' and 'first'), and no `collect` …
            foreach:
              items: inputs.words
              as: word
              max_items: 10
              steps:
                size: {transform: size(word)}
                first: {transform: word.startsWith("a")}
        outputs:
          sizes: ${{ steps.each.output }}

    Good:

        dagflow: 1
        name: sizes
        inputs: {words: {type: array, items: {type: string}, maxItems: 10}}
        steps:
          each:
            foreach:
              items: inputs.words
              as: word
              max_items: 10
              steps:
                size: {transform: size(word)}
                first: {transform: word.startsWith("a")}
              collect: '{"size": steps.size.output, "first": steps.first.output}'
        outputs:
          sizes: ${{ steps.each.output }}
    """
    if checks.model is None or checks.graphs is None or checks.reach is None:
        return
    read = _read(checks.model)
    for path, block in checks.model.blocks.items():
        graph = checks.graphs.blocks[path]
        if graph.rings or not block.steps:
            continue
        if _is_still(graph, checks.reach):
            yield _still(block, checks.graphs)
        if path in read and checks.graphs.facts[path].step.body.collect is None:
            yield from _open(checks.graphs.facts[path], block)


def _read(model: Model) -> set[str]:
    """Return the steps whose output something reads, or gives on as that of the loop around it."""
    inner = (read for facts in model.steps() for read in facts.reads)
    found = {r.step for r in (*inner, *model.output_reads) if r.field in {"output", ""}}
    for path, block in model.blocks.items():  # those inside others come after them
        facts = model.find(path) if path in found else None
        sink = collected(facts, block.steps) if facts is not None else None
        found.update([sink] if sink is not None else [])
    return found


def _is_still(graph: BlockGraph, reach: Reach) -> bool:
    """Tell whether no step can run, each for a reason of its own that is no finding yet."""
    causes = [reach.cause(step) for step in graph.steps]
    return all(cause is not None and cause.kind in {"edge", "upstream"} for cause in causes)


def _still(block: Block, graphs: Graphs) -> Violation:
    facts = block.steps[0]
    where = repr(graphs.facts[block.path].name) if block.parent is not None else "the workflow"
    return Violation(
        span=facts.step.name.span,
        message=f"no step of {where} can ever run",
        step=facts.path,
        help="let at least one step start without waiting for another",
    )


def _open(composite: StepFacts, block: Block) -> Iterator[Violation]:
    names = [repr(step.rpartition(".")[2]) for step in sinks_of(block.steps)]
    if len(names) < 2:  # noqa: PLR2004  # one says what the output is
        return
    yield Violation(
        span=composite.step.name.span,
        message=f"{composite.name!r} has {len(names)} last steps ({listed(names, last='and')}), "
        "and no `collect` says which of them gives its output",
        step=composite.path,
        help="add `collect: steps.<name>.output`, or let one step come last",
    )
