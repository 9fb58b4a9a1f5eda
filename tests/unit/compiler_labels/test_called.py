"""Labels across called workflows: what goes in, where it ends, and what comes out."""

from __future__ import annotations

import pytest

from dagflow.core.findings import Finding
from dagflow.core.plan import GivenText
from tests.rules.compiling import compiled, told

CHILD = """\
# file: child.yaml
dagflow: 1
name: child
inputs: {text: string, other: {type: string, default: ""}}
tools:
  helpdesk: {openapi: ./helpdesk.openapi.yaml}
models: {default: {route: local}}
steps:
%s
outputs:
  said: ${{ %s }}
"""

PARENT = """\
# file: parent.yaml
dagflow: 1
name: parent
models: {default: {route: local}}
steps:
  note:
    wait: {signal: note, expires: 1h}
    output: {text: {type: string, maxLength: 400}}
  call:
    workflow: ./child.yaml
    with: {text: "${{ %s }}"}
%s
outputs:
  said: ${{ steps.call.output.said }}
"""

SIGNAL = "steps.note.output.text"
RUNS = '  run: {shell: ["${{ inputs.text }}"]}'
SENDS = """\
  send:
    tool: helpdesk.createTicket
    with: {body: {text: "${{ inputs.text }}"}}"""
ASKS_AND_SENDS = """\
  ask:
    llm: {prompt: "Sum up ${{ inputs.text }}", max_tokens: 400}
    output: {said: {type: string, maxLength: 400}}
  send:
    tool: helpdesk.createTicket
    with: {body: {text: "${{ steps.ask.output.said }}"}}"""
ASK = """\
  ask:
    llm: {prompt: "Sum up ${{ steps.note.output.text }}", max_tokens: 400}
    output: {said: {type: string, maxLength: 400}}"""


def found(child: str, given: str = SIGNAL, more: str = "", *, out: str = "'x'") -> list[Finding]:
    """Return the findings about labels in a workflow that calls another."""
    text = CHILD % (child, out) + PARENT % (given, more)
    names = {"taint-sink", "injection-reach", "approval-blind"}
    return [finding for finding in told(text) if finding.name in names]


def test_text_that_would_be_a_program_inside_of_what_is_called_is_told_where_it_is_given() -> None:
    (only,) = found(RUNS)

    assert only.name == "taint-sink"
    assert "the program that runs, in 'run' of what is called" in only.message
    assert [place.message.split("'")[1] for place in only.flow] == ["note", "call"]


def test_what_a_model_inside_makes_of_it_and_writes_is_told() -> None:
    (only,) = found(ASKS_AND_SENDS)

    assert only.name == "injection-reach"
    assert "'send' of what is called" in only.message


def test_what_a_model_outside_made_is_told_where_it_is_written_inside() -> None:
    (only,) = found(SENDS, "steps.ask.output.said", ASK)

    assert only.name == "injection-reach"


@pytest.mark.parametrize("child", [SENDS, RUNS.replace("inputs.text", "inputs.other")])
def test_text_that_comes_to_nothing_there_is_fine(child: str) -> None:
    assert found(child) == []


def test_text_of_the_author_is_fine() -> None:
    assert found(RUNS, "'ls'") == []


@pytest.mark.parametrize("child", [RUNS, ASKS_AND_SENDS])
def test_approval_inside_that_shows_it_is_enough(child: str) -> None:
    shows = "steps.ask.output.said" if child is ASKS_AND_SENDS else "inputs.text"
    look = f"  look: {{approve: {{message: 'Go on? ${{{{ {shows} }}}}', expires: 1h}}}}\n"
    last = "send" if child is ASKS_AND_SENDS else "run"
    head, _, tail = child.rpartition(f"  {last}:")
    asked = (
        tail.replace("{shell", "{after: look, shell")
        if child is RUNS
        else tail.replace("\n    tool", "\n    after: look\n    tool")
    )

    assert found(f"{head}{look}  {last}:{asked}") == []


def test_trust_on_the_call_ends_it() -> None:
    text = CHILD % (RUNS, "'x'") + PARENT % (SIGNAL, "    trust: our own operators send it")

    assert [f.name for f in told(text) if f.name == "taint-sink"] == []


def test_what_is_called_two_levels_down_is_told() -> None:
    middle = """\
# file: middle.yaml
dagflow: 1
name: middle
inputs: {words: string}
steps:
  call:
    workflow: ./child.yaml
    with: {text: "${{ inputs.words }}"}
"""
    parent = (
        (PARENT % (SIGNAL, "")).replace("child", "middle").replace("with: {text", "with: {words")
    )
    text = CHILD % (RUNS, "'x'") + middle + parent.split("outputs:")[0]

    (only,) = [finding for finding in told(text) if finding.name == "taint-sink"]

    assert "in 'call/run' of what is called" in only.message


def test_outputs_say_whose_text_they_hold() -> None:
    child = CHILD % (ASKS_AND_SENDS, "steps.ask.output.said")

    plan = compiled(child).plan

    assert plan is not None
    assert plan.texts is not None
    assert plan.texts.given == (GivenText(output="said", labels=("model",), inputs=("text",)),)


def test_output_that_holds_none_of_it_carries_nothing_on() -> None:
    runs = '  it: {shell: ["${{ steps.call.output.said }}"]}'

    assert found(ASKS_AND_SENDS, "'x'", runs, out="'fixed'") == []
    assert [f.name for f in found(ASKS_AND_SENDS, "'x'", runs, out="steps.ask.output.said")] == [
        "taint-sink"
    ]


def test_very_many_inputs_are_followed_together() -> None:
    inputs = ", ".join(f"more{n}: {{type: string, default: x}}" for n in range(40))
    child = (CHILD % (RUNS, "inputs.more7")).replace("other:", f"{inputs}, other:")
    more = '  again: {shell: ["${{ steps.call.output.said }}"]}'

    found = [f for f in told(child + PARENT % (SIGNAL, more)) if f.name == "taint-sink"]

    assert len(found) == 2


def test_way_of_thousands_of_steps_is_told_by_its_ends() -> None:
    links = (f"  s{n}: {{transform: steps.s{n - 1}.output}}" for n in range(1, 200))
    chain = "\n".join(["  s0: {transform: steps.note.output.text}", *links])
    text = PARENT.partition("  call:")[0]

    (only,) = [
        f
        for f in told(text + chain + '\n  it: {shell: ["${{ steps.s199.output }}"]}\n')
        if f.name == "taint-sink"
    ]

    assert len(only.flow) < 40
    assert only.flow[0].message.startswith("'note'")
    assert "and 169 steps on" in only.flow[1].message
    assert only.flow[-2].message.startswith("'s199'")
