"""Labels from where text comes in to where it ends, with the way between."""

from __future__ import annotations

import textwrap

import pytest

from dagflow.core.findings import Finding
from tests.rules.compiling import told

HEAD = """\
dagflow: 1
name: desk
inputs: {ticket: string}
tools:
  helpdesk: {openapi: ./helpdesk.openapi.yaml}
  plaindesk: {openapi: ./plaindesk.openapi.yaml}
models: {default: {route: local}}
steps:
  fetch:
    tool: helpdesk.getTicket
    with: {path: {id: "${{ inputs.ticket }}"}}
"""


def found(steps: str, *names: str) -> list[Finding]:
    """Return the findings about labels of a workflow that goes on after `fetch`."""
    wanted = names or ("taint-sink", "injection-reach", "approval-blind")
    return [
        f for f in told(HEAD + textwrap.indent(textwrap.dedent(steps), "  ")) if f.name in wanted
    ]


ASK = """
ask:
  llm: {prompt: "Sum it up: ${{ steps.fetch.output.body.text }}", max_tokens: 400}
  output: {said: {type: string, maxLength: 400}, grade: {enum: [low, high]}, n: integer}
"""
SEND = """
send:
  tool: helpdesk.createTicket
  with: {body: {text: "%s"}}
"""


def test_way_is_told_from_the_source_through_every_step() -> None:
    middle = """
    shape: {transform: '{"line": "> " + steps.ask.output.said, "grade": steps.ask.output.grade}'}
    """

    (only,) = found(ASK + textwrap.dedent(middle) + SEND % "${{ steps.shape.output.line }}")

    assert only.name == "injection-reach"
    assert [place.message.split("'")[1] for place in only.flow] == ["fetch", "ask", "shape", "send"]


@pytest.mark.parametrize(
    "value",
    [
        "${{ steps.ask.output.grade }}",
        "${{ steps.ask.output.n }}",
        "${{ steps.ask.output.said.size() }}",
        "${{ steps.ask.output.said.contains('bad') ? 'bad' : 'good' }}",
        "${{ inputs.ticket }}",
    ],
)
def test_value_that_leaves_no_choice_is_fine(value: str) -> None:
    assert found(ASK + SEND % value) == []


@pytest.mark.parametrize(
    "value",
    [
        "${{ steps.ask.output.said }}",
        "about: ${{ steps.ask.output.said }}",
        "${{ steps.ask.output.said.upperAscii() }}",
        "${{ [steps.ask.output.said].map(x, x + '!')[0] }}",
        "${{ steps.ask.output.grade == 'low' ? 'x' : steps.ask.output.said }}",
    ],
)
def test_text_of_a_model_that_read_from_outside_is_told(value: str) -> None:
    assert [f.name for f in found(ASK + SEND % value)] == ["injection-reach"]


def test_model_that_read_nothing_from_outside_may_write() -> None:
    ask = ASK.replace("${{ steps.fetch.output.body.text }}", "${{ inputs.ticket }}")

    assert found(ask + SEND % "${{ steps.ask.output.said }}") == []


def test_trust_with_a_reason_ends_it() -> None:
    trusted = (
        SEND % "${{ steps.ask.output.said }}" + "  trust: drafts are read before they go out\n"
    )

    assert found(ASK + trusted) == []


def test_item_of_a_loop_is_as_its_list_is() -> None:
    loop = """
    list: {tool: helpdesk.listTickets}
    each:
      foreach:
        items: steps.list.output.body
        max_items: 100
        steps:
          ask:
            llm: {prompt: "Sum it up: ${{ item.text }}", max_tokens: 400}
            output: {said: {type: string, maxLength: 400}}
          send:
            tool: helpdesk.createTicket
            with: {body: {text: "${{ steps.ask.output.said }}"}}
    """

    (only,) = found(loop)

    ways = [place.message.split("'")[1] for place in only.flow]
    assert ways == ["list", "each", "each.ask", "each.send"]


def test_turn_before_of_a_repeat_is_as_its_turns_are() -> None:
    loop = (
        ASK
        + """
again:
  repeat:
    steps:
      next: {transform: "turn == 0 ? '' : string(previous) + steps.ask.output.said"}
      send:
        when: turn > 0
        tool: helpdesk.createTicket
        with: {body: {text: "${{ json(previous) }}"}}
    collect: steps.next.output
    until: turn > 1
    max: 3
"""
    )

    assert [f.name for f in found(loop)] == ["injection-reach"]


def test_approval_that_shows_something_else_is_blind() -> None:
    approved = (
        ASK
        + """
look: {approve: {message: "Send it for ${{ inputs.ticket }}?", expires: 1h}}
"""
        + SEND.replace("send:\n", "send:\n  after: look\n") % "${{ steps.ask.output.said }}"
    )

    (only,) = found(approved)

    assert only.name == "approval-blind"


def test_approval_on_another_way_does_not_help() -> None:
    approved = (
        ASK
        + """
look:
  approve: {message: "Send ${{ steps.ask.output.said }}?", expires: 1h}
"""
        + SEND % "${{ steps.ask.output.said }}"
    )

    assert [f.name for f in found(approved)] == ["injection-reach"]


def test_what_a_service_said_may_go_back_to_it() -> None:
    back = """
    change:
      tool: helpdesk.changeTicket
      with: {path: {id: "${{ steps.fetch.output.body.id }}"}, body: {severity: low}}
    """

    assert found(back) == []


@pytest.mark.parametrize(
    "label",
    [
        "system: '%s', prompt: Go on",
        "messages: [{role: system, content: '%s'}, {role: user, content: hi}]",
    ],
)
def test_text_from_outside_is_no_system_message(label: str) -> None:
    step = "ask:\n  llm: {" + label % "${{ steps.fetch.output.body.text }}" + ", max_tokens: 900}\n"

    assert [f.name for f in found(step)] == ["taint-sink"]


def test_program_that_runs_is_not_chosen_outside() -> None:
    step = "it:\n  shell: ['${{ steps.fetch.output.body.text }}', now]\n"

    assert [f.name for f in found(step)] == ["taint-sink"]
