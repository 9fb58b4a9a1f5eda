"""Scenarios 24 to 28: values, documents, caches and secrets keep what they are."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import sqlite3
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from dagflow.core.errors import UsageError
from dagflow.core.run import RunState
from dagflow.service.views import run_view
from tests.acceptance.command import Shell
from tests.api.served import served
from tests.contract.tool_server import Answer, Received, serving
from tests.scenarios.flows import House, Script, checked, compiled, errors, ran, sqlite

NUMBER = 7615917337495251231

ECHO = """\
openapi: 3.1.0
info: {title: echo, version: "1"}
servers: [{url: "URL"}]
paths:
  /echo:
    post:
      operationId: echo
      parameters: [{name: q, in: query, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {}}}}
      responses:
        "200": {description: back, content: {application/json: {schema: {}}}}
"""
EXACT = """\
dagflow: 1
name: exact
inputs: {n: integer}
tools: {echo: {openapi: ./echo.yaml}}
steps:
  call:
    when: inputs.n == 7615917337495251231 && inputs.n != 7615917337495251230
    tool: echo.echo
    with: {body: {n: "${{ inputs.n }}", text: "n=${{ inputs.n }}"}}
outputs: {sent: "${{ steps.?call.output.?body.orValue(null) }}"}
"""


def same(got: Received) -> Answer:
    return Answer(200, got.body, {"content-type": "application/json"})


def test_24_an_integer_keeps_its_digits_through_guard_tool_database_and_api(tmp_path: Path) -> None:
    from dagflow.service.workflows import Workflows

    with serving(same) as server:
        document = ECHO.replace("URL", server.url)

        async def whole() -> Any:
            with sqlite(tmp_path) as store:
                house = House(store)
                Workflows(house.engine).register(EXACT, "exact", {"echo": document})
                async with house.at_work():
                    run_id = house.runs.submit(compiled(EXACT, echo=document), {"n": NUMBER})
                    return await house.end(run_id)

        run = asyncio.run(whole())
        sent = server.received[0].body.decode()

    assert run.outputs == {"sent": {"n": NUMBER, "text": f"n={NUMBER}"}}
    assert f'"n":{NUMBER}' in sent.replace(" ", "")
    stored = sqlite3.connect(tmp_path / "dagflow.db").execute("SELECT body FROM event").fetchall()
    assert any(f'"n":{NUMBER}' in str(row) for row in stored)
    with served(tmp_path) as api:
        shown = api.get(f"/v1/runs/{run.id}").body.decode()
    assert f'"outputs":{{"sent":{{"n":{NUMBER}' in shown


def test_24_and_through_the_command_line(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    with serving(same) as server:
        shell.write("echo.yaml", ECHO.replace("URL", server.url))
        shell.write("flow.yaml", EXACT)
        answer = shell("run", "flow.yaml", "-i", f"n={NUMBER}", "--format", "json")

    assert answer.json["run"]["outputs"]["sent"] == {"n": NUMBER, "text": f"n={NUMBER}"}
    assert str(NUMBER) in shell("runs", "show", answer.json["run"]["id"], "--format", "json").out


def test_24_an_integer_beyond_64_bits_is_refused_at_compile_and_at_submit() -> None:
    flow = "dagflow: 1\nname: n\ninputs: {n: integer}\nsteps: {a: {transform: LITERAL}}\n"

    assert errors(flow.replace("LITERAL", "9223372036854775808"))
    with pytest.raises(UsageError, match="64-bit"):
        ran(compiled(flow.replace("LITERAL", "inputs.n")), {"n": 2**63})


def test_25_a_duplicate_key_is_refused_with_both_places() -> None:
    steps = ("a: {transform: '1'}", "b: {transform: '2'}", "a: {transform: '3'}")
    flow = "dagflow: 1\nname: twice\nsteps:\n" + "".join(f"  {step}\n" for step in steps)
    (found,) = [f for f in errors(flow) if f.code == "DF001"]

    assert found.span.line == 6
    assert [related.span.line for related in found.related] == [4]


def test_25_scalars_are_read_by_yaml_1_2() -> None:
    script = Script()
    run = ran(
        compiled("""\
dagflow: 1
name: scalars
steps:
  a:
    python: 'def main(**given): return given'
    with:
      {on: on, NO: NO, yes: yes, time: 22:22, ten: 010, under: 1_000, exp: 1e3, f: 1.10,
       day: 2024-01-01, nul: ~}
    output: {schema: {}}
outputs: {all: "${{ steps.a.output }}"}
"""),
        script=script,
    )

    outputs: Any = run.outputs
    assert outputs["all"] == {
        "on": "on", "NO": "NO", "yes": "yes", "time": "22:22", "ten": 10, "under": "1_000",
        "exp": 1000.0, "f": 1.1, "day": "2024-01-01", "nul": None,
    }  # fmt: skip
    assert type(outputs["all"]["exp"]) is float


def bomb() -> str:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    names = "abcdefghi"
    for before, name in pairwise(names):
        lines.append(f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "text", [bomb(), "&x {b: *x}\n", "a: &x [1, *x]\n"], ids=["bomb", "map", "list"]
)
def test_26_alias_bombs_and_cycles_are_refused(text: str) -> None:
    assert len(text) < 450
    found = errors(text)

    assert found
    assert {finding.code for finding in found} <= {"DF001", "DF002"}
    assert any("alias" in f.message or "expand" in f.message for f in found)


CACHED = """\
dagflow: 1
name: cached
inputs: {x: string}
steps:
  a:
    {python: 'def main(x): return x', with: {x: "${{ inputs.x }}"}, output: string,
     cache: {ttl: 1h}}
  b: {python: 'def main(x): return x', with: {x: "b"}, output: string, cache: {ttl: 1h}}
