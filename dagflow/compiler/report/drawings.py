"""Which formats a graph or a step's states can be drawn in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dagflow.compiler.report import dot, graph_json, graph_svg, mermaid, states
from dagflow.compiler.report.states import StatesView
from dagflow.compiler.report.view import GraphView

GRAPH_FORMATS: Final[Mapping[str, Callable[[GraphView], str]]] = {
    "svg": graph_svg.render,
    "mermaid": mermaid.render,
    "dot": dot.render,
    "json": graph_json.render,
}

STATE_FORMATS: Final[Mapping[str, Callable[[StatesView], str]]] = {
    "svg": states.as_svg,
    "mermaid": states.as_mermaid,
    "dot": states.as_dot,
    "json": states.as_json,
    "text": states.as_text,
}
