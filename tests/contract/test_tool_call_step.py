"""A tool step's worker, from a plan's step to a server and back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from dagflow.core.clock import FakeClock
from dagflow.core.errors import StepError
from dagflow.core.plan import PlanStep
from dagflow.executor.steps.base import Attempt
from dagflow.executor.steps.tool import work
from dagflow.tools.http import PooledClient
from tests.contract.tool_calls import LOOPBACK, compiled, parameter
from tests.contract.tool_server import Answer, Received, Server, serving

SECRETS = {"TOKEN": "s3cret", "ID": "ann", "WORD": "pass"}


def reference(name: str) -> str:
    return f"\ue000secret:{name}\ue001"


@dataclass
class Context:
    services: Mapping[str, object]
    clock: FakeClock = field(default_factory=FakeClock)
    used: dict[str, float] = field(default_factory=dict)
    emitted: list[tuple[str, Any]] = field(default_factory=list)

    def emit(self, kind: str, data: Any) -> None:
        self.emitted.append((kind, data))

    def use(self, **amounts: float) -> None:
        self.used.update(amounts)

    def secret(self, name: str) -> str:
        return SECRETS[name]

    def resolve_secrets(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.resolve_secrets(item) for key, item in value.items()}
        if isinstance(value, str):
            for name, secret in SECRETS.items():
                value = value.replace(reference(name), secret)
        return value

    def hide(self, secret: str) -> None: ...

    def mask(self, value: Any) -> Any:
        return value

    def mask_cut(self, text: str) -> str:
        return text


def run(made: Any, with_: Any = None, auth: Any = None, **body: Any) -> tuple[Any, Context]:
    async def whole() -> tuple[Any, Context]:
        client = PooledClient()
        context = Context({"http": client, "egress": LOOPBACK})
        step = PlanStep(
            path="fetch",
            kind="tool",
            action="act",
            effects=made.effects,
            body={"operation": made.id, "auth": auth or {}, **body},
        )
        attempt = Attempt(
            run_id="r",
            root="r",
            path="fetch",
            attempt=1,
            token=1,
            kind="tool",
            step=step,
            input={"with": with_, "body": {}},
            idempotency_key="key-7",
            tools={made.id: made.wire},
        )
        try:
            return await work(attempt, context), context
        finally:
            await client.close()

    return asyncio.run(whole())


def secured(server: Server, kind: Any, **declared: Any) -> Any:
    return compiled(
        {"security": [{"desk": []}], **declared},
        server.url,
        method="post",
        components={"securitySchemes": {"desk": kind}},
    )


def test_arguments_and_credentials_get_their_secrets_just_before_the_call() -> None:
    with serving() as server:
        operation = secured(
            server,
            {"type": "http", "scheme": "bearer"},
            parameters=[parameter("q", {"type": "string"})],
        )

        output, context = run(
            operation, {"query": {"q": f"a{reference('ID')}"}}, {"desk": reference("TOKEN")}
        )

    got = server.received[0]
    assert (got.query, got.headers["authorization"]) == ("q=aann", "Bearer s3cret")
    assert output == {"status": 204, "headers": output["headers"], "body": None}
    assert context.used == {}, "the engine counts calls, when a step is claimed"


@pytest.mark.parametrize(
    "credential",
    [
        f"{reference('ID')}:{reference('WORD')}",
        {"username": reference("ID"), "password": reference("WORD")},
        {"client_id": reference("ID"), "client_secret": reference("WORD")},
    ],
)
def test_a_pair_is_one_text_or_two_named_ones(credential: Any) -> None:
    with serving() as server:
        run(secured(server, {"type": "http", "scheme": "basic"}), None, {"desk": credential})

    assert server.received[0].headers["authorization"] == "Basic YW5uOnBhc3M="


def test_the_steps_idempotency_key_goes_where_the_document_declares_one() -> None:
    with serving() as server:
        declared = {"parameters": [parameter("Idempotency-Key", {"type": "string"}, "header")]}
        run(compiled(declared, server.url, method="post"))

    assert server.received[0].headers["idempotency-key"] == "key-7"


def test_a_response_that_breaks_its_schema_is_logged_where_the_tool_says_warn() -> None:
    def reply(_: Received) -> Answer:
        return Answer(200, b"5", {"content-type": "application/json"})

    with serving(reply) as server:
        declared = {
            "responses": {"200": {"content": {"application/json": {"schema": {"type": "string"}}}}}
        }
        output, context = run(compiled(declared, server.url), responses="warn")
        with pytest.raises(StepError, match="is not of type string"):
            run(compiled(declared, server.url), responses="strict")

    assert output["body"] == 5
    assert context.emitted == [
        (
            "log",
            {
                "stream": "warning",
                "text": "the 200 response breaks its schema: / is not of type string",
            },
        )
    ]


def test_an_operation_that_the_plan_does_not_hold_is_said() -> None:
    with serving() as server:
        operation = compiled({}, server.url)

        with pytest.raises(StepError) as caught:
            run(operation, operation="t.GET /other")

    assert caught.value.error_class == "tool_removed"


def test_a_worker_without_a_client_says_so() -> None:
    async def whole() -> None:
        step = PlanStep(
            path="a", kind="tool", action="act", effects="pure", body={"operation": "x"}
        )
        attempt = Attempt(
            run_id="r", root="r", path="a", attempt=1, token=1, kind="tool", step=step
        )
        await work(attempt, Context({}))

    with pytest.raises(StepError, match="'http'"):
        asyncio.run(whole())
