"""Where the boxes and arrows of a drawing go, in pixels: composites hold their inner steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from dagflow.compiler.report.view import GraphView, ViewBlock, ViewEdge, ViewStep
from dagflow.core.records import dataclass

HEIGHT = 46.0
NARROWEST = 96.0
LETTER = 7.4
SMALL_LETTER = 6.2
GAP_X, GAP_Y = 64.0, 20.0
PADDING, HEADER = 16.0, 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A step with its top left corner and size; `inner` is the drawing inside a composite."""

    step: ViewStep
    x: float
    y: float
    width: float
    height: float
    inner: Drawing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """An edge with the points it passes through, from the source's side to the target's."""

    edge: ViewEdge
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """One block, drawn from (0, 0) on."""

    boxes: tuple[Box, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    width: float = 0.0
    height: float = 0.0


@dataclass(slots=True)
class _Column:
    boxes: list[Box] = field(default_factory=list)
    x: float = 0.0
    gap: float = GAP_X

    @property
    def width(self) -> float:
        return max((box.width for box in self.boxes), default=0.0)

    @property
    def height(self) -> float:
        return sum(box.height for box in self.boxes) + GAP_Y * max(len(self.boxes) - 1, 0)


def drawing_of(view: GraphView, block: ViewBlock) -> Drawing:
    """Place the boxes of a block and route its arrows."""
    columns = _columns(view, block)
    height = max((column.height for column in columns), default=0.0)
    x = 0.0
    for column in columns:
        column.x = x
        column.gap = _gap_after(column, block)
        x += column.width + column.gap
        column.boxes = list(_stacked(column, height))
    boxes = {box.step.path: box for column in columns for box in column.boxes}
    layer = {b.step.path: index for index, column in enumerate(columns) for b in column.boxes}
    arrows = tuple(
        Arrow(edge=edge, points=_route(edge, boxes, layer, columns))
        for edge in block.edges
        if edge.source in boxes and edge.target in boxes
    )
    lowest = max((y for arrow in arrows for _, y in arrow.points), default=0.0)
    return Drawing(
        boxes=tuple(boxes.values()),
        arrows=arrows,
        width=x - columns[-1].gap if columns else 0.0,
        height=max(height, lowest + GAP_Y / 2),
    )


def _gap_after(column: _Column, block: ViewBlock) -> float:
    """Return the space that the labels of the arrows from a column need."""
    steps = {each.step.path for each in column.boxes}
    longest = max((len(e.label) for e in block.edges if e.source in steps), default=0)
    return max(GAP_X, longest * SMALL_LETTER + 28)


def _columns(view: GraphView, block: ViewBlock) -> list[_Column]:
    columns: list[_Column] = []
    for step in sorted(block.steps, key=lambda step: (step.place.layer, step.place.row)):
        while len(columns) <= step.place.layer:
            columns.append(_Column())
        columns[step.place.layer].boxes.append(_box(view, step))
    return [column for column in columns if column.boxes]


def _box(view: GraphView, step: ViewStep) -> Box:
    width = max(NARROWEST, 44 + LETTER * max(len(step.name), len(step.kind)))
    inside = view.inside(step.path)
    if inside is None:
        return Box(step=step, x=0, y=0, width=width, height=HEIGHT)
    inner = drawing_of(view, inside)
    return Box(
        step=step,
        x=0,
        y=0,
        width=max(width, inner.width + 2 * PADDING),
        height=inner.height + HEADER + 2 * PADDING,
        inner=inner,
    )


def _stacked(column: _Column, height: float) -> Iterator[Box]:
    y = (height - column.height) / 2
    for box in column.boxes:
        yield replace(box, x=column.x + (column.width - box.width) / 2, y=y)
        y += box.height + GAP_Y


def _route(
    edge: ViewEdge,
    boxes: Mapping[str, Box],
    layer: Mapping[str, int],
    columns: list[_Column],
) -> tuple[tuple[float, float], ...]:
    """Go from side to side; past the columns between, through the gaps nearest to the way."""
    source, target = boxes[edge.source], boxes[edge.target]
    start = (source.x + source.width, source.y + source.height / 2)
    end = (target.x, target.y + target.height / 2)
    points = [start]
    for index in range(layer[edge.source] + 1, layer[edge.target]):
        column = columns[index]
        share = (column.x - start[0]) / max(end[0] - start[0], 1.0)
        y = _gap(column, start[1] + share * (end[1] - start[1]))
        points += [(column.x, y), (column.x + column.width, y)]
    return (*points, end)


def _gap(column: _Column, wanted: float) -> float:
    """Return the height nearest to the one wanted at which a column has no box."""
    edges = [column.boxes[0].y - GAP_Y / 2]
    edges += [box.y + box.height + GAP_Y / 2 for box in column.boxes]
    blocked = any(box.y - 4 < wanted < box.y + box.height + 4 for box in column.boxes)
    return min(edges, key=lambda y: abs(y - wanted)) if blocked else wanted
