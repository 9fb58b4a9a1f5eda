"""Nothing that is shown of a step's work holds a part of a secret, wherever it was cut."""

from __future__ import annotations

import asyncio
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import pytest

from dagflow.core.clock import FakeClock
from dagflow.core.plan import Limits, PlanStep
from dagflow.core.references import reference
from dagflow.core.run import Fail
from dagflow.core.values import JsonObject, JsonValue
from dagflow.executor.live.base import Emitted
from dagflow.executor.live.process import ProcessBus
from dagflow.executor.performing import performed
from dagflow.executor.sandbox.unsafe import UnsafeCage
from dagflow.executor.steps import WORK
from dagflow.executor.steps.base import Attempt, StepContext, StepWork
from dagflow.executor.steps.context import WorkContext
from dagflow.executor.steps.outcomes import LOG_CAP
from dagflow.llm.protocol import HttpStream
from dagflow.llm.router import Router
from dagflow.tools.egress import Egress
from dagflow.tools.http import Headers, Request, Response
from tests.contract.tool_calls import LOOPBACK, compiled
from tests.unit.llm.fakes import FakeHttp

LINE = "wq7Zk2Xv9Lm4Tb8Rn3Hj"
TWO_LINES = f"{LINE}\n{LINE[::-1]}"
PARTS = [text[at : at + 6] for text in (LINE, LINE[::-1]) for at in range(len(LINE) - 5)]


def shown(kind: str, body: JsonObject, given: JsonValue, secret: str, **limits: Any) -> str:
    """Return all that comes out of one attempt: its report, and what watchers are told."""
    step = PlanStep(
        path="s", kind=kind, action="act", effects="idempotent", body=body, limits=Limits(**limits)
    )
    attempt = Attempt(
        run_id="r", root="r", path="s", attempt=1, token=1, kind=kind, step=step,
        input={"with": given, "body": given}, secrets=frozenset({"KEY"}),
    )  # fmt: skip
    return told(attempt, WORK[kind], secret, {"cage": UnsafeCage()})


def told(attempt: Attempt, work: StepWork, secret: str, services: Mapping[str, object]) -> str:
    """Return all that comes out of an attempt."""

    async def whole() -> str:
        bus = ProcessBus()
        watcher = bus.subscribe("r")
        context = WorkContext(
            attempt, clock=FakeClock(), live=bus, secrets=lambda _: secret, services=services
        )
        report = await performed(attempt, context, work)
        watcher.close()
        events = [event.data async for event in watcher if isinstance(event, Emitted)]
        said = report.error.message if isinstance(report, Fail) else report.output
        return json.dumps([said, *events])

    return asyncio.run(whole())


def python(code: str, secret: str = LINE, **limits: Any) -> str:
    return shown("python", {"code": f"def main(key):\n    {code}"}, {"key": reference("KEY")},
                 secret, **limits)  # fmt: skip


def shell(argv: Sequence[JsonValue], parse: str | None = None) -> str:
    return shown("shell", {"parse": parse}, {"argv": list(argv), "stdin": None}, TWO_LINES)


def check(text: str) -> None:
    assert "***" in text
    assert [part for part in PARTS if part in text] == []


@pytest.mark.parametrize("before", [1990, 3980, 3990])
def test_in_an_exceptions_message(before: int) -> None:
    check(python(f"raise ValueError('x' * {before} + key)"))


@pytest.mark.parametrize("secret", [LINE, TWO_LINES])
def test_in_the_last_line_of_a_function_that_gave_no_result(secret: str) -> None:
    check(python("import os, sys; sys.stderr.write('x' * 490 + key); sys.stderr.flush(); "
                 "os._exit(1)", secret))  # fmt: skip


def test_at_the_beginning_of_a_log_that_is_cut_to_its_end() -> None:
    check(python(f"print(key + 'x' * {LOG_CAP - 10})"))


def test_at_the_end_of_a_log_that_its_limit_cut() -> None:
    check(python("print('x' * 990 + key, flush=True); import time; time.sleep(9)", output=1000))


def test_in_an_argument_that_is_none() -> None:
    check(shell(["echo", ["x" * 70 + reference("KEY")]]))


def test_in_the_lines_of_an_output_whose_secret_has_several() -> None:
    check(shell(["printf", "a\n%s\nb", reference("KEY")], "lines"))


def test_in_the_last_line_of_a_programs_errors() -> None:
    check(shell(["sh", "-c", 'printf "%s" "$1" >&2; exit 1', "sh", reference("KEY")], "text"))


class Echo:
    """An `HttpClient` that always answers the same."""

    def __init__(self, status: int, content: str, headers: Headers = ()) -> None:
        self._answer = Response(status=status, headers=headers, content=content.encode())

    async def send(self, request: Request, *, egress: Egress, timeout: float) -> Response:  # noqa: ASYNC109
        return self._answer

    async def close(self) -> None: ...


