"""From a scripted answer to the report of an attempt, through the real code of the step's kind.

A tool's response is read by what reads real ones, a model's text by what reads a model's, and what
a program prints by what reads a program's: only the network, the model and the sandbox are not
there.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from dagflow.core.clock import Clock
from dagflow.core.errors import ErrorClass, StepError
from dagflow.core.node import plain
from dagflow.core.plan import PlanStep
from dagflow.core.run import Fail, Succeed
from dagflow.core.values import JsonObject, JsonValue
from dagflow.executor.live.process import ProcessBus
from dagflow.executor.performing import performed
from dagflow.executor.sandbox.cage import Action, Outcome
from dagflow.executor.steps import WORK
from dagflow.executor.steps.base import Attempt, StepContext, StepWork
from dagflow.executor.steps.context import WorkContext
from dagflow.expr.schema import Violation, explain, normalised
from dagflow.llm.protocol import ChatChunk, ChatClient, ChatRequest, Usage
from dagflow.service.testing.cases import Answer, Failing
from dagflow.tools.call import named
from dagflow.tools.http import Response
from dagflow.tools.request import draft
from dagflow.tools.responses import Policy, output_of


async def performed_by(
    attempt: Attempt, work: StepWork, services: Mapping[str, object], clock: Clock
) -> Succeed | Fail:
    """Do the work of an attempt and return its report. Secrets are made up from their names."""
    context = WorkContext(
        attempt,
        clock=clock,
        live=ProcessBus(),
        secrets="test-secret-{}".format,
        services=services,
    )
    return await performed(attempt, context, work)


async def answered(attempt: Attempt, answer: Answer, clock: Clock) -> Succeed | Fail | Violation:
    """Return the report of an attempt that ends as scripted, or how the script breaks a promise.

    A promise is the response schema of an operation, or the output's of a step. An `error` that
    was asked for breaks none.
    """
    wrong = _unpromised(attempt, answer)
    if wrong is not None:
        return wrong
    work, services = _work(attempt, answer)
    event = await performed_by(attempt, work, services, clock)
    if answer.error is not None or answer.status is not None:
        return event
    if isinstance(event, Fail):
        error = event.error
        return Violation("", error.message) if error.error_class == "schema" else event
    return broken(attempt.step, event.output) or event


def _unpromised(attempt: Attempt, answer: Answer) -> Violation | None:
    """Return how a scripted response is not what its operation promises."""
    if answer.status is None:
        return None
    wire = attempt.tools[str(attempt.step.body["operation"])]
    try:
        output_of(wire, _http(wire, answer), policy=_policy(attempt), warn=lambda _: None)
    except StepError as error:
        return Violation("", error.message) if error.error_class == "schema" else None
    return None


def _policy(attempt: Attempt) -> Policy:
    return cast("Policy", attempt.step.body.get("responses", "strict"))


def broken(step: PlanStep, output: JsonValue) -> Violation | None:
    """Return how an output breaks the schema that the step promises, or None."""
    if step.body.get("responses", "strict") != "strict":
        return None
    schema = step.output_schema
    return explain(schema, normalised(schema, output))


def failing(error: Failing) -> StepError:
    """Return the failure that a script asks for."""
    wait = None if error.retry_after is None else error.retry_after.value.total_seconds()
    message = error.message.value if error.message is not None else "as the test says"
    return StepError(cast("ErrorClass", error.class_.value), message, retry_after=wait)


def _work(attempt: Attempt, answer: Answer) -> tuple[StepWork, Mapping[str, object]]:
    """Return the work that ends as an answer says, and the services that it needs."""
    if answer.error is not None:
        return _raising(failing(answer.error)), {}
    if answer.status is not None:
        return _response(answer), {}
    if answer.stdout is not None:
        return WORK["shell"], {"cage": _Printing(answer)}
    if attempt.kind == "llm" and (answer.text is not None or attempt.step.body.get("structured")):
        return WORK["llm"], {"chat": _Models(answer)}
    assert answer.output is not None
    return _giving(plain(answer.output)), {}


def _raising(error: StepError) -> StepWork:
    async def work(_attempt: Attempt, _context: StepContext) -> JsonValue:
        raise error

    return work


def _giving(value: JsonValue) -> StepWork:
    async def work(_attempt: Attempt, _context: StepContext) -> JsonValue:
        return value

    return work


def _response(answer: Answer) -> StepWork:
    async def work(attempt: Attempt, context: StepContext) -> JsonValue:
        wire = attempt.tools[str(attempt.step.body["operation"])]
        given = context.resolve_secrets(attempt.arguments)
        arguments = given if isinstance(given, dict) else {}
        response = _http(wire, answer)
        with named(wire):
            draft(wire, arguments, idempotency_key=attempt.idempotency_key)  # it must have a form
            return output_of(wire, response, policy=_policy(attempt), warn=lambda _: None)

    return work


def _http(wire: JsonObject, answer: Answer) -> Response:
    """Return the response that a server would send."""
    assert answer.status is not None
    body = None if answer.body is None else plain(answer.body)
    headers = {key.value.lower(): it.value for key, it in answer.headers or ()}
    declared = cast("JsonObject", wire["responses"]).get(str(answer.status.value))
    kind = (
        str(declared["media_type"])
        if isinstance(declared, dict) and declared.get("media_type")
        else ""
    )
    if answer.body is None:
        content = b""
    elif isinstance(body, str) and kind and not kind.endswith("json"):
        content = body.encode()
    else:
        kind = kind or "application/json"
        content = json.dumps(body, ensure_ascii=False).encode()
    if content:
        headers.setdefault("content-type", kind)
    return Response(status=answer.status.value, headers=tuple(headers.items()), content=content)


@dataclass(frozen=True, slots=True)
class _Models:
    """Models that all give one answer."""

    answer: Answer

    @asynccontextmanager
    async def client(
        self, _name: str, _route: JsonObject, _key: str | None
    ) -> AsyncIterator[ChatClient]:
        """Give who answers."""
        yield self

    async def stream(self, _request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        """Yield the answer in one piece."""
        answer = self.answer
        tokens = None if answer.tokens is None else Usage(completion_tokens=answer.tokens.value)
        if answer.text is not None:
            text = answer.text.value
        else:
            assert answer.output is not None
            text = json.dumps(plain(answer.output), ensure_ascii=False)
        yield ChatChunk(text=text, finish_reason="stop", usage=tokens)


@dataclass(frozen=True, slots=True)
class _Printing:
    """A cage in which every program prints the same."""

    answer: Answer

    async def run(self, _action: Action) -> Outcome:
        """Return what was printed."""
        answer = self.answer
        code = answer.exit_code.value if answer.exit_code is not None else 0
        assert answer.stdout is not None
        return Outcome(
            kind="error" if code else "ok",
            exit_code=code,
            stdout=answer.stdout.value.encode(),
            stderr=answer.stderr.value.encode() if answer.stderr is not None else b"",
            message=f"ended with exit code {code}" if code else "",
        )
