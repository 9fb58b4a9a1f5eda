"""Call one operation of a tool: arguments in, checked output out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from dagflow.core.errors import StepError
from dagflow.core.values import JsonObject
from dagflow.tools.auth.credentials import chosen, write, write_bearer
from dagflow.tools.auth.oauth2 import is_oauth2, tokens_of
from dagflow.tools.egress import Egress
from dagflow.tools.http import UNAUTHORISED, HttpClient, Response
from dagflow.tools.request import Draft, draft, origin_of
from dagflow.tools.responses import Policy, Warn, output_of
from dagflow.tools.validate import problem_of

Hide: TypeAlias = Callable[[str], None]

_LOG = logging.getLogger(__name__)


def _nowhere(_token: str) -> None:
    """Have nothing to hide from."""


async def call(
    wire: JsonObject,
    arguments: JsonObject,
    *,
    http: HttpClient,
    secrets: Callable[[str], str],
    auth: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109  # the step's bound, passed on to the client
    idempotency_key: str,
    egress: Egress,
    responses: Policy = "strict",
    warn: Warn = _LOG.warning,
    hide: Hide = _nowhere,
) -> JsonObject:
    """Call the operation once and return `{status, headers, body}`.

    `wire` is `Operation.wire`; `auth` maps security schemes to names of secrets, which `secrets`
    turns into values just before sending; only credentials of the alternative that the operation
    asks for are attached, and `hide` is told each token that they got. `timeout` is in seconds.
    Raises `StepError`: schema (arguments or response break their schemas; the message has a JSON
    Pointer and no values), network, timeout, http_4xx, rate_limited, http_5xx, output_limit.
    """
    with named(wire):
        _check_arguments(wire, arguments)
        made = draft(wire, arguments, idempotency_key=idempotency_key)
        response = await _send(
            wire, made, http=http, secrets=secrets, auth=auth, timeout=timeout, egress=egress,
            hide=hide,
        )  # fmt: skip
        return output_of(wire, response, policy=responses, warn=warn)


@contextmanager
def named(wire: JsonObject) -> Iterator[None]:
    """Have every `StepError` say which operation it comes from, and of which server."""
    try:
        yield
    except StepError as error:
        where = f"{wire['method']} {wire['path']} at {origin_of(str(wire['server']))}"
        raise StepError(
            error.error_class,
            f"{where}: {error.message}",
            remedy=error.remedy,
            retry_after=error.retry_after,
            unsent=error.unsent,
        ) from None


def _check_arguments(wire: JsonObject, arguments: JsonObject) -> None:
    schema = wire["arguments"]
    problem = problem_of(schema, arguments) if isinstance(schema, dict | bool) else None
    if problem:
        raise StepError("schema", f"the arguments don't fit: {problem}")


async def _send(
    wire: JsonObject,
    made: Draft,
    *,
    http: HttpClient,
    secrets: Callable[[str], str],
    auth: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109
    egress: Egress,
    hide: Hide,
) -> Response:
    schemes = chosen(wire["security"], auth)
    bound = [(scheme, secrets(auth[str(scheme["scheme"])])) for scheme in schemes]
    for scheme, secret in bound:
        if not is_oauth2(scheme):
            write(made, scheme, secret)
    granting = next(((s, secret) for s, secret in bound if is_oauth2(s)), None)
    if granting is None:
        return await http.send(made.request(), egress=egress, timeout=timeout)
    return await _send_with_token(
        made, granting, server=str(wire["server"]), http=http, timeout=timeout, egress=egress,
        hide=hide,
    )  # fmt: skip


async def _send_with_token(
    made: Draft,
    granting: tuple[JsonObject, str],
    *,
    server: str,
    http: HttpClient,
    timeout: float,  # noqa: ASYNC109
    egress: Egress,
    hide: Hide,
) -> Response:
    """Send with a token; a 401 is answered once with a fresh one (nothing was done yet)."""
    scheme, secret = granting
    tokens = tokens_of(http)
    token = await tokens.get(scheme, secret, server=server, egress=egress, timeout=timeout)
    hide(token)
    write_bearer(made, token)
    response = await http.send(made.request(), egress=egress, timeout=timeout)
    if response.status != UNAUTHORISED:
        return response
    tokens.forget(scheme, secret, server=server, token=token)
    token = await tokens.get(scheme, secret, server=server, egress=egress, timeout=timeout)
    hide(token)
    write_bearer(made, token)
    return await http.send(made.request(), egress=egress, timeout=timeout)
