"""The graph as a self-contained SVG image, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dagflow.compiler.report.boxes import HEADER, PADDING, Arrow, Box, Drawing, drawing_of
from dagflow.compiler.report.svg import box, curve, document, group, number, text
from dagflow.compiler.report.view import GraphView

MARGIN: Final = 24.0
TITLE: Final = 26.0

ICONS: Final = {
    "tool": "⚙", "llm": "✦", "python": "λ", "shell": "$", "transform": "ƒ", "switch": "◇",
    "foreach": "≡", "repeat": "↻", "workflow": "⧉", "approve": "✓", "wait": "◷", "fail": "✕",
}  # fmt: skip


def render(view: GraphView) -> str:
    """Return the drawing: the top block, and `finally` below it."""
    tops = [block for block in view.blocks if not block.path]
    drawn = [(block.title, drawing_of(view, block)) for block in tops]
    y, parts = MARGIN, []
    for title, drawing in drawn:
        if title:
            parts.append(text(MARGIN, y + 12, title, "title"))
            y += TITLE
        parts.append(_at(MARGIN, y, "".join(_marks(drawing))))
        y += drawing.height + MARGIN
    width = max((drawing.width for _, drawing in drawn), default=0.0) + 2 * MARGIN
    steps = sum(len(block.steps) for block in view.blocks)
    return document(width, max(y, 2 * MARGIN), f"{view.name}: {steps} steps", "".join(parts))


def _at(x: float, y: float, body: str) -> str:
    return f'<g transform="translate({number(x)} {number(y)})">{body}</g>'


def _marks(drawing: Drawing) -> Iterator[str]:
    for arrow in drawing.arrows:
        yield _arrow(arrow)
    for each in drawing.boxes:
        yield _box(each)


def _arrow(arrow: Arrow) -> str:
    edge = arrow.edge
    kind = "removed " if edge.removed else "fused " if edge.fused else ""
    if edge.label.startswith(("failure", "goto")):
        kind += "failure"
    body = curve(arrow.points, "arrow data" if edge.is_data else "arrow")
    if edge.label:
        (x0, y0), (x1, y1) = arrow.points[:2]
        body += text((x0 + x1) / 2, (y0 + y1) / 2 - 5, edge.label, "label")
    return group(body, kind=kind, title=edge.note, edge=f"{edge.source} -> {edge.target}")


def _box(each: Box) -> str:
    step = each.step
    nested = each.inner is not None
    centre = each.y + (HEADER / 2 + 4 if nested else each.height / 2)
    body = box(each.x, each.y, each.width, each.height, "box nest" if nested else "box")
    body += text(each.x + 20, centre + 5, ICONS.get(step.kind, "•"), "icon")
    body += text(each.x + 36, centre - 1, step.name)
    body += text(each.x + 36, centre + 13, step.kind, "kind")
    if each.inner is not None:
        inside = "".join(_marks(each.inner))
        left = each.x + (each.width - each.inner.width) / 2
        body += _at(left, each.y + HEADER + PADDING, inside)
    kind = "removed" if step.removed else "critical" if step.critical else ""
    return group(body, kind=kind, title=step.note, step=step.path)
