"""Sources for the compiler's tests."""

from __future__ import annotations

import textwrap

from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.source.parse import parse
from dagflow.compiler.types.infer import model_of
from dagflow.core.plan import Plan
from dagflow.core.source import Source
from tests.rules.compiling import compiled, tools


def workflow(steps: str, top: str = "") -> str:
    """Return the text of a workflow with these steps and top-level keys."""
    head = f"dagflow: 1\nname: test\n{textwrap.dedent(top)}"
    return f"{head.rstrip()}\nsteps:\n{textwrap.indent(textwrap.dedent(steps).strip(), '  ')}\n"


def modelled(text: str) -> Model:
    """Return the typed workflow; the text must parse."""
    found = parse(Source("test.yaml", text))
    assert found.workflow is not None
    assert not found.findings
    return model_of(found.workflow, tools(), {})


def facts(model: Model, path: str) -> StepFacts:
    """Return what is known of one step."""
    found = model.find(path)
    assert found is not None
    return found


def planned(text: str) -> Plan:
    """Return the plan of a text without errors."""
    result = compiled(text)
    assert result.plan is not None, [f.message for f in result.report.findings]
    return result.plan


PIECES = """
first: {transform: inputs.n + 1}
fetch:
  tool: helpdesk.getTicket
  with: {path: {id: t-1}}
guarded: {transform: "1", when: inputs.n > 3}
each:
  foreach:
    items: inputs.words
    as: word
    max_items: 5
    steps:
      size: {transform: size(word)}
      plus: {transform: steps.size.output + steps.first.output}
turns:
  repeat:
    steps:
      next: {transform: turn + 1}
    until: steps.next.output > 3
    max: 5
ask: {approve: {message: Go on?, expires: 1h}}
run:
  shell: [date]
  after: ask
lines:
  shell: {argv: [date], parse: lines}
write:
  llm: {prompt: "Say ${{ steps.fetch.output.body.text }}"}
grade:
  llm: {prompt: Grade it.}
  output: {level: {enum: [low, high]}}
pick:
  switch:
    - {when: steps.grade.output.level == "low", then: end}
    - else: late
late: {wait: {for: 1s}}
"""
TOP = """
inputs: {n: integer, words: {type: array, items: {type: string}, maxItems: 5}}
tools:
  helpdesk: {openapi: ./helpdesk.openapi.yaml}
outputs:
  all: "${{ steps.each.output }}"
  turns: "${{ steps.turns.output }}"
  text: "${{ steps.write.output.text }}"
  guarded: "${{ steps.?guarded.output.orValue(0) }}"
  lines: "${{ steps.lines.output }}"
"""


def whole() -> str:
    """Return a workflow with most kinds of steps and no finding."""
    return workflow(PIECES, TOP)
