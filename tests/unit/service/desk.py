"""A workflow with a step of most kinds, and the running of cases of it."""

from __future__ import annotations

import textwrap
from pathlib import Path

from dagflow.service.testing.running import FileResult, run_file

DOCUMENT = """\
openapi: 3.1.0
info: {title: Desk, version: "1"}
servers: [{url: "http://127.0.0.1:1"}]
paths:
  /tickets/{id}:
    get:
      operationId: getTicket
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses:
        "200":
          description: a ticket
          content:
            application/json:
              schema:
                type: object
                required: [text]
                properties: {text: {type: string}}
  /pages:
    post:
      operationId: callSomebody
      requestBody:
        required: true
        content: {application/json: {schema: {type: object, properties: {text: {type: string}}}}}
      responses: {"204": {description: called}}
"""

WORKFLOW = """\
dagflow: 1
name: desk
inputs: {ticket: {type: string, maxLength: 20}}
tools: {desk: {openapi: ./desk.openapi.yaml}}
models: {default: {route: local}}
deadline: 2h
steps:
  fetch:
    tool: desk.getTicket
    with: {path: {id: "${{ inputs.ticket }}"}}
    retry:
      {attempts: 3, backoff: 10s, jitter: 0, on: [timeout, network, http_5xx, rate_limited]}
    timeout: 5s
  grade:
    llm: {prompt: "Grade: ${{ steps.fetch.output.body.text }}", max_tokens: 50}
    output: {severity: {enum: [low, high]}}
  route:
    switch:
      - {when: 'steps.grade.output.severity == "high"', then: ask}
      - {else: close}
  ask:
    approve: {message: "Call somebody for ${{ inputs.ticket }}?", expires: 10m}
  call:
    after: ask
    tool: desk.callSomebody
    with: {body: {text: "${{ inputs.ticket }}"}}
    retry: {attempts: 2, on: [timeout, network]}
    # dagflow: allow retry-unsafe — an outcome that is unknown is to be seen
  close:
    python: |
      def main(ticket):
          return {"closed": ticket}
    with: {ticket: "${{ inputs.ticket }}"}
    output: {closed: {type: string, maxLength: 20}}
outputs:
  severity: ${{ steps.grade.output.severity }}
  called: ${{ steps.call.status == "succeeded" }}
"""

LOOP = """\
dagflow: 1
name: loop
inputs: {words: {type: array, maxItems: 9, items: {type: string, maxLength: 9}}}
steps:
  each:
    foreach:
      items: inputs.words
      max_items: 9
      concurrency: 3
      tolerate: 9
      steps:
        one:
          shell: {argv: [wc, "${{ item }}"], parse: text}
          output: {schema: {type: string, maxLength: 9}}
  count: {transform: "steps.each.output.filter(it, it != null).size()"}
outputs: {count: "${{ steps.count.output }}", all: "${{ steps.each.output }}"}
"""

SIGNAL = """\
dagflow: 1
name: signal
steps:
  pause: {wait: {for: 5m}}
  go: {after: pause, wait: {signal: go}, output: {by: {type: string, maxLength: 9}}}
outputs: {by: "${{ steps.go.output.by }}"}
"""

PARENT = """\
dagflow: 1
name: parent
steps:
  part:
    workflow: {file: ./signal.yaml}
    timeout: 20m
outputs: {by: "${{ steps.part.output.by }}"}
"""

FILES = {
    "desk.openapi.yaml": DOCUMENT,
    "desk.yaml": WORKFLOW,
    "loop.yaml": LOOP,
    "signal.yaml": SIGNAL,
    "parent.yaml": PARENT,
}

COMMON = """\
defaults:
  inputs: {ticket: T-1}
  steps:
    fetch: {status: 200, body: {text: it burns}}
    grade: {output: {severity: low}}
    close: {output: {closed: T-1}}
    call: {status: 204}
"""


def run(folder: Path, cases: str, workflow: str = "desk", common: str = COMMON) -> FileResult:
    """Write the workflows and a test file of one of them, and run it."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    file = folder / f"{workflow}.test.yaml"
    body = textwrap.dedent(cases)
    shared = common if workflow == "desk" else ""
    file.write_text(body if "dagflow_test" in body else f"dagflow_test: 1\n{shared}{body}")
    return run_file(str(file))


def case(folder: Path, body: str, workflow: str = "desk", common: str = COMMON) -> FileResult:
    """Run one case, given without its name."""
    text = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return run(folder, f"cases:\n  - name: it\n{text}\n", workflow, common)


def failures(result: FileResult) -> list[str]:
    """Return what went otherwise: message, and what was expected and what came."""
    assert not result.findings, result.findings
    return [
        it.message + (f" | {it.expected} | {it.got}" if it.expected or it.got else "")
        for one in result.cases
        for it in one.failures
    ]


def findings(result: FileResult) -> list[str]:
    """Return why a file could not be run, each with its place."""
    return [f"{it.span.line}:{it.span.column} {it.message}" for it in result.findings]
