"""`tool`: one operation of an OpenAPI document is called over HTTP."""

from __future__ import annotations

from typing import Final, cast

from dagflow.core.errors import StepError
from dagflow.core.values import JsonObject, JsonValue
from dagflow.executor.steps.base import UNBOUNDED, Attempt, StepContext, service
from dagflow.tools.call import call
from dagflow.tools.egress import Egress
from dagflow.tools.http import HttpClient
from dagflow.tools.responses import Policy

_PAIRS: Final = (("client_id", "client_secret"), ("username", "password"))


async def work(attempt: Attempt, context: StepContext) -> JsonValue:
    """Call the step's operation with its `with` and return `{status, headers, body}`.

    Needs the services `http` (an `HttpClient`) and `egress` (an `Egress`). Secrets in arguments
    and credentials are put in just before the request is made. Raises `StepError` as `call` does.
    """
    http = service(context, "http", HttpClient)
    egress = service(context, "egress", Egress)
    return await call(
        _operation(attempt),
        _arguments(attempt, context),
        http=http,
        secrets=lambda text: str(context.resolve_secrets(text)),
        auth=_auth(attempt),
        timeout=UNBOUNDED,
        idempotency_key=attempt.idempotency_key,
        egress=egress,
        responses=cast("Policy", attempt.step.body.get("responses", "strict")),
        warn=lambda text: context.emit(
            "log", {"stream": "warning", "text": context.mask_cut(text)}
        ),
        hide=context.hide,
    )


def _operation(attempt: Attempt) -> JsonObject:
    id_ = str(attempt.step.body["operation"])
    found = attempt.tools.get(id_)
    if found is None:
        raise StepError(
            "tool_removed",
            f"the plan has no operation {id_!r}",
            remedy="compile the workflow again and submit it as a new run",
        )
    return found


def _arguments(attempt: Attempt, context: StepContext) -> JsonObject:
    given = context.resolve_secrets(attempt.arguments)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise StepError("schema", "the `with` of a tool step is an object of argument groups")
    return given


def _auth(attempt: Attempt) -> dict[str, str]:
    """Return scheme → credential, still with references; a pair is written `first:second`."""
    auth = attempt.step.body.get("auth")
    given = auth.items() if isinstance(auth, dict) else ()
    return {scheme: _credential(value) for scheme, value in given}


def _credential(value: JsonValue) -> str:
    if isinstance(value, dict):
        for first, second in _PAIRS:
            if first in value and second in value:
                return f"{value[first]}:{value[second]}"
    if isinstance(value, dict | list) or value is None:
        raise StepError(
            "http_4xx",
            "a tool's credential has an unknown form",
            remedy="write one text, {username, password} or {client_id, client_secret}",
        )
    return str(value)
