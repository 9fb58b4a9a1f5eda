"""Drawings of graphs and of states: whole, the same each time, and safe to show."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from dagflow.compiler.report import states, view
from dagflow.compiler.report.drawings import GRAPH_FORMATS, STATE_FORMATS
from dagflow.compiler.report.view import GraphView
from dagflow.core.errors import NotFoundError
from dagflow.core.findings import Removal
from dagflow.core.plan import Plan
from tests.unit.compiler_graph.compiling import planned

SVG = "{http://www.w3.org/2000/svg}"

TEXT = """
    inputs: {mode: string, items: {type: array, items: {type: integer}, maxItems: 9}}
    steps:
      route:
        switch:
          - {when: 'inputs.mode == "<b>&amp;" && inputs.mode != "a"', then: each}
          - {else: alarm}
      each:
        foreach:
          items: inputs.items
          max_items: 9
          steps:
            one: {transform: item + 1}
            two: {transform: steps.one.output + 1}
      alarm: {after: {step: each, on: failure}, join: any, transform: size(inputs.mode)}
    finally:
      note: {transform: run.status}
    outputs:
      each: ${{ steps.?each.output.orValue([]) }}
      alarm: ${{ steps.?alarm.output.orValue(0) }}
    """


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned(TEXT)


@pytest.fixture(scope="module")
def drawn(plan: Plan) -> GraphView:
    return view.view_of(plan)


@pytest.mark.parametrize("name", GRAPH_FORMATS)
def test_every_format_shows_every_step_the_same_each_time(plan: Plan, name: str) -> None:
    first, second = (GRAPH_FORMATS[name](view.view_of(plan)) for _ in range(2))

    assert first == second
    for step in ("route", "each", "one", "two", "alarm", "note"):
        assert step in first


def test_svg_is_well_formed_and_needs_nothing_from_outside(drawn: GraphView) -> None:
    text = GRAPH_FORMATS["svg"](drawn)

    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert text.count("http") == 1  # the namespace
    assert "<b>" not in text
    assert "prefers-color-scheme: dark" in text


def test_svg_boxes_do_not_overlap(drawn: GraphView) -> None:
    root = ET.fromstring(GRAPH_FORMATS["svg"](drawn))

    boxes = [
        tuple(float(rect.get(side, "")) for side in ("x", "y", "width", "height"))
        for group in root.findall(f"{SVG}g") [:1]
        for rect in group.findall(f"{SVG}g/{SVG}rect")
    ]  # fmt: skip
    assert len(boxes) == 3
    for index, (x, y, width, height) in enumerate(boxes):
        for other_x, other_y, other_width, other_height in boxes[index + 1 :]:
            apart = (
                x + width <= other_x or other_x + other_width <= x
                or y + height <= other_y or other_y + other_height <= y
            )  # fmt: skip
            assert apart


def test_json_has_places_and_kinds_of_edges(drawn: GraphView) -> None:
    graph = json.loads(GRAPH_FORMATS["json"](drawn))

    steps = {step["path"]: step for step in graph["steps"]}
    assert (steps["each.two"]["layer"], steps["each.two"]["block"]) == (1, "each")
    assert {
        "from": "each.one",
        "to": "each.two",
        "kind": "data",
        "label": "",
        "removed": False,
        "fused": True,
    } in (graph["edges"])
    labels = {(edge["from"], edge["to"]): edge["label"] for edge in graph["edges"]}
    assert labels["each", "alarm"] == "failure"
    assert labels["route", "alarm"] == "else"
    assert labels["route", "each"].startswith('inputs.mode == "<b>')


def test_removed_parts_are_marked(plan: Plan) -> None:
    removed = [Removal("step", "alarm", "why"), Removal("edge", "each -> alarm", "why")]

    graph = json.loads(GRAPH_FORMATS["json"](view.view_of(plan, removed=removed)))

    assert [step["path"] for step in graph["steps"] if step["removed"]] == ["alarm"]
    assert [edge["to"] for edge in graph["edges"] if edge["removed"]] == ["alarm"]


def test_mermaid_and_dot_quote_text(drawn: GraphView) -> None:
    assert "#quot;#lt;b#gt;#amp;amp" in GRAPH_FORMATS["mermaid"](drawn)
    assert '\\"<b>&amp;' in GRAPH_FORMATS["dot"](drawn)


@pytest.mark.parametrize("name", STATE_FORMATS)
@pytest.mark.parametrize("step", ["route", "each", "each.two", "note"])
def test_states_of_every_step_can_be_drawn(plan: Plan, name: str, step: str) -> None:
    text = STATE_FORMATS[name](states.view_of(plan, step))

    assert "pending" in text
    assert "running" in text
    if name == "svg":
        ET.fromstring(text)


def test_states_show_exactly_the_listed_moves(plan: Plan) -> None:
    listed = [(c.before, c.after, c.guard) for c in plan.constraints if c.step == "alarm"]

    shown = json.loads(STATE_FORMATS["json"](states.view_of(plan, "alarm")))["moves"]

    assert [(move["from"], move["to"], move["guard"]) for move in shown] == listed
    assert len(STATE_FORMATS["text"](states.view_of(plan, "alarm")).splitlines()) == len(listed)


def test_states_of_an_unknown_step_name_the_nearest(plan: Plan) -> None:
    with pytest.raises(NotFoundError, match="did you mean 'alarm'"):
        states.view_of(plan, "alrm")


def test_layers_follow_the_longest_way_and_rows_are_distinct(plan: Plan) -> None:
    layers = {path: place.layer for path, place in plan.layout.items()}

    assert (layers["route"], layers["each"], layers["alarm"]) == (0, 1, 2)
    cells = [
        (path.rpartition(".")[0], place) for path, place in plan.layout.items() if path != "note"
    ]
    assert len({(block, place.layer, place.row) for block, place in cells}) == len(cells)
