"""The graph as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from dagflow.compiler.report.view import GraphView, ViewBlock, ViewEdge, ViewStep

_SHAPES: Final[Mapping[str, tuple[str, str]]] = {
    "switch": ("{", "}"),
    "approve": ("([", "])"),
    "wait": ("([", "])"),
    "fail": ("[[", "]]"),
}


def render(view: GraphView) -> str:
    """Return the flowchart; steps that pruning removes are drawn with a dashed border."""
    paths = (step.path for block in view.blocks for step in block.steps)
    names = {path: f"s{index}" for index, path in enumerate(paths)}
    lines = ["flowchart LR"]
    for block in view.blocks:
        if not block.path:
            lines += _titled(view, block, names)
    gone = [names[s.path] for block in view.blocks for s in block.steps if s.removed]
    if gone:
        lines += [
            "  classDef removed stroke-dasharray: 4 3,opacity: 0.5",
            f"  class {','.join(gone)} removed",
        ]
    return "\n".join(lines) + "\n"


def _titled(view: GraphView, block: ViewBlock, names: Mapping[str, str]) -> Iterator[str]:
    if block.title:
        yield f'  subgraph {block.title}["{quoted(block.title)}"]'
        yield from (f"  {line}" for line in _lines(view, block, names))
        yield "  end"
    else:
        yield from _lines(view, block, names)


def _lines(view: GraphView, block: ViewBlock, names: Mapping[str, str]) -> Iterator[str]:
    for step in block.steps:
        inside = view.inside(step.path)
        if inside is None:
            yield f"  {names[step.path]}{_shape(step)}"
        else:
            yield f'  subgraph {names[step.path]}["{quoted(inside.title)}"]'
            yield from (f"  {line}" for line in _lines(view, inside, names))
            yield "  end"
    for edge in block.edges:
        yield f"  {names[edge.source]} {_arrow(edge)} {names[edge.target]}"


def _shape(step: ViewStep) -> str:
    left, right = _SHAPES.get(step.kind, ("[", "]"))
    return f'{left}"{quoted(step.name)}<br/><small>{quoted(step.kind)}</small>"{right}'


def _arrow(edge: ViewEdge) -> str:
    loose = edge.is_data or edge.removed
    line = "==>" if edge.fused else "-.->" if loose else "-->"
    return f'{line}|"{quoted(edge.label)}"|' if edge.label else line


def quoted(words: str) -> str:
    """Write text so that Mermaid shows it as it is."""
    escaped = words.replace("&", "#amp;").replace('"', "#quot;")
    return escaped.replace("<", "#lt;").replace(">", "#gt;").replace("\n", " ")
