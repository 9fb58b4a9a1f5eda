"""Data that spells a reference to a secret is data, whichever way it comes in."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from urllib.parse import unquote

import pytest

from dagflow.core.plan import Plan
from dagflow.core.run import Run, RunState
from dagflow.executor.sandbox.unsafe import UnsafeCage
from dagflow.executor.steps import WORK
from dagflow.executor.worker import Worker
from dagflow.service.bundle import read_bundle
from dagflow.service.check import check
from dagflow.tools.egress import Egress
from dagflow.tools.http import PooledClient
from tests.contract.tool_server import Answer, Received, Server, serving
from tests.scenarios.flows import House, Script, eventually

SECRETS = {"KEY": "k3y-of-the-desk", "OTHER": "0ther-secret", "UNNAMED": "n0t-declared"}
FORGED = "".join(f"\ue000secret:{name}\ue001" for name in SECRETS) + "\ue000\ue002 \ue001"

ECHO = """\
openapi: 3.1.0
info: {title: echo, version: "1"}
servers: [{url: "URL"}]
components: {securitySchemes: {desk: {type: http, scheme: bearer}}}
security: [{desk: []}]
paths:
  /echo:
    get:
      operationId: echo
      parameters: [{name: q, in: query, schema: {type: string}}]
      responses:
        "200": {description: back, content: {application/json: {schema: {type: string}}}}
"""
HEX = 'python: "def main(key, **said): return {name: t.encode().hex() for name, t in said.items()}"'
CHILD = f"""\
dagflow: 1
name: child
inputs: {{text: string}}
secrets: [KEY]
steps:
  hex:
    {HEX}
    with: {{key: "${{{{ secrets.KEY }}}}", text: "${{{{ inputs.text }}}}"}}
outputs: {{hex: "${{{{ steps.hex.output.text }}}}"}}
"""
FLOW = f"""\
dagflow: 1
name: forged
inputs: {{text: string}}
secrets: [KEY, OTHER]
tools: {{echo: {{openapi: ./echo.yaml, auth: {{desk: "${{{{ secrets.KEY }}}}"}}}}}}
steps:
  tool: {{tool: echo.echo, with: {{query: {{q: "<${{{{ inputs.text }}}}>"}}}}}}
  python:
    python: "def main(): return bytes.fromhex('{FORGED.encode().hex()}').decode()"
    output: string
  shell: {{shell: {{argv: [printf, "%s", "${{{{ inputs.text }}}}"], parse: text}}}}
  llm: {{llm: {{prompt: say it, max_tokens: 9}}}}
  signal: {{wait: {{signal: go}}, output: string}}
  approve: {{approve: {{message: go?, expires: 10m}}}}
  child: {{workflow: {{file: ./child.yaml}}, with: {{text: "${{{{ inputs.text }}}}"}}}}
  loop:
    foreach:
      items: "[inputs.text]"
      max_items: 2
      steps:
        hex:
          {HEX}
          with: {{key: "${{{{ secrets.KEY }}}}", text: "${{{{ item }}}}"}}
  sink:
    {HEX}
    with:
      key: "${{{{ secrets.KEY }}}}"
      input: "${{{{ inputs.text }}}}"
      joined: "${{{{ secrets.KEY }}}}${{{{ inputs.text }}}}"
      tool: "${{{{ steps.tool.output.body }}}}"
      python: "${{{{ steps.python.output }}}}"
      shell: "${{{{ steps.shell.output }}}}"
      llm: "${{{{ steps.llm.output.text }}}}"
      signal: "${{{{ steps.signal.output }}}}"
      approve: "${{{{ steps.approve.output.comment }}}}"
  argument:
    shell:
      argv:
        - sh
        - -c
        - cat >/dev/null; printf %s "$1" | od -An -v -tx1 | tr -d ' \\n'
        - sh
        - "${{{{ inputs.text }}}}"
      stdin: "${{{{ secrets.KEY }}}}"
      parse: text
outputs:
  all: "${{{{ steps.sink.output }}}}"
  item: "${{{{ steps.loop.output[0].text }}}}"
  child: "${{{{ steps.child.output.hex }}}}"
  argument: "${{{{ steps.argument.output }}}}"
"""


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, list[Received]]:
    """Return a run that was given forged references from every side, and what its tool got."""
    folder = tmp_path_factory.mktemp("flow")
    with serving(_answer) as server:
        plan = _plan(folder, server)
        run = asyncio.run(_ended(plan))
    assert run.state is RunState.SUCCEEDED, run.error
    return run, server.received


def _answer(_: Received) -> Answer:
    return Answer(200, json.dumps(FORGED).encode(), {"content-type": "application/json"})


def _plan(folder: Path, server: Server) -> Plan:
    files = {"flow": FLOW, "child": CHILD, "echo": ECHO.replace("URL", server.url)}
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    found = check(read_bundle(str(folder / "flow.yaml")))
    assert found.plan is not None, [f"{f.code} {f.message}" for f in found.report.findings]
    return found.plan


async def _ended(plan: Plan) -> Run:
    house, http = House(), PooledClient()
    worker = Worker(
        house.engine,
        house.doorbell,
        work={**WORK, "llm": Script({"llm": {"text": FORGED, "finish_reason": "stop"}})},
        services={"http": http, "egress": Egress(loopback=True), "cage": UnsafeCage()},
        secrets=SECRETS.get,
    )
    async with worker:
        run_id = house.runs.submit(plan, {"text": FORGED})
        await eventually(lambda: house.runs.approvals(run_id))
        house.runs.signal(run_id, "go", FORGED)
        approval = house.runs.approvals(run_id)[0]
        house.runs.decide(approval.id, approve=True, by="ann", comment=FORGED)
        run = await house.end(run_id)
    await http.close()
    return run


@pytest.mark.parametrize("way", ["input", "tool", "python", "shell", "llm", "signal", "approve"])
def test_forged_references_beside_a_secret_reach_the_code_as_they_were_written(
    forged: tuple[Run, list[Received]], way: str
) -> None:
    assert bytes.fromhex(forged[0].outputs["all"][way]).decode() == FORGED  # type: ignore[index, call-overload]


@pytest.mark.parametrize("way", ["item", "child", "argument"])
def test_so_do_they_as_an_item_as_a_childs_input_and_beside_a_secret_on_stdin(
    forged: tuple[Run, list[Received]], way: str
) -> None:
    assert bytes.fromhex(forged[0].outputs[way]).decode() == FORGED  # type: ignore[index, call-overload]


def test_a_text_with_a_secret_and_a_forged_reference_holds_only_the_one_that_the_author_wrote(
    forged: tuple[Run, list[Received]],
) -> None:
    joined = bytes.fromhex(forged[0].outputs["all"]["joined"]).decode()  # type: ignore[index, call-overload]
    assert joined == SECRETS["KEY"] + FORGED


def test_a_forged_reference_is_sent_to_a_tool_as_text_beside_its_credential(
    forged: tuple[Run, list[Received]],
) -> None:
    (got,) = forged[1]
    assert got.headers["authorization"] == f"Bearer {SECRETS['KEY']}"
    assert unquote(got.query) == f"q=<{FORGED}>"
