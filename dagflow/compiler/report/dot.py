"""The graph in Graphviz's language."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.report.view import GraphView, ViewBlock, ViewEdge, ViewStep


def render(view: GraphView) -> str:
    """Return the digraph; composites are clusters around their inner steps."""
    lines = [
        f"digraph {quoted(view.name)} {{",
        '  rankdir=LR; node [shape=box, style=rounded, fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=10];',
    ]
    for block in view.blocks:
        if block.path:
            continue
        inside = list(_lines(view, block))
        lines += _cluster(block.title, inside) if block.title else inside
    return "\n".join([*lines, "}"]) + "\n"


def _lines(view: GraphView, block: ViewBlock) -> Iterator[str]:
    for step in block.steps:
        yield _step(step)
        inside = view.inside(step.path)
        if inside is not None:
            yield from _cluster(inside.title, list(_lines(view, inside)))
    for edge in block.edges:
        yield _edge(edge)


def _cluster(title: str, lines: list[str]) -> list[str]:
    head = f"  subgraph {quoted(f'cluster_{title}')} {{ label={quoted(title)};"
    return [head, *(f"  {line}" for line in lines), "  }"]


def _step(step: ViewStep) -> str:
    style = ', style="rounded,dashed", fontcolor=gray' if step.removed else ""
    shape = ", shape=diamond" if step.kind == "switch" else ""
    label = f"{step.name}\n{step.kind}"
    return f"  {quoted(step.path)} [label={quoted(label)}{shape}{style}];"


def _edge(edge: ViewEdge) -> str:
    style = "dotted" if edge.removed else "dashed" if edge.is_data else "solid"
    width = ", penwidth=2.6" if edge.fused else ""
    return (
        f"  {quoted(edge.source)} -> {quoted(edge.target)} "
        f"[label={quoted(edge.label)}, style={style}{width}];"
    )


def quoted(words: str) -> str:
    """Write a string as Graphviz reads it."""
    escaped = words.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n") + '"'
