"""The graph as JSON, with the places of a drawing."""

from __future__ import annotations

import json
from typing import Final

from dagflow.compiler.report.view import GraphView
from dagflow.core.values import JsonObject, JsonValue

SCHEMA_VERSION: Final = 1


def graph(view: GraphView) -> JsonObject:
    """Return the steps and edges of all blocks, in the order of the file."""
    steps: list[JsonValue] = [
        {
            "path": step.path,
            "name": step.name,
            "kind": step.kind,
            "block": block.path or block.title,
            "layer": step.place.layer,
            "row": step.place.row,
            "removed": step.removed,
        }
        for block in view.blocks
        for step in block.steps
    ]
    edges: list[JsonValue] = [
        {
            "from": edge.source,
            "to": edge.target,
            "kind": "data" if edge.is_data else "control",
            "label": edge.label,
            "removed": edge.removed,
            "fused": edge.fused,
        }
        for block in view.blocks
        for edge in block.edges
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "workflow": view.name,
        "steps": steps,
        "edges": edges,
    }


def render(view: GraphView) -> str:
    """Return the graph as JSON text."""
    return json.dumps(graph(view), ensure_ascii=False, indent=2) + "\n"