class Granting(Echo):
    """An `Echo` that grants the token `LINE`."""

    async def send(self, request: Request, *, egress: Egress, timeout: float) -> Response:  # noqa: ASYNC109
        token = json.dumps({"access_token": LINE}).encode()
        if request.url.endswith("/token"):
            return Response(status=200, headers=(), content=token)
        return self._answer


KEY: JsonObject = {"type": "apiKey", "in": "query", "name": "k"}
CLIENT: JsonObject = {
    "type": "oauth2",
    "flows": {"clientCredentials": {"tokenUrl": "https://desk.example/token", "scopes": {}}},
}


def calling(
    http: Echo, responses: str = "strict", scheme: JsonObject = KEY, secret: str = TWO_LINES
) -> str:
    """Return what comes out of a call of a tool whose credential is the secret."""
    content = {"200": {"description": "", "content": {"application/json": {}}}}
    declared = {"security": [{"desk": []}], "responses": content}
    made = compiled(
        declared, "https://desk.example", components={"securitySchemes": {"desk": scheme}}
    )
    step = PlanStep(
        path="s", kind="tool", action="act", effects="once",
        body={"operation": made.id, "auth": {"desk": reference("KEY")}, "responses": responses},
    )  # fmt: skip
    attempt = Attempt(
        run_id="r", root="r", path="s", attempt=1, token=1, kind="tool", step=step,
        tools={made.id: made.wire}, secrets=frozenset({"KEY"}),
    )  # fmt: skip
    return told(attempt, WORK["tool"], secret, {"http": http, "egress": LOOPBACK})


SAID = {
    "as it is": TWO_LINES,
    "JSON": json.dumps({"detail": TWO_LINES}),
    "HTML": f"<p>{html.escape(TWO_LINES)}</p>",
    "percent": quote(TWO_LINES),
}


@pytest.mark.parametrize("said", SAID)
def test_in_a_servers_reason(said: str) -> None:
    check(calling(Echo(400, f"bad key {SAID[said]}")))


@pytest.mark.parametrize("before", range(252, 297, 6))
def test_in_a_servers_reason_that_is_cut(before: int) -> None:
    check(calling(Echo(500, "x" * before + TWO_LINES)))


@pytest.mark.parametrize("status", [200, 400, 401])
def test_of_a_token_that_was_fetched_with_a_secret(status: int) -> None:
    http = Granting(status, json.dumps(f"the token {LINE} is yours"))

    check(calling(http, "warn", CLIENT, "client:password"))


@pytest.mark.parametrize("before", [0, 262, 290])
def test_in_a_redirect(before: int) -> None:
    check(calling(Echo(302, "", (("location", f"/{'x' * before}?k={quote(TWO_LINES)}"),))))


@pytest.mark.parametrize("responses", ["strict", "warn"])
@pytest.mark.parametrize("before", [0, 46, 70])
def test_in_the_type_of_a_response(before: int, responses: str) -> None:
    check(calling(Echo(200, "5", (("content-type", "x" * before + quote(TWO_LINES)),)), responses))


@pytest.mark.parametrize("said", SAID)
def test_in_a_models_reason(said: str) -> None:
    for before in (0, 462, 484):
        http = FakeHttp([("x" * before + SAID[said]).encode()], status=401)
        check(asking(http))


def test_in_what_a_model_says_that_is_no_answer() -> None:
    for value in (TWO_LINES, [[TWO_LINES]], {"error": {"message": TWO_LINES}}):
        check(asking(FakeHttp([f"data: {json.dumps(value)}\n\n".encode()])))


def asking(http: HttpStream) -> str:
    """Return what comes out of asking a model whose key is `TWO_LINES`."""
    step = PlanStep(
        path="s", kind="llm", action="generate", effects="idempotent",
        body={"max_tokens": 9},
    )  # fmt: skip
    attempt = Attempt(
        run_id="r", root="r", path="s", attempt=1, token=1, kind="llm", step=step,
        input={"with": None, "body": {"messages": [{"role": "user", "content": "hi"}]}},
        models={"default": {"url": "http://x", "api_key": reference("KEY")}},
        secrets=frozenset({"KEY"}),
    )  # fmt: skip
    return told(attempt, WORK["llm"], TWO_LINES, {"chat": Router(http)})


def test_in_the_log_of_an_attempt_that_broke(caplog: pytest.LogCaptureFixture) -> None:
    async def breaks(attempt: Attempt, context: StepContext) -> JsonValue:
        raise KeyError(context.secret("KEY"))

    step = PlanStep(path="s", kind="tool", action="act", effects="once")
    attempt = Attempt(
        run_id="r", root="r", path="s", attempt=1, token=1, kind="tool", step=step,
        secrets=frozenset({"KEY"}),
    )  # fmt: skip
    check(told(attempt, breaks, TWO_LINES, {}))
    check(caplog.text)