outputs: {a: "${{ steps.a.output }}", b: "${{ steps.b.output }}"}
"""


def test_27_steps_of_equal_text_share_nothing() -> None:
    async def own(attempt: Any, context: Any) -> Any:
        return f"{attempt.path}:{attempt.arguments['x']}"

    script = Script({"a": own, "b": own})
    plan = compiled(CACHED)

    async def whole() -> list[Any]:
        house = House(script=script)
        async with house.at_work():
            given = [{"x": "b"}, {"x": "c"}, {"x": "b"}]
            return [(await house.end(house.runs.submit(plan, one))).outputs for one in given]

    assert asyncio.run(whole()) == [
        {"a": "a:b", "b": "b:b"},
        {"a": "a:c", "b": "b:b"},
        {"a": "a:b", "b": "b:b"},
    ]
    assert [step.cache_ttl for step in plan.steps] == [3600.0, 3600.0]


CANARY = 'can"ary+Secret/7f3a'
SECRET = """\
dagflow: 1
name: secret
secrets: [KEY]
tools: {echo: {openapi: ./echo.yaml}}
steps:
  call:
    tool: echo.echo
    with: {query: {q: "key ${{ secrets.KEY }}!"}, body: {key: "${{ secrets.KEY }}"}}
  fails:
    after: call
    python: 'def main(key): return key'
    with: {key: "${{ secrets.KEY }}"}
    output: string
    on_error: [{continue: none}]
outputs:
  all: ${{ steps.call.output.body }}
  error: ${{ steps.?fails.?error.?message.orValue("") }}
"""


def forms(secret: str) -> dict[str, str]:
    inside = base64.b64encode(f"user:{secret}".encode()).decode()
    return {
        "plain": secret,
        "upper": secret.upper(),
        "lower": secret.lower(),
        "base64": base64.b64encode(secret.encode()).decode(),
        "base64 inside": inside,
        "quoted": quote(secret, safe=""),
        "json": json.dumps(secret)[1:-1],
    }


@pytest.mark.parametrize(
    "expression",
    [
        "secrets.KEY.upperAscii()",
        'secrets.KEY + "x"',
        "base64.encode(bytes(secrets.KEY))",
        "size(secrets.KEY)",
    ],
)
def test_28_a_secret_that_is_worked_on_does_not_compile(expression: str) -> None:
    flow = SECRET.replace('key: "${{ secrets.KEY }}"}}', f"key: '${{{{ {expression} }}}}'}}}}")

    found = [f for f in checked(flow, echo=ECHO).report.findings if f.severity.value == "error"]

    assert flow != SECRET
    assert found


@pytest.mark.parametrize("place", ["when: secrets.KEY != ''", "transform: secrets.KEY"])
def test_28_a_secret_does_not_decide_or_become_a_value(place: str) -> None:
    kind = "" if "transform" in place else "transform: '1', "
    found = errors(f"dagflow: 1\nname: s\nsecrets: [KEY]\nsteps:\n  a: {{{kind}{place}}}\n")

    assert "secret-flow" in {finding.name for finding in found}


def test_28_a_secret_that_comes_back_is_masked_everywhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from dagflow.core.errors import StepError

    caplog.set_level(logging.DEBUG)
    written = forms(CANARY)

    def echo(got: Received) -> Answer:
        body = json.dumps({**written, "query": got.query, "inside": f"<{CANARY}>"})
        return Answer(200, body.encode(), {"content-type": "application/json", "x-key": "k"})

    async def leaks(attempt: Any, context: Any) -> Any:
        value = context.resolve_secrets(attempt.arguments)["key"]
        context.emit("log", {"stream": "stdout", "text": f"key={value.upper()}"})
        raise StepError("user", f"the key {value} ({written['base64']}) was refused")

    heard: list[str] = []

    async def whole() -> Any:
        with sqlite(tmp_path) as store:
            house = House(store, script=Script({"fails": leaks}), secrets={"KEY": CANARY})
            async with house.at_work():
                watch = house.engine.live.subscribe()
                plan = compiled(SECRET, echo=ECHO.replace("URL", server.url))
                run = await house.end(house.runs.submit(plan, {}))
                watch.close()
                heard.extend([repr(event) async for event in watch])
                return run, json.dumps(run_view(run, plan), ensure_ascii=False)

    with serving(echo) as server:
        run, view = asyncio.run(whole())
        sent = server.received[0]

    assert quote(CANARY, safe="") in sent.query
    assert json.loads(sent.body) == {"key": CANARY}
    assert run.state is RunState.SUCCEEDED
    assert all("***" in value for value in run.outputs["all"].values())
    assert "***" in run.outputs["error"] or run.outputs["error"] == ""
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    texts = {
        "view": view,
        "live": "".join(heard),
        "log": caplog.text,
        "file": stored.decode("latin-1"),
    }
    for name, form in written.items():
        for where, text in texts.items():
            assert form not in text, (name, where)
    assert "key=***" in texts["live"]
