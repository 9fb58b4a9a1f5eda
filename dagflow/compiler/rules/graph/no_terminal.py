"""DF305: blocks of steps that come to no end of their own."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.model import Block, Model, StepFacts
from dagflow.compiler.proofs.reach import Reach
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


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
        composite = checks.graphs.facts.get(path)
        if composite is None or block.parent is None or path not in read:
            continue
        if composite.step.body.collect is None and len(graph.sinks()) > 1:
            yield _open(composite, graph, checks.graphs)


def _read(model: Model) -> frozenset[str]:
    """Return the steps whose output something reads."""
    inner = (read for facts in model.steps() for read in facts.reads)
    return frozenset(r.step for r in (*inner, *model.output_reads) if r.field in {"output", ""})


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


def _open(composite: StepFacts, graph: BlockGraph, graphs: Graphs) -> Violation:
    names = [repr(graphs.facts[step].name) for step in graph.sinks()]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return Violation(
        span=composite.step.name.span,
        message=f"{composite.name!r} has {len(names)} last steps ({listed}), and no `collect` says "
        "which of them gives its output",
        step=composite.path,
        help="add `collect: steps.<name>.output`, or let one step come last",
    )
