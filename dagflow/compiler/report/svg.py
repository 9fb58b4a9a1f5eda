"""The few marks that our drawings are made of, as SVG text, and their colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

STYLE = """
.dg { --ink: #1d2433; --soft: #667085; --line: #98a2b3; --paper: #ffffff; --box: #f7f8fa;
      --edge: #d0d5dd; --accent: #175cd3; --good: #067647; --bad: #b42318; --wait: #b54708;
      font-family: ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
@media (prefers-color-scheme: dark) {
  .dg { --ink: #e6e9ef; --soft: #98a2b3; --line: #667085; --paper: #10141c; --box: #1a202c;
        --edge: #344054; --accent: #84adff; --good: #47cd89; --bad: #f97066; --wait: #fdb022; } }
.dg .paper { fill: var(--paper); }
.dg .box { fill: var(--box); stroke: var(--edge); stroke-width: 1.2; }
.dg .nest { fill: none; stroke: var(--edge); stroke-width: 1.2; }
.dg text { fill: var(--ink); font-size: 13px; }
.dg .kind, .dg .title { fill: var(--soft); font-size: 11px; }
.dg .icon { fill: var(--accent); font-size: 15px; text-anchor: middle; }
.dg .arrow { fill: none; stroke: var(--line); stroke-width: 1.4; }
.dg .data { stroke-dasharray: 5 4; }
.dg .head { fill: var(--line); }
.dg .label { fill: var(--soft); font-size: 11px; text-anchor: middle; paint-order: stroke;
             stroke: var(--paper); stroke-width: 4px; }
.dg .failure .arrow { stroke: var(--bad); } .dg .failure .label { fill: var(--bad); }
.dg .removed { opacity: 0.35; } .dg .removed .box { stroke-dasharray: 3 3; }
.dg .fused .arrow { stroke-width: 3; }
.dg .critical .box { stroke: var(--accent); stroke-width: 2.2; }
.dg .good { stroke: var(--good); } .dg .bad { stroke: var(--bad); }
.dg .wait { stroke: var(--wait); }
""".strip()

ARROWHEAD = (
    '<defs><marker id="dg-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto-start-reverse"><path class="head" d="M0 0 L8 4 L0 8 z"/>'
    "</marker></defs>"
)


def number(value: float) -> str:
    """Write a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def document(width: float, height: float, label: str, body: str) -> str:
    """Return a whole SVG image that needs nothing from outside."""
    size = f'width="{number(width)}" height="{number(height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dg" role="img" {size} '
        f'viewBox="0 0 {number(width)} {number(height)}" aria-label="{escape(label)}">'
        f"<style>{STYLE}</style>{ARROWHEAD}"
        f'<rect class="paper" {size}/>{body}</svg>'
    )


def group(body: str, *, kind: str = "", title: str = "", **data: str) -> str:
    """Return a group, with the text that hovering shows."""
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in data.items() if value)
    named = f' class="{kind.strip()}"' if kind.strip() else ""
    shown = f"<title>{escape(title, quote=False)}</title>" if title else ""
    return f"<g{named}{attributes}>{shown}{body}</g>"


def box(x: float, y: float, width: float, height: float, kind: str = "box") -> str:
    """Return a box with round corners."""
    place = f'x="{number(x)}" y="{number(y)}"'
    return (
        f'<rect class="{kind}" {place} width="{number(width)}" height="{number(height)}" rx="9"/>'
    )


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Return a line of text; `y` is its baseline."""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{number(x)}" y="{number(y)}">{escape(words, quote=False)}</text>'


def curve(points: Sequence[tuple[float, float]], kind: str = "arrow") -> str:
    """Return an arrow through the points, level at each of them."""
    x, y = points[0]
    parts = [f"M{number(x)} {number(y)}"]
    for to_x, to_y in points[1:]:
        bend = (to_x - x) / 2
        parts.append(
            f"C{number(x + bend)} {number(y)} {number(to_x - bend)} {number(to_y)} "
            f"{number(to_x)} {number(to_y)}"
        )
        x, y = to_x, to_y
    return f'<path class="{kind}" d="{" ".join(parts)}" marker-end="url(#dg-head)"/>'
